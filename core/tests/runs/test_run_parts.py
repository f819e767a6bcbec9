"""Run folders whose tables by example lie in parts."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from run_parts import in_parts

import evalkit
from evalkit import Result
from evalkit.errors import StorageError
from evalkit.runs import find_damage, read_run, recorded

ROWS = [{"id": "1", "label": "yes"}, {"id": "2", "label": "no"}, {"id": "9"}]


@pytest.fixture
def whole(mini: Any) -> Result:
    skip: Any = {"on_missing": "skip", "on_invalid": "skip"}
    result = evalkit.evaluate("mini", ROWS, model="m", **skip)
    columns = {
        "component": "",
        "name": "sizes",
        "columns": (),
        "rows": 3,
        "sha256": "",
        "without_value": {},
    }
    result.amend(columns=(recorded.Columns.model_validate(columns),))
    types = dict.fromkeys(("id", "replication", "reason"), pl.String)
    rows = {
        "id": ["1", "2", "3"],
        "replication": None,
        "reason": "odd",
        "failed": False,
    }
    result.column_details = {"sizes": pl.DataFrame(rows, schema_overrides=types)}
    return result


@pytest.fixture
def run(whole: Result, tmp_path: Path) -> Path:
    return in_parts(whole, tmp_path / "store").save(tmp_path / "runs")


def test_parts_are_read_as_one_table(whole: Result, run: Path) -> None:
    found = read_run(run)
    assert {name for name in found.record.files if name.startswith("parts/")} == {
        f"parts/{number:05}/{name}.parquet"
        for number in range(3)
        for name in ("examples", "responses", "statistics/hits", "columns/sizes")
    }
    tables = []
    for result in (found, whole):
        assert result.examples is not None
        places = result.examples.with_row_index("position")
        joined = places.join(result.statistics["hits"], on="position", how="left")
        tables.append(joined.sort("id"))
    assert tables[0]["position"].to_list() != tables[1]["position"].to_list()
    assert_frame_equal(*(table.drop("position") for table in tables))
    assert found.responses is not None
    assert whole.responses is not None
    assert_frame_equal(found.responses, whole.responses)
    details = (each.column_details["sizes"].sort("id") for each in (found, whole))
    assert_frame_equal(*details)
    assert find_damage(run) == []


@pytest.mark.parametrize("name", ["examples", "statistics/hits", "responses"])
def test_damage_of_a_part_is_named(run: Path, name: str) -> None:
    path = run / f"parts/00001/{name}.parquet"
    path.write_bytes(path.read_bytes()[:-1])
    for why in ("is damaged", "is missing"):
        found = read_run(run)
        with pytest.raises(StorageError, match=f"{path}: {why}"):
            _ = (found.examples, found.statistics, found.responses)
        assert len(find_damage(run)) == 1
        path.unlink(missing_ok=True)


def test_a_part_may_lack_statistics_but_not_examples(
    whole: Result, tmp_path: Path
) -> None:
    parts = in_parts(whole, tmp_path / "store")
    for part in ("00000", "00001"):
        del parts.part_files[f"parts/{part}/statistics/hits.parquet"]
    found = read_run(parts.save(tmp_path / "runs"))
    assert found.statistics["hits"]["position"].to_list() == [2]
    Path(parts.part_files.pop("parts/00002/examples.parquet")).unlink()
    with pytest.raises(StorageError, match=r"parts of statistics/hits.parquet do not"):
        _ = read_run(parts.save(tmp_path / "runs")).statistics
    gone = Path(parts.part_files["parts/00001/examples.parquet"])
    gone.unlink()
    with pytest.raises(StorageError, match=f"{gone}: cannot be copied into the run"):
        parts.save(tmp_path / "other")
    assert not [*tmp_path.glob("other/*/*")]
