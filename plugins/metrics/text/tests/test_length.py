import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

import evalkit

from .drawn_rows import texts


@given(said=st.lists(texts, min_size=1, max_size=8))
def test_words_and_characters_are_counted(said: list[str]) -> None:
    found = evalkit.score("length", said, [""] * len(said))
    words = [len(re.findall(r"[^\s]+", text)) for text in said]
    assert found["length#words"].value == pytest.approx(np.mean(words))
    characters = [sum(1 for _ in text) for text in said]
    assert found["length#characters"].value == pytest.approx(np.mean(characters))


def test_a_missing_prediction_has_no_length() -> None:
    found = evalkit.score("length", ["a b", None], ["", ""])["length#words"]
    assert found.value is None
    assert "without a prediction" in (found.reason or "")


class Turn(BaseModel):
    uid: str


class Reply(BaseModel):
    id: str
    text: str


class Conversation(evalkit.TaskIO):
    Input = Turn
    Output = Reply
    answer_field = "text"
    answer_kind = "none"
    perf_metric = "length"
    example: Any = {"uid": "1"}


def test_no_answers_are_needed() -> None:
    rows = [{"id": "1", "text": "It rained."}, {"id": "2", "text": "No"}]
    data = [{"uid": "1"}, {"uid": "2"}]
    result = evalkit.evaluate(data, rows, task=Conversation, metrics=["length"])
    assert result["length#words"].value == 1.5
