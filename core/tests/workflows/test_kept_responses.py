"""A run keeps the rows of predictions as they came, and they can be evaluated again."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import evalkit
from evalkit.errors import StorageError
from evalkit.runs.results import Result

ROWS = [{"id": "1", "label": "yes"}, {"id": "2", "label": "no"}, {"id": "9"}]
SKIP: dict[str, Any] = {"on_missing": "skip", "on_invalid": "skip"}
LINES = "".join(json.dumps(row) + "\n" for row in ROWS) + "\nbroken\n"


def as_lines(path: Path) -> Path:
    path.write_text(LINES, "utf-8")
    return path


def as_gzip(path: Path) -> Path:
    path = path.with_name("m.jsonl.gz")
    path.write_bytes(gzip.compress(LINES.encode()))
    return path


def as_csv(path: Path) -> Path:
    path = path.with_name("m.csv")
    path.write_text('id,label\r\n1,yes\r\n2,"no"\r\n', "utf-8")
    return path


def as_table(path: Path) -> Path:
    path = path.with_name("m.parquet")
    pl.DataFrame(ROWS[:2]).write_parquet(path)
    return path


def as_empty_table(path: Path) -> Path:
    path = path.with_name("m.parquet")
    pl.DataFrame(ROWS[:2]).clear().write_parquet(path)
    return path


def as_other_bytes(path: Path) -> Path:
    path.write_bytes(LINES.encode() + b"\xff\xfe\n")
    return path


def as_rows(_: Path) -> list[dict[str, str]]:
    return ROWS


def as_frame(_: Path) -> pl.DataFrame:
    return pl.DataFrame(ROWS[:2])


FORMS = [
    as_lines,
    as_gzip,
    as_csv,
    as_table,
    as_empty_table,
    as_other_bytes,
    as_rows,
    as_frame,
]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("is_stored", [True, False])
def test_the_responses_of_a_run_give_the_same_run(
    mini: Any, tmp_path: Path, form: Callable[[Path], Any], *, is_stored: bool
) -> None:
    given = form(tmp_path / "m.jsonl")
    first = evalkit.evaluate("mini", given, out=tmp_path / "runs", **SKIP)
    assert first.path is not None
    assert (first.path / "responses.parquet").is_file()
    if isinstance(given, Path):
        given.unlink()
    run = first.path if is_stored else first
    again = evalkit.evaluate("mini", run, out=tmp_path / "runs", **SKIP)
    assert again.fingerprint == first.fingerprint
    assert again.scores == first.scores
    assert again.problems == first.problems
    assert again.model == first.model
    [listed] = evalkit.runs.list_runs(tmp_path / "runs")
    assert listed.path == again.path


def test_a_rescored_run_keeps_the_responses(mini: Any, tmp_path: Path) -> None:
    first = evalkit.evaluate("mini", ROWS[:2], out=tmp_path, on_missing="skip")
    rescored = evalkit.rescore(first.path or "", ["macro-f1"], out=tmp_path)
    assert rescored.path is not None
    again = evalkit.evaluate("mini", rescored.path, on_missing="skip")
    assert again.fingerprint == first.fingerprint


def test_a_run_without_examples_keeps_no_responses(mini: Any, tmp_path: Path) -> None:
    given = as_lines(tmp_path / "m.jsonl")
    run = evalkit.evaluate(
        "mini", given, out=tmp_path / "runs", include_examples=False, **SKIP
    )
    assert run.path is not None
    assert run.responses is None
    assert not (run.path / "responses.parquet").exists()
    with pytest.raises(StorageError, match="the run holds no responses"):
        evalkit.evaluate("mini", run.path)


def test_a_name_in_a_record_leads_to_no_other_folder(mini: Any, tmp_path: Path) -> None:
    given = as_lines(tmp_path / "m.jsonl")
    run = evalkit.evaluate("mini", given, out=tmp_path / "runs", **SKIP)
    assert run.path is not None
    record = run.path / "run.json"
    elsewhere = tmp_path / "precious.jsonl"
    elsewhere.write_text("precious")
    text = record.read_text("utf-8")
    assert text.count('"name": "m.jsonl"') == 1
    record.write_text(text.replace("m.jsonl", str(elsewhere)), "utf-8")
    again = evalkit.evaluate("mini", run.path, **SKIP)
    assert again.scores == run.scores
    assert elsewhere.read_text() == "precious"


def test_rows_with_nan_are_kept_and_read_again(mini: Any, tmp_path: Path) -> None:
    rows = [{**row, "logit": float("nan")} for row in ROWS]
    run = evalkit.evaluate("mini", rows, out=tmp_path, **SKIP)
    assert evalkit.evaluate("mini", run.path, **SKIP).scores == run.scores


def test_a_damaged_file_of_responses_is_named(mini: Any, tmp_path: Path) -> None:
    run: Result = evalkit.evaluate("mini", ROWS, out=tmp_path, **SKIP)
    assert run.path is not None
    path = run.path / "responses.parquet"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(StorageError, match=r"responses.parquet: is damaged"):
        evalkit.evaluate("mini", run.path)
