"""Who names a metric or extractor that there is not is told."""

from typing import Any

import pytest
from pydantic import BaseModel

import evalkit
from evalkit.errors import UnknownPluginError
from evalkit_adapters_rows import Rows


class Question(BaseModel):
    uid: str


class Reply(BaseModel):
    id: str
    answer: str


class Asking(evalkit.TaskIO):
    Input = Question
    Output = Reply
    answer_field = "answer"
    perf_metric = "accuracy"
    example = {"uid": "1"}


class Unmeasured(Asking):
    perf_metric = "acuracy"


class Unread(Asking):
    extract = "last-word"


def evaluate(task: Any, **options: Any) -> Any:
    return evalkit.evaluate(
        data=[{"uid": "1", "answer": "a"}],
        predictions=[{"id": "1", "answer": "a"}],
        task=task,
        **options,
    )


@pytest.mark.parametrize(
    ("task", "told"),
    [
        (Unmeasured, "unmeasured (given as an object) names the metric 'acuracy': the"),
        (Unread, "unread (given as an object): extract: stage 1: there is no adapter"),
    ],
)
def test_the_task_is_named(task: Any, told: str) -> None:
    with pytest.raises(UnknownPluginError) as raised:
        evaluate(task)
    assert str(raised.value).startswith(f"tasks/{told}")


def test_what_a_user_names_is_told_as_it_was() -> None:
    with pytest.raises(UnknownPluginError) as raised:
        evaluate(Asking, metrics=["acuracy"])
    assert str(raised.value).startswith("there is no metric 'acuracy'")
    with pytest.raises(UnknownPluginError) as raised:
        evaluate(Asking, rows=Rows(extract="last-word"))
    assert str(raised.value).startswith("stage 1: there is no adapter 'last-word'")
