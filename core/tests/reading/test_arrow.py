from __future__ import annotations

import subprocess
import sys
from datetime import datetime
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest

from evalkit.reading.json_lines import frame_of_table, series_of

COLUMNS = {
    "numbers": pa.array([1, None, -3], pa.int64()),
    "floats": pa.array([0.5, float("nan"), None], pa.float64()),
    "truths": pa.array([True, None, False], pa.bool_()),
    "texts": pa.array(["é", None, ""], pa.string()),
    "times": pa.array([datetime(2026, 1, 2), None, None], pa.timestamp("s")),
    "lists": pa.array([[1.5], None, []], pa.list_(pa.float64())),
    "structs": pa.array([{"a": [{"b": "x"}]}, None, {"a": []}]),
    "nothing": pa.array([None, None, None], pa.null()),
}


def test_a_table_is_what_polars_makes_of_it() -> None:
    table = pa.table(COLUMNS)
    for each in (table, table.slice(1, 1), table.slice(0, 0)):
        expected = pl.from_arrow(each)
        assert isinstance(expected, pl.DataFrame)
        found = frame_of_table(each)
        assert found.schema == expected.schema
        assert found.equals(expected)


@pytest.mark.parametrize("name", COLUMNS)
def test_a_column_is_what_polars_makes_of_it(name: str) -> None:
    column = COLUMNS[name]
    for each in (column, column.slice(1), pa.chunked_array([column, column])):
        expected = pl.from_arrow(each)
        assert isinstance(expected, pl.Series)
        found = series_of(each)
        assert found.name == ""
        assert found.dtype == expected.dtype
        assert found.equals(expected)
    empty = series_of(pa.chunked_array([], column.type))
    assert (empty.name, len(empty)) == ("", 0)


@pytest.mark.slow
def test_reading_json_lines_does_not_import_arrows_functions(tmp_path: Path) -> None:
    file = tmp_path / "predictions.jsonl"
    file.write_text('{"uid": "1", "label": "a", "prob": {"a": 0.5, "b": 0.5}}\n' * 3)
    code = (
        "import io, sys; import polars; import pyarrow.json\n"
        "from evalkit.reading.json_lines import frame_of_table, series_of\n"
        f"table = pyarrow.json.read_json({str(file)!r})\n"
        "frame_of_table(table); series_of(table.column('label'))\n"
        "assert 'pyarrow.compute' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
