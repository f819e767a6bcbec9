"""`by_tag` shows value and interval, and is a polars table like any other."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import evalkit
from evalkit.runs.score_columns import Score
from evalkit.runs.tag_scores import FIRST


@pytest.fixture
def by_tag(tmp_path: Path) -> Callable[[], pl.DataFrame]:
    rows = [
        {"uid": str(n), "statement": "x", "label": "positive", "tags": ["a", f"b:{n}"]}
        for n in range(4)
    ]
    data = tmp_path / "data.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    said = [{"id": str(n), "label": "positive"} for n in range(4)]
    result = evalkit.evaluate(data, said, task="sentiment", metrics=["accuracy"])
    return lambda: result.by_tag


ByTag = Callable[[], pl.DataFrame]


def test_value_and_interval_are_shown_first_and_all_columns_are_there(
    by_tag: ByTag,
) -> None:
    table = by_tag()
    assert isinstance(table, pl.DataFrame)
    assert tuple(table.columns[: len(FIRST)]) == FIRST
    assert {*table.columns} == {*Score._fields}
    for shown in (str(table), repr(table), table._repr_html_()):
        assert "ci_high" in shown
        assert "stddev" not in shown
        assert f"{len(Score._fields) - len(FIRST)} more columns: .details" in shown


def test_details_show_all_columns_as_polars_does(by_tag: ByTag) -> None:
    details = by_tag().details
    assert type(details) is pl.DataFrame
    assert details.width == len(Score._fields)
    assert "more columns" not in str(details)


def test_it_is_used_as_any_table(by_tag: ByTag) -> None:
    table = by_tag()
    assert table.filter(metric="accuracy").select("stddev", "n").height == 5
    assert pl.concat([table, table]).height == 10
    assert pickle.loads(pickle.dumps(table)).equals(table)
    assert table.equals(by_tag())
    assert "more columns" not in str(table.drop("value"))
    assert table.clear().is_empty()
