"""What is taken for predictions."""

from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import evalkit
from evalkit.errors import DataError, EvalkitError
from evalkit.predictions.preparation import identify
from evalkit.reading.given_rows import rows_of

ROWS = [{"id": "1", "label": "yes"}, {"id": "2", "label": "no"}]


@pytest.mark.parametrize(
    "make", [pl.DataFrame, pl.LazyFrame, pd.DataFrame, pa.Table.from_pylist]
)
def test_a_table_becomes_a_data_frame(make: Any) -> None:
    found = rows_of(make(ROWS))
    assert isinstance(found, pl.DataFrame)
    assert found.to_dicts() == ROWS


@pytest.mark.parametrize("make", [list, tuple, iter, lambda rows: {0: rows}[0]])
def test_dicts_become_a_list(make: Any) -> None:
    assert rows_of(make(ROWS)) == ROWS


def test_an_index_of_pandas_with_a_name_is_a_column_and_row_numbers_are_none() -> None:
    table = pd.DataFrame(ROWS)
    assert rows_of(table.set_index("id")).to_dicts() == ROWS
    assert rows_of(table.set_index(["id", "label"])).to_dicts() == ROWS
    assert rows_of(table.set_index("id", drop=False)).to_dicts() == ROWS
    assert rows_of(table[::-1]).to_dicts() == ROWS[::-1]


@pytest.mark.parametrize(
    "given",
    [None, 5, 0.5, b"p.jsonl", bytearray(b"p"), ROWS[0], {}, object, pl.col("id")],
    ids=str,
)
def test_what_holds_no_rows_is_refused_with_what_is_accepted(given: Any) -> None:
    with pytest.raises(EvalkitError) as caught:
        rows_of(given)
    assert type(caught.value) is EvalkitError
    assert str(caught.value) == (
        "predictions must be a path, a polars, pandas or Arrow table, or an iterable "
        f"of dicts, are {given!r}"
    )


@pytest.mark.parametrize(
    "table",
    [
        pa.table([pa.array(["1"]), pa.array(["x"]), pa.array(["y"])], list("aab")),
        pa.table({"id": pa.array([(1, 2, 3)], pa.month_day_nano_interval())}),
        pl.LazyFrame(ROWS).select("absent"),
        pd.DataFrame({"id": ["1", 2], "label": [{"a": 1}, "b"]}),
    ],
    ids=["two columns of one name", "type", "lazy", "mixed"],
)
def test_a_table_that_polars_refuses_is_a_data_error(table: Any) -> None:
    with pytest.raises(DataError, match="the table of predictions cannot be read: "):
        rows_of(table)


@pytest.mark.usefixtures("mini")
def test_a_lazy_frame_is_scored_as_its_rows() -> None:
    right = [{"id": str(n), "label": label} for n, label in enumerate(["yes", "no"], 1)]
    lazy = evalkit.evaluate("mini", pl.LazyFrame(right), on_missing="skip")
    rows = evalkit.evaluate("mini", right, on_missing="skip")
    assert lazy.counts == rows.counts
    assert lazy["hits"].value == rows["hits"].value == 1.0
    with pytest.raises(EvalkitError, match="predictions must be a path"):
        evalkit.validate("mini", {"1": "yes"})


def test_tables_are_identified_by_their_values() -> None:
    frame = pl.DataFrame({"id": ["a", "b"], "label": ["x", None], "conf": [0.5, None]})
    known = identify(frame)["sha256"]
    turned = pl.concat([frame[:1], frame[1:]], rechunk=False)[["conf", "id", "label"]]
    assert identify(turned)["sha256"] == known
    for other in (frame[::-1], frame.fill_null(0), frame.rename({"conf": "p"})):
        assert identify(other)["sha256"] != known
    objects = frame.with_columns(pl.Series("o", [object(), 1], dtype=pl.Object))
    assert identify(objects)["sha256"] != known
