"""Examples with their answers."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

import evalkit
from evalkit import DataError
from evalkit_models_base import load_answered


class Statement(BaseModel):
    uid: str
    statement: str


class Label(BaseModel):
    id: str
    label: str


class Sentiment(evalkit.TaskIO):
    Input, Output = Statement, Label
    answer_field, perf_metric = "label", "accuracy"
    labels = ("positive", "negative")
    example = {"uid": "1", "statement": "Good."}


def row(uid: str, label: str | None, **more: Any) -> Mapping[str, Any]:
    return {"uid": uid, "statement": "Good.", "label": label, **more}


def test_answers_are_scored_ones_and_apart() -> None:
    rows = [row("1", "positive", why="said"), row("2", "negative")]
    first, second = load_answered(data=rows, task=Sentiment)
    assert first.row == {"uid": "1", "statement": "Good.", "why": "said"}
    assert (first.answer, first.stored) == ("positive", "positive")
    assert (second.answer, second.row["why"]) == ("negative", None)


def test_answers_are_converted_and_kept_as_they_are_stored() -> None:
    class Upper(Sentiment):
        def label_field_converter(self, example: Mapping[str, Any]) -> dict[str, Any]:
            return {"id": example["uid"], "answer": example["label"].lower()}

    (found,) = load_answered(data=[row("1", "POSITIVE")], task=Upper)
    assert (found.answer, found.stored) == ("positive", "POSITIVE")
    assert "label" not in found.row


def test_a_file_in_place_of_the_rows_of_a_data_set(tmp_path: Path) -> None:
    file = tmp_path / "more.jsonl"
    file.write_text(json.dumps(row("x", "negative")) + "\n")
    (found,) = load_answered(data=[row("1", "positive")], task=Sentiment, file=file)
    assert (found.row["uid"], found.answer) == ("x", "negative")


def test_rows_without_answers_are_refused() -> None:
    with pytest.raises(DataError, match="label"):
        load_answered(data=[{"uid": "1", "statement": "Good."}], task=Sentiment)
