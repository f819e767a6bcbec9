"""Tasks that break one law each are found, and ours are let pass."""

import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict

import evalkit
from evalkit import EvalkitError
from evalkit_testing import TASK_LAWS, TaskLawError, check_task
from evalkit_testing.model_rows import drawn_rows

Responses = Sequence[Mapping[str, Any]]


class Text(BaseModel):
    uid: str
    text: str


class Said(BaseModel):
    id: str
    mood: Literal["glad", "sad"]


class Explained(Said):
    why: Any


class Anything(BaseModel):
    model_config = ConfigDict(extra="allow")

    id: str
    mood: Any


class Mood(evalkit.TaskIO):
    """The mood of a text."""

    Input: Any = Text
    Output: Any = Said
    labels = ("glad", "sad")
    answer_field = "mood"
    perf_metric = "macro-f1"
    eval_metrics = ("accuracy",)
    example = {"uid": "1", "text": "Hooray"}


class Strict(Mood):
    """Refuses an answer that is right."""

    def verify_response(self, response: Mapping[str, Any]) -> Any:
        assert response["mood"] != "sad"


class Greedy(Mood):
    """Takes any answer."""

    Output = Anything


class Unmeasured(Mood):
    """Names a metric that there is not."""

    eval_metrics = ("acuracy-of-moods",)


class Misfit(Mood):
    """Names a metric of other answers."""

    eval_metrics = ("span-f1",)


class Wordy(Mood):
    """Takes texts of any type."""

    class Input(BaseModel):
        uid: str
        text: Any


@pytest.mark.parametrize(
    ("task", "law", "said"),
    [
        (Strict, "responses", "'sad'"),
        (Greedy, "labels", "it takes the response"),
        (Unmeasured, "metrics", "acuracy-of-moods"),
        (Misfit, "metrics", "span-f1"),
        (Wordy, "damaged-examples", "it takes {'uid': '1', 'text': {'strange'"),
    ],
)
def test_a_broken_law_is_named(task: Any, law: str, said: str) -> None:
    with pytest.raises(TaskLawError) as caught:
        check_task(task)
    assert caught.value.law == law
    assert said in str(caught.value)


def test_a_damaged_response_that_is_taken_is_shown() -> None:
    class Reasons(Mood):
        """Takes any reason."""

        Output = Explained

    with pytest.raises(
        TaskLawError, match=r"it takes the response .*strange"
    ) as caught:
        check_task(Reasons, responses=[{"mood": "glad", "why": "sun"}])
    assert caught.value.law == "damaged-responses"


@pytest.mark.slow
def test_a_good_one_passes_each_law() -> None:
    check_task(Mood)
    for law in TASK_LAWS:
        check_task(Mood, laws=[law.name])


OURS: Mapping[str, Responses | None] = {
    "hs": None,
    "language-modelling": [{"logprob": -3.5, "num_bytes": 9}],
    "math-qa": [{"answer": "2"}],
    "multiple-choice": [{"answer": "Rome"}, {"answer": "B"}],
    "nli": None,
    "qa": [{"answer": "a place"}, {"answer": "movie", "conf": 0.5}],
    "ranking": [{"items": ["one", "two"]}],
    "rating": [{"rating": "good"}],
    "regression": [{"value": 2.5}],
    "sentiment": None,
    "text-classification": [{"label": "a"}, {"label": "b"}],
    "text-generation": [{"text": "It rains."}],
}


@pytest.mark.parametrize("name", OURS)
@pytest.mark.slow
def test_ours_pass(name: str) -> None:
    check_task(name, responses=OURS[name])


@pytest.mark.slow
def test_what_cannot_be_known_is_asked_for() -> None:
    class Secretive(Mood):
        """Takes no answer that can be drawn."""

        labels: Any = None

        def verify_response(self, response: Any) -> Any:
            return [evalkit.Violation("mood", "is not the word")]

    with pytest.raises(EvalkitError, match="give some as responses="):
        check_task(Secretive)
    with pytest.raises(EvalkitError, match="not empty"):
        check_task("qa", responses=[])
    with pytest.raises(EvalkitError, match="is no law"):
        check_task(Mood, laws=["moods"])


def test_what_no_row_can_be_drawn_for_gives_none() -> None:
    class Odd(BaseModel):
        pattern: re.Pattern[str]

    assert drawn_rows(Odd, 3) == []


def test_a_task_with_a_converter_names_metrics_too() -> None:
    class Converted(Mood):
        """Has a converter of its own."""

        answer_field: Any = None
        perf_metric = "no-such-metric"

        def pred_field_converter(self, response: Any) -> Any:
            return {"id": response["id"], "pred": response["mood"]}

        def label_field_converter(self, example: Any) -> Any:
            return {"id": example["uid"], "answer": example["gold"]}

    with pytest.raises(TaskLawError, match="no-such-metric") as caught:
        check_task(Converted, responses=[{"mood": "glad"}], laws=["metrics"])
    assert caught.value.law == "metrics"


class Count(BaseModel):
    id: str
    count: int


class Counting(evalkit.TaskIO):
    """How many there are, in a sentence."""

    Input = Text
    Output = Count
    answer_field = "count"
    perf_metric = "accuracy"
    extract = "final-number"
    example = {"uid": "1", "text": "How many?"}


class Vague(Counting):
    extract = "last-number"


@pytest.mark.slow
def test_the_right_answer_of_a_response_is_taken_out_of_its_text() -> None:
    check_task(Counting, responses=[{"count": "There are 7."}, {"count": 7}])
    with pytest.raises(TaskLawError, match="`extract` says fails: stage 1: there is n"):
        check_task(Vague, responses=[{"count": "There are 7."}])


class Prompted(Mood):
    prompts = {"default": {"query": "{text} {labels}"}}


@pytest.mark.slow
def test_prompts_that_cannot_be_checked_are_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "evalkit_models_base", None)
    check_task(Mood)
    with pytest.raises(EvalkitError, match="its prompts were not checked: import of"):
        check_task(Prompted)
