from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit import StorageError
from evalkit.runs.folders import (
    STATISTICS_FOLDER,
    read_table,
    statistics_file,
    write_parquet,
)

FRAME = pl.DataFrame(
    {"position": [0, 2], "gold": ["a", None], "n": [1.0, 0.1]},
    schema_overrides={"position": pl.UInt32},
)


def write(tables: dict[str, pl.DataFrame], folder: Path) -> None:
    folder.mkdir()
    for name, frame in tables.items():
        write_parquet(frame, folder / statistics_file(name))


def read(folder: Path, metric: str) -> pl.DataFrame:
    return read_table(
        folder / STATISTICS_FOLDER / statistics_file(metric), ("position",)
    )


@given(
    st.lists(
        st.text(st.characters(codec="utf-8"), min_size=1, max_size=12), unique=True
    )
)
def test_no_two_metrics_share_a_file(names: list[str]) -> None:
    files = {statistics_file(name) for name in names}
    assert len(files) == len(names)


def test_parameters_that_differ_in_case_do_not_share_a_file() -> None:
    names = ("f1:label=Yes", "f1:label=yes")
    assert len({statistics_file(name).lower() for name in names}) == 2


def test_statistics_are_read_as_they_were_written(tmp_path: Path) -> None:
    given_statistics = {"f1:label=*[a]": FRAME, "accuracy": FRAME.drop("gold")}
    write(given_statistics, tmp_path / STATISTICS_FOLDER)
    for name, frame in given_statistics.items():
        found = read(tmp_path, name)
        assert found.equals(frame)
        assert found.schema == frame.schema


def test_broken_files_are_named(tmp_path: Path) -> None:
    folder = tmp_path / STATISTICS_FOLDER
    write({"accuracy": FRAME}, folder)
    path = folder / "accuracy.parquet"
    content = path.read_bytes()
    for broken in (b"", b"PAR1", content[:-20], b"not parquet at all"):
        path.write_bytes(broken)
        with pytest.raises(StorageError) as caught:
            read(tmp_path, "accuracy")
        assert str(caught.value).startswith(f"{path}: is no Parquet file: ")
        assert "\n" not in str(caught.value)
    FRAME.drop("position").write_parquet(path)
    with pytest.raises(StorageError) as caught:
        read(tmp_path, "accuracy")
    assert (
        str(caught.value)
        == f"{path}: is not what evalkit writes: it has no column 'position'"
    )
