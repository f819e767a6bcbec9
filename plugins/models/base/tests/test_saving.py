"""Files of predictions hold JSON, or are not written at all."""

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from evalkit import DataError
from evalkit_models_base import Asked, Reply, Request, predict, text_reply

DATA = [{"uid": "1", "statement": "Good.", "label": "positive"}]


def saved(answer: Callable[[Any], Any], folder: Path, **more: Any) -> None:
    found = predict(data=DATA, task="sentiment", model=answer, **more)
    found.save(folder / "m.jsonl")


@pytest.mark.parametrize("value", [math.nan, -math.inf, {"positive"}, b"positive"])
def test_an_answer_that_could_not_be_read_again(value: Any, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"models/.*: the answer to '1' cannot be writ"):
        saved(lambda inputs: [{"label": "positive", "more": value}], tmp_path)
    assert [*tmp_path.iterdir()] == []


class Half:
    """A model that replies with half of a character."""

    abilities = ("text",)

    def describe(self) -> dict[str, str]:
        return {"name": "half"}

    def generate(self, requests: Sequence[Request]) -> list[Reply]:
        return [text_reply("\ud83d") for _ in requests]


def test_half_of_a_character_is_no_reply() -> None:
    found = predict(
        data=DATA,
        task="sentiment",
        model=Half(),
        prompt={"query": "{statement}"},
        asked=Asked(max_errors=1),
    )
    assert found.rows == [
        {
            "id": "1",
            "error": "the reply holds what is no text: half of a surrogate pair",
        }
    ]


def test_what_made_them_could_not_be_read_again(tmp_path: Path) -> None:
    found = predict(data=DATA, task="sentiment", model=lambda inputs: ["positive"])
    found.system["model"]["parameters"] = {"share": math.nan}
    with pytest.raises(DataError, match=r"m\.system\.json: cannot be written as JSON"):
        found.save(tmp_path / "m.jsonl")
    assert [*tmp_path.iterdir()] == []
