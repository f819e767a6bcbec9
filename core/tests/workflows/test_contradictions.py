"""Runs whose files were edited by somebody who computed the digests anew."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from edited_runs import seal_again, write_record

import evalkit
from evalkit import Result
from evalkit.errors import StorageError
from evalkit.runs.record import RunRecord

from ..engine_runs import install, predictions

Evaluate = Callable[..., Result]
Edit = Callable[[pl.DataFrame], pl.DataFrame]

ID = "run.json: run_id is not made of what the run recorded"


@pytest.fixture
def evaluate(fake_distribution: Callable[..., Any], tmp_path: Path) -> Evaluate:
    """Evaluate into a folder of runs."""
    install(fake_distribution)

    def run(*metrics: str, rows: Any = None, **options: Any) -> Result:
        chosen = list(metrics) or ["accuracy", "closeness"]
        given = predictions() if rows is None else rows
        return evalkit.evaluate(
            "posts", given, metrics=chosen, out=tmp_path / "runs", **options
        )

    return run


def folder_of(result: Result) -> Path:
    assert result.path is not None
    return result.path


def edit_record(path: Path, edit: Callable[[dict[str, Any]], Any]) -> None:
    record = json.loads((path / "run.json").read_bytes())
    edit(record)
    write_record(path, record)


def edit_table(path: Path, name: str, edit: Edit) -> None:
    edit(pl.read_parquet(path / name)).write_parquet(path / name)
    seal_again(path)


def contradictions(path: Path) -> tuple[str, ...]:
    found = evalkit.verify(path)
    assert found.agrees == (not found.contradictions and not found.differences)
    return found.contradictions


def test_rows_of_scores_are_those_of_the_record(evaluate: Evaluate) -> None:
    path = folder_of(evaluate())
    edit_table(
        path, "scores.parquet", lambda table: table.with_columns(value=pl.lit(0.99))
    )

    assert contradictions(path) == (
        "scores.parquet: its rows are not the scores of run.json",
    )


def test_statistics_are_those_of_the_examples(evaluate: Evaluate) -> None:
    path = folder_of(evaluate())
    stored = pl.read_parquet(path / "statistics" / "closeness.parquet")
    number = stored.columns[-1]
    edit_table(
        path,
        "statistics/closeness.parquet",
        lambda table: table.with_columns(pl.col(number) + 1),
    )

    assert contradictions(path) == (
        "statistics/closeness.parquet: is not what closeness computes from "
        "examples.parquet",
    )


def test_statistics_that_are_gone_are_named(evaluate: Evaluate) -> None:
    path = folder_of(evaluate())
    (path / "statistics" / "closeness.parquet").unlink()
    seal_again(path)

    assert contradictions(path) == (
        "statistics/closeness.parquet: is not what closeness computes from "
        "examples.parquet",
    )


def test_scores_of_single_examples_are_those_of_the_predictions(
    evaluate: Evaluate,
) -> None:
    path = folder_of(evaluate())
    edit_table(
        path, "examples.parquet", lambda table: table.with_columns(accuracy=pl.lit(1.0))
    )

    assert contradictions(path) == (
        "examples.parquet: its column 'accuracy' is not what accuracy computes from "
        "the answers and predictions beside it",
    )


@pytest.mark.parametrize("name", ["majority", "chance", "majority_label"])
def test_baselines_are_those_of_the_answers(evaluate: Evaluate, name: str) -> None:
    path = folder_of(evaluate())
    other = "no label" if name == "majority_label" else 0.001

    edit_record(path, lambda record: record["baselines"].update({name: other}))

    assert contradictions(path) == (
        "run.json: its baselines are not those of the answers",
    )


def test_baselines_that_are_gone_are_named(evaluate: Evaluate) -> None:
    path = folder_of(evaluate())

    edit_record(path, lambda record: record.update(baselines=None))

    assert contradictions(path) == (
        "run.json: its baselines are not those of the answers",
    )


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({"dataset": "other"}, "dataset is not the one of its components"),
        ({"task": "other"}, "task is not the one of its components"),
        ({"headline": "closeness"}, "headline is not a score of the first metric"),
        ({"headline": "other"}, "headline is not a score of the first metric"),
        ({"errors": ["it failed"]}, "status is complete, against errors"),
        ({"not_scored": {"accuracy": 1}}, "status is complete, against not_scored"),
    ],
)
def test_names_and_status_are_those_of_the_parts(
    evaluate: Evaluate, changes: dict[str, Any], found: str
) -> None:
    path = folder_of(evaluate())
    edit_record(path, lambda record: record.update(changes))
    assert contradictions(path) == (f"run.json: {found}",)


SAID_ELSEWHERE = {
    *("format", "files"),  # of this run: digests
    *("parent", "weight", "perturbed"),  # of other kinds of runs
}


def forged(value: Any) -> Any:
    """Return another value of the same kind."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1 if isinstance(value, int) else value * 0.9
    if isinstance(value, str):
        return f"{value}x"
    if isinstance(value, list | tuple):
        return [*value, "forged"]
    return {**value, "forged": 1} if isinstance(value, dict) else "forged"


@pytest.mark.slow
def test_every_key_of_a_record_is_checked_or_named_as_unchecked(
    evaluate: Evaluate,
) -> None:
    path = folder_of(evaluate())
    before = json.loads((path / "run.json").read_bytes())
    unnoticed = set()
    for key in RunRecord.model_fields.keys() - SAID_ELSEWHERE:
        write_record(path, {**before, key: forged(before[key])})
        try:
            found = evalkit.verify(path)
        except StorageError:
            continue
        told = " ".join(found.unchecked)
        if found.agrees and not found.changes and key not in told:
            unnoticed.add(key)
    assert not unnoticed, " ".join(sorted(unnoticed))
