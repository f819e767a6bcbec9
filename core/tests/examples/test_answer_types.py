"""Answers of the data are values that a prediction may have."""

from typing import Any

import polars as pl
import pytest
from pydantic import BaseModel, create_model

import evalkit
from evalkit import SchemaError


class Question(BaseModel):
    uid: str
    question: str


def task_of(annotation: Any) -> type[evalkit.TaskIO]:
    class Sums(evalkit.TaskIO):
        Input = Question
        Output = create_model("Output", id=(str, ...), answer=(annotation, ...))
        answer_field = "answer"
        perf_metric = "accuracy"
        example = {"uid": "1", "question": "7?"}

    return Sums


def score(annotation: Any, answers: list[Any], said: Any, *, is_frame: bool) -> Any:
    rows = [
        {"uid": str(place), "question": "?", "answer": answer}
        for place, answer in enumerate(answers)
    ]
    return evalkit.evaluate(
        data=pl.DataFrame(rows) if is_frame else rows,
        predictions=[{"id": row["uid"], "answer": said} for row in rows],
        task=task_of(annotation),
    )["accuracy"].value


@pytest.mark.parametrize(
    ("annotation", "answers", "found"),
    [
        (int, ["7", "seven"], "Int64.*'seven'"),
        (float, ["7", "seven"], "Float64.*'seven'"),
        (bool, ["true", "seven"], "Boolean.*'seven'"),
        (int | None, ["7", "7.5"], r"Int64.*'7\.5'"),
        (int, ["7", ["seven"]], "Int64.*'seven'"),
        (int, [7, 7.5], r"Int64.*7\.5"),
    ],
)
def test_what_no_prediction_can_equal_is_refused(
    annotation: Any, answers: list[Any], found: str
) -> None:
    """It was scored as wrong, whatever a model said."""
    rule = rf"example 2 \(uid '1'\): answer: must be what predictions are \({found}"
    for is_frame in {False, all(isinstance(each, str) for each in answers)}:
        with pytest.raises(SchemaError, match=rule):
            score(annotation, answers, 7, is_frame=is_frame)


@pytest.mark.parametrize("is_frame", [False, True])
@pytest.mark.parametrize(
    ("annotation", "answers", "said"),
    [
        (int, ["7", "8"], 7),
        (float, ["7", "8"], 7),
        (float, ["7", "7.5"], 7.5),
        (bool, ["yes", "no"], True),
    ],
)
def test_texts_are_read_as_predictions_are_whatever_holds_them(
    annotation: Any, answers: list[str], said: Any, is_frame: bool
) -> None:
    """A column of texts stayed one, in which 7 was not 7.0."""
    assert score(annotation, answers, said, is_frame=is_frame) == 0.5
