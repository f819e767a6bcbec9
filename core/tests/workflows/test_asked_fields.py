"""Fields that a metric or a data set asks for are kept, declared by the task or not."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import pytest

import evalkit

CODE = """
import evalkit
from pydantic import BaseModel


class Reference(BaseModel):
    text: str
    grade: int = 1
    tags: list[str] = []


class Question(BaseModel):
    uid: str
    question: str
    references: list[Reference] = []


class Answer(BaseModel):
    id: str
    answer: str
    logprob: float | None = None


class Task(evalkit.TaskIO):
    Input = Question
    Output = Answer
    answer_field = "answer"
    perf_metric = "accuracy"
    example = {"uid": "1", "question": "?"}


class Depth(evalkit.Metric):
    columns = ("extra",)

    def score_example(self, fields):
        return float(len(fields["extra"] or ""))


class Misreading(evalkit.Annotator):
    version = "1"
    reads = ("qestion",)

    def annotate_example(self, fields):
        return 1.0
"""


@pytest.fixture(autouse=True)
def _installed(fake_distribution: Callable[..., Any]) -> None:
    groups = {
        "evalkit.tasks": {"asking": "Task"},
        "evalkit.metrics": {"depth": "Depth"},
        "evalkit.annotators": {"misreading": "Misreading"},
    }
    fake_distribution(CODE, groups, name="asking", version="1.0")


class Asks(evalkit.Dataset):
    name = "asks"
    task = "asking"

    def load(self, split: str) -> list[dict[str, Any]]:
        return [
            {
                "uid": uid,
                "question": "?",
                "answer": "a",
                "references": [{"text": "a", "grade": 2, "tags": ["t"]}, {"text": "b"}],
            }
            for uid in "12"
        ]


def asking(*names: str) -> tuple[type[evalkit.Metric], list[Any]]:
    found: list[Any] = []

    class Reads(evalkit.Metric):
        columns: ClassVar[tuple[str, ...]] = names

        def score_example(self, fields: Mapping[str, Any]) -> float:
            found.append(dict(fields))
            return 1.0

    return Reads, found


def evaluate(responses: Any, *metrics: Any, dataset: Any = Asks) -> Any:
    return evalkit.evaluate(dataset, responses, metrics=[*metrics])


RESPONSES: list[dict[str, Any]] = [
    {"id": "1", "answer": "a", "extra": "yes", "logprob": -0.5},
    {"id": "2", "answer": "a"},
]


def test_what_a_metric_asks_for_is_kept_though_the_task_does_not_declare_it() -> None:
    metric, seen = asking("extra", "logprob")
    result = evaluate(RESPONSES, metric)
    assert seen == [{"extra": "yes", "logprob": -0.5}, {"extra": None, "logprob": None}]
    assert result.examples["extra"].to_list() == ["yes", None]
    assert not [notice for notice in result.notices if "'extra'" in notice]


def test_what_nobody_asks_for_is_left_out_and_counted() -> None:
    result = evaluate(RESPONSES, asking()[0])
    assert "extra" not in result.examples.columns
    assert "1 row with the key 'extra', which the task asking does not declare" in (
        "\n".join(result.notices)
    )


def test_what_no_response_has_is_still_said_to_be_missing() -> None:
    result = evaluate(RESPONSES, asking("nowhere")[0])
    assert result.status == "partial"
    assert (
        "it needs the field 'nowhere', which was not given; data and responses have "
        "uid, question, answer, references; no plugin computes it"
    ) in result.record.errors[0]


@pytest.mark.parametrize("name", ["qestion", "misreading"])
def test_a_field_that_is_nearly_one_of_the_data_is_named(name: str) -> None:
    (error,) = evaluate(RESPONSES, asking(name)[0]).record.errors
    assert error.endswith(
        "the field 'qestion', which was not given; did you mean question?"
    )


def test_a_data_set_asks_for_what_it_reads() -> None:
    class Own(Asks):
        scored_fields = ("extra",)

        def evaluate(self, frame: Any) -> dict[str, float]:
            return {"given": frame["extra"].count()}

    result = evaluate(RESPONSES, asking()[0], dataset=Own)
    assert result["asks#given"].value == 1.0


def test_references_may_carry_tags_and_grades() -> None:
    metric, seen = asking("references")
    evaluate(RESPONSES, metric)
    expected = [
        {"text": "a", "grade": 2, "tags": ["t"]},
        {"text": "b", "grade": 1, "tags": []},
    ]
    assert seen == [{"references": expected}] * 2


def test_alternatives_keep_their_own_fields() -> None:
    metric, seen = asking("responses", "responses.logprob", "responses.extra")
    ranked = [
        {"answer": "a", "logprob": -0.1, "extra": "x"},
        {"answer": "b", "logprob": -2.5},
    ]
    responses = [{"id": "1", "responses": ranked}, {"id": "2", "answer": "a"}]
    result = evaluate(responses, metric)
    assert seen == [
        {
            "responses": ["a", "b"],
            "responses.logprob": [-0.1, -2.5],
            "responses.extra": ["x", None],
        },
        {"responses": ["a"], "responses.logprob": [None], "responses.extra": [None]},
    ]
    assert "responses.logprob" in result.examples.columns
    assert not [notice for notice in result.notices if "does not declare" in notice]


def test_a_field_that_only_groups_are_made_by_is_kept(tmp_path: Any) -> None:
    """It was left out, and `--by` said that there is no such column."""
    responses = [
        {"id": "1", "answer": "a", "extra": "long", "pred": "x"},
        {"id": "2", "answer": "b", "extra": "short", "pred": "y"},
    ]
    by = ["extra", "pred", "answer,extra"]
    result = evalkit.evaluate(Asks, responses, by=by, out=tmp_path)
    tags = {row["tag"]: row["value"] for row in result.by_tag.to_dicts()}
    assert (tags["extra:long"], tags["extra:short"]) == (1.0, 0.0)
    assert {"pred:a", "pred:b", "answer:a & extra:long"} <= {*tags}
    assert result.path is not None
    examples = evalkit.read_run(result.path).examples
    assert examples is not None
    assert examples["extra"].to_list() == ["long", "short"]
    with pytest.raises(evalkit.EvalkitError, match=r"'extras' is no facet .* extra\?"):
        evalkit.evaluate(Asks, responses, by=["extras", "extra"])
