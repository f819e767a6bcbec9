"""Runs whose files were edited by somebody who computed the digests anew."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from edited_runs import make_older, seal_again, write_record

import evalkit
from evalkit import Result
from evalkit.errors import StorageError
from evalkit.runs.record import RunRecord

from ..engine_runs import EVERY_KIND, install, predictions

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


def set_model(record: dict[str, Any]) -> None:
    record["model"] = "another"


def set_hash_of_data(record: dict[str, Any]) -> None:
    record["data"]["rows_sha256"] = "0" * 64


def set_hash_of_predictions(record: dict[str, Any]) -> None:
    record["predictions"]["sha256"] = "0" * 64


def set_version(record: dict[str, Any]) -> None:
    record["components"][0]["version"] = "9"


def set_policy(record: dict[str, Any]) -> None:
    record["policies"]["on_duplicate"] = "first"


def set_id(record: dict[str, Any]) -> None:
    record["run_id"] = "0" * 16


EDITS = [
    set_model,
    set_hash_of_data,
    set_hash_of_predictions,
    set_version,
    set_policy,
    set_id,
]


@pytest.mark.parametrize("edit", EDITS)
def test_what_a_run_recorded_is_not_that_of_its_id(
    evaluate: Evaluate, edit: Callable[[dict[str, Any]], None]
) -> None:
    path = folder_of(evaluate())

    edit_record(path, edit)

    assert contradictions(path) == (ID,)


@pytest.mark.parametrize(
    "options",
    [
        {"by": ["functionality,target"]},
        {"cluster": ["part"]},
        {"limit": 50},
        {"on_missing": "skip", "rows": predictions()[:100]},
        {"rows": predictions(2)},
    ],
)
@pytest.mark.slow
def test_a_run_has_the_id_of_what_it_recorded(
    evaluate: Evaluate, options: dict[str, Any]
) -> None:
    assert contradictions(folder_of(evaluate(*EVERY_KIND, **options))) == ()


def test_a_rescored_run_has_its_id(evaluate: Evaluate, tmp_path: Path) -> None:
    parent = evaluate("accuracy")
    child = evalkit.rescore(parent, ["closeness"], out=tmp_path / "runs")
    path = folder_of(evalkit.rescore(child, ["words"], out=tmp_path / "runs"))
    assert contradictions(path) == ()

    edit_record(path, lambda record: record.update(parent="0" * 16))

    assert contradictions(path) == (ID,)


def test_a_merged_run_has_its_id(evaluate: Evaluate, tmp_path: Path) -> None:
    parts = [evaluate("accuracy", "closeness", filters={"part": part}) for part in "12"]
    path = folder_of(evalkit.merge(parts, out=tmp_path / "runs"))
    assert contradictions(path) == ()

    edit_record(path, lambda record: record["merged"].pop())

    assert contradictions(path) == (ID,)


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


def test_only_the_id_is_looked_at_of_a_run_of_an_older_format(
    evaluate: Evaluate,
) -> None:
    path = folder_of(evaluate())
    make_older(path)
    edit_record(path, lambda record: record.update(baselines=None))

    found = evalkit.verify(path)
    assert found.contradictions == ()
    assert any("what the run holds twice" in text for text in found.unchecked)


def test_a_run_that_only_says_that_it_is_older_is_named(evaluate: Evaluate) -> None:
    path = folder_of(evaluate())
    run_id = json.loads((path / "run.json").read_bytes())["run_id"]
    make_older(path)
    edit_record(path, lambda record: record.update(run_id=run_id))

    assert contradictions(path) == (
        "run.json: says format 2, but its run_id is that of another format: it was "
        "changed, or its digests were taken away",
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
    *("format", "run_id", "files"),  # of this run: digests and id
    *("parent", "repeat_of", "weight", "perturbed"),  # of other kinds of runs: their id
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
    assert unnoticed == set()
