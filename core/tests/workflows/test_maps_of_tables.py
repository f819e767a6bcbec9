"""A map is a list of its entries in tables alone."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from pydantic import BaseModel

import evalkit

ONE = [{"key": "a", "value": 1.0}]
TWICE = [*ONE, {"key": "a", "value": 2.0}]


class Asked(BaseModel):
    uid: str


class Said(BaseModel):
    id: str
    label: str
    weights: dict[str, float]


class Weighing(evalkit.TaskIO):
    Input, Output, example = Asked, Said, {"uid": "0"}
    labels = ("a", "b")
    answer_field, perf_metric = "label", "accuracy"


def as_lines(rows: list[dict[str, Any]]) -> Path:
    path = Path("rows.jsonl")
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def as_cells(rows: list[dict[str, Any]]) -> Path:
    path = Path("rows.csv")
    cells = [{**row, "weights": json.dumps(row["weights"])} for row in rows]
    pl.DataFrame(cells).write_csv(path)
    return path


def as_parquet(rows: list[dict[str, Any]]) -> Path:
    path = Path("rows.parquet")
    pl.DataFrame(rows).write_parquet(path)
    return path


ROWS: list[Callable[[list[dict[str, Any]]], Any]] = [list, as_lines, as_cells]
TABLES: list[Callable[[list[dict[str, Any]]], Any]] = [pl.DataFrame, as_parquet]


@pytest.mark.parametrize(
    ("given", "weights", "is_taken"),
    [(way, value, False) for way in ROWS for value in (ONE, TWICE, [])]
    + [(way, {"a": 1.0}, True) for way in ROWS]
    + [(way, ONE, True) for way in TABLES]
    + [(way, TWICE, False) for way in TABLES],
)
@pytest.mark.parametrize("more", [{}, {"prob": "odd"}])
def test_entries_are_a_map_in_tables_alone(
    given: Callable[[list[dict[str, Any]]], Any],
    weights: Any,
    is_taken: bool,
    more: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("data.jsonl").write_text('{"uid": "0", "label": "a"}\n')
    rows = [{"id": "0", "label": "a", "weights": weights, **more}]
    result = evalkit.evaluate(
        "data.jsonl", task=Weighing, predictions=given(rows), on_invalid="skip"
    )
    assert result.counts["scored"] == is_taken
    assert result.counts["invalid"] == (not is_taken)
