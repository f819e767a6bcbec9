"""Tasks that break one law each are found, and ours are let pass."""

import datetime
import enum
import re
import sys
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field

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


def test_all_of_ours_are_tried() -> None:
    found = evalkit.find_components().of_kind("tasks")
    ours = {each.name for each in found if each.distribution == "evalkit-tasks-text"}
    assert ours == {*OURS}


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


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Turn(BaseModel):
    role: Literal["user", "assistant"]
    content: str


class Chat(BaseModel):
    uid: str
    turns: Annotated[list[Turn], Field(min_length=1)]
    asked: datetime.date | None = None


class Judged(BaseModel):
    id: str
    marks: list[Annotated[float, Field(ge=0, le=1)]]
    why: Annotated[str, Field(pattern="^[a-z]+$")] | None = None


class Marks(evalkit.TaskIO):
    """How good is each turn of a chat?"""

    Input, Output = Chat, Judged
    answer_field = "marks"
    answer_kind = "ranked"
    perf_metric = "mrr"
    example: ClassVar[Mapping[str, Any]] = {
        "uid": "1",
        "turns": [{"role": "user", "content": "Hello"}],
    }


@pytest.mark.slow
def test_rows_are_drawn_from_nested_fields() -> None:
    check_task(Marks)
    examples = drawn_rows(Chat, 10)
    assert len(examples) == 10
    for row in examples:
        assert Chat.model_validate(row)
        assert {*row} <= {"uid", "turns", "asked"}
    assert any(len(row["turns"]) > 1 for row in examples)
    responses = drawn_rows(Judged, 10)
    assert any(row["marks"] for row in responses)
    assert all(0 <= mark <= 1 for row in responses for mark in row["marks"])
    assert drawn_rows(Chat, 10) == examples


@pytest.mark.slow
def test_a_hook_that_fails_for_what_is_taken_is_told() -> None:
    class Last(Marks):
        """Looks at the first mark, which there may not be."""

        def verify_response(self, response: Any) -> Any:
            if response["marks"][0] > 1:
                return [evalkit.Violation("marks", "is too great")]
            return []

    with pytest.raises(TaskLawError, match="IndexError") as caught:
        check_task(Last, laws=["drawn"], responses=[{"marks": [1.0]}])
    assert caught.value.law == "drawn"
    assert "'turns'" in str(caught.value)


class Bounded(BaseModel):
    number: Annotated[int, Field(gt=3, lt=6)]
    share: Annotated[float, Field(ge=0)]
    code: Annotated[str, Field(min_length=2, max_length=3)]
    pair: tuple[int, str]
    words: dict[str, list[int]]
    kind: Colour
    at: datetime.datetime
    anything: Any
    many: list[Any] = []
    named: str = Field(default="x", alias="called")


@pytest.mark.slow
def test_every_sort_of_field_is_drawn() -> None:
    rows = drawn_rows(Bounded, 20)
    assert len(rows) == 20
    assert {row["number"] for row in rows} == {4, 5}
    assert all(2 <= len(row["code"]) <= 3 for row in rows)
    assert any("called" in row for row in rows)
    assert {row["kind"] for row in rows} <= {"red", "blue"}


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


class Misprompted(Mood):
    prompts = {"default": {"query": "{text}"}, "short": {"query": "{txt}"}}


class Free(BaseModel):
    id: str
    mood: str


class Unlabelled(evalkit.TaskIO):
    """Any mood."""

    Input = Text
    Output = Free
    answer_field = "mood"
    perf_metric = "accuracy"
    example = {"uid": "1", "text": "Hooray"}
    prompts = {"default": {"query": "{text} {labels}", "shots": {"source": "train"}}}


@pytest.mark.slow
def test_a_model_can_be_asked_by_each_prompt() -> None:
    check_task(Prompted)
    check_task(Unlabelled, responses=[{"mood": "glad"}])
    told = "by its prompt 'short': .*{txt}, and there is {text}"
    with pytest.raises(TaskLawError, match=told) as caught:
        check_task(Misprompted)
    assert caught.value.law == "prompts"


@pytest.mark.slow
def test_prompts_that_cannot_be_checked_are_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "evalkit_models_base", None)
    check_task(Mood)
    with pytest.raises(EvalkitError, match="its prompts were not checked: import of"):
        check_task(Prompted)
