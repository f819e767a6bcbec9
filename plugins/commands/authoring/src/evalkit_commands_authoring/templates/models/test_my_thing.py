"""What `my-thing` replies."""

from __future__ import annotations

from evalkit_models_base import Asked, Request, predict
from evalkit_testing import check_model

ROWS = [{"uid": "1", "statement": "great fun", "label": "positive"}]
PROMPT = {"query": "Which word?\n{statement}"}


def test_it_is_asked_by_a_prompt() -> None:
    predicted = predict(
        data=ROWS,
        task="sentiment",
        model="my-thing",
        prompt=PROMPT,
    )
    assert predicted.rows == [{"id": "1", "label": "great"}]


def test_what_it_cannot_answer_is_an_error_and_no_empty_answer() -> None:
    predicted = predict(
        data=ROWS,
        task="sentiment",
        model="my-thing:place=5",
        prompt=PROMPT,
        asked=Asked(max_errors=1),
    )
    assert predicted.rows == [{"id": "1", "error": "the last line has 2 words"}]


def test_the_laws_of_models() -> None:
    check_model("my-thing", failing=[Request(prompt=" ")])
