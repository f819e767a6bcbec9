"""What the task `my-thing` takes and refuses, and how it is scored."""

from __future__ import annotations

import evalkit
from evalkit_models_base import predict
from evalkit_testing import check_task

ROWS = [
    {"uid": "1", "headline": "Probe lands on Mars", "topic": "science"},
    {"uid": "2", "headline": "Cup final tonight", "topic": "sports"},
]


def test_right_and_wrong_answers_are_scored() -> None:
    said = [{"id": "1", "topic": "science"}, {"id": "2", "topic": "politics"}]
    result = evalkit.evaluate(data=ROWS, predictions=said, task="my-thing")
    assert result["accuracy"].value == 0.5


def test_what_is_no_topic_is_refused_with_its_field() -> None:
    said = [{"id": "1", "topic": "science"}, {"id": "2", "topic": "weather"}]
    result = evalkit.evaluate(
        data=ROWS, predictions=said, task="my-thing", on_invalid="wrong"
    )
    (problem,) = (each for each in result.problems if each.id == "2")
    assert problem.violations[0].field == "topic"
    assert result["accuracy"].value == 0.5


def test_a_model_is_asked_by_the_prompt() -> None:
    predicted = predict(
        data=ROWS,
        task="my-thing",
        model="constant:answer=science",
    )
    assert [row["id"] for row in predicted.rows] == ["1", "2"]


def test_the_laws_of_tasks() -> None:
    check_task("my-thing")
