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


@pytest.mark.parametrize(
    ("metric", "file"),
    [
        ("accuracy", "accuracy.parquet"),
        ("macro-f1", "macro-f1.parquet"),
        ("a=b,c d+e", "a=b,c d+e.parquet"),
    ],
)
def test_plain_names_stay_readable(metric: str, file: str) -> None:
    assert statistics_file(metric) == file


@pytest.mark.parametrize(
    "metric",
    [
        "f1:label=a/b",
        "f1:label=..",
        "f1:label=é",
        "x_y",
        "%41",
        "*[a]?",
        "日" * 200,
        "a" * 121,
    ],
)
def test_other_names_get_a_hash(metric: str) -> None:
    name = statistics_file(metric)
    assert len(name) <= 120 + 1 + 16 + len(".parquet")
    assert name.isascii()
    assert not set(name) & set('/\\:*?"<>|%')
    assert name.endswith(".parquet")
    assert len(name.removesuffix(".parquet").rpartition("-")[2]) == 16


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


def test_a_file_that_is_there_already_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").symlink_to(tmp_path / "victim")
    with pytest.raises(OSError, match="exists"):
        write_parquet(FRAME, tmp_path / "a.parquet")
    assert not (tmp_path / "victim").exists()
