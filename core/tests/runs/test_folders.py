"""Broken and foreign files of a run folder are named."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from evalkit import StorageError
from evalkit.base.violations import Violation
from evalkit.predictions.problems import Problem
from evalkit.runs.folders import (
    EXAMPLE_COLUMNS,
    EXAMPLES_FILE,
    problem_line,
    read_problems,
    read_record,
    read_table,
)
from evalkit.runs.record import FORMAT_VERSION

RECORD = {
    "format": FORMAT_VERSION,
    "fingerprint": "0123456789abcdef",
    "status": "complete",
    "dataset": "mini",
    "counts": {},
    "files": {"problems.jsonl": {"size": 0, "sha256": "0" * 64}},
}


def write(folder: Path, value: Any) -> Path:
    text = value if isinstance(value, str) else json.dumps(value)
    (folder / "run.json").write_text(text, "utf-8")
    return folder


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("", "is not JSON: "),
        ("{", "is not JSON: "),
        ("[" * 100_000, "is not JSON: "),
        ("[]", "is no record of a run: it holds no object"),
        ("{}", "is no record of a run: 'format' is None"),
        ({**RECORD, "format": "1"}, "is no record of a run: 'format' is '1'"),
        ({**RECORD, "counts": []}, "is no record of a run: 'counts' is []"),
        *(
            ({**RECORD, key: value}, f"is no record of a run: {key!r} is ")
            for key, value in [
                ("headline_score", {"metric": "m"}),
                ("min_n", "x"),
                ("min_n", None),
                ("min_n", True),
                ("confidence", 5),
                ("confidence", "0.95"),
                ("seed", "a"),
                ("seed", None),
                ("min_n", 0),
                ("split", 1),
                ("policies", {"on_missing": "skip"}),
                ("includes_examples", "yes"),
                ("components", []),
                ("components", ["metrics/accuracy"]),
                ("components", [{"id": "metrics/accuracy"}]),
            ]
        ),
        (
            {**RECORD, "format": FORMAT_VERSION + 1},
            f"run of a newer evalkit, expected format {FORMAT_VERSION}, got "
            f"{FORMAT_VERSION + 1}. Evaluate the predictions again",
        ),
        *(
            (
                {"format": older, "run_id": "0123456789abcdef"},
                f"run of an older evalkit, expected format {FORMAT_VERSION}, got "
                f"{older}. Evaluate the predictions again",
            )
            for older in (1, 4)
        ),
    ],
)
def test_a_broken_record_is_named(tmp_path: Path, value: Any, why: str) -> None:
    with pytest.raises(StorageError) as caught:
        read_record(write(tmp_path, value))
    assert str(caught.value).startswith(f"{tmp_path / 'run.json'}: {why}")


def test_a_record_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"run.json: No such file or directory"):
        read_record(tmp_path)


def parquet(tmp_path: Path, frame: pl.DataFrame) -> bytes:
    frame.write_parquet(tmp_path / "other.parquet")
    return (tmp_path / "other.parquet").read_bytes()


def test_broken_and_foreign_tables_are_named(tmp_path: Path) -> None:
    frame = pl.DataFrame({"id": ["a"], "tags": [["x"]], "status": ["scored"]})
    whole = parquet(tmp_path, frame)
    path = tmp_path / "examples.parquet"
    path.write_bytes(whole)
    assert read_table(tmp_path / EXAMPLES_FILE, EXAMPLE_COLUMNS).equals(frame)
    for content in (b"", b"text", whole[:-9], whole[: len(whole) // 2]):
        path.write_bytes(content)
        with pytest.raises(StorageError) as caught:
            read_table(tmp_path / EXAMPLES_FILE, EXAMPLE_COLUMNS)
        assert str(caught.value).startswith(f"{path}: is no Parquet file: ")
    path.write_bytes(parquet(tmp_path, frame.drop("tags")))
    with pytest.raises(StorageError, match="it has no column 'tags'") as caught:
        read_table(tmp_path / EXAMPLES_FILE, EXAMPLE_COLUMNS)
    assert str(caught.value).startswith(f"{path}: ")


PROBLEMS = [
    Problem("invalid", 3, "b", (Violation("label", "must be short", ["x", None]),)),
    Problem("unreadable", 9, None, (Violation("(line)", "must be JSON", "\u2028"),)),
    Problem("missing", None, "a", ()),
    Problem("missing", None, "a", (), replication="2"),
]


@pytest.mark.parametrize(
    "line",
    [
        "{",
        "",
        "[]",
        "null",
        "{}",
        '{"status": "odd", "line": 1, "id": "a", "violations": []}',
        '{"status": "missing", "line": "1", "id": "a", "violations": []}',
        '{"status": "missing", "line": 1, "id": "a", "violations": [1]}',
        '{"status": "missing", "line": 1, "id": "a", "violations": [{"field": ""}]}',
        "\udcff",
    ],
)
def test_a_broken_problem_is_named_with_its_line(tmp_path: Path, line: str) -> None:
    path = tmp_path / "problems.jsonl"
    text = problem_line(PROBLEMS[0]) + line + "\n"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(StorageError) as caught:
        read_problems(tmp_path)
    assert str(caught.value).startswith(f"{path}, line 2: is no record of a problem: ")


def test_problems_that_are_not_there_are_named(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"problems.jsonl: No such file"):
        read_problems(tmp_path)
