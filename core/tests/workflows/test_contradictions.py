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


def test_nothing_is_looked_for_in_a_run_of_an_older_format(evaluate: Evaluate) -> None:
    path = folder_of(evaluate())

    def make_older(record: dict[str, Any]) -> None:
        record.update(format=2, model="another")

    edit_record(path, make_older)

    found = evalkit.verify(path)
    assert found.contradictions == ()
    assert any("what the run holds twice" in text for text in found.unchecked)
