"""What the first edition of the contract got wrong, said with its own means only."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import polars as pl
import pytest
from pydantic import BaseModel

import evalkit


class Message(BaseModel):
    role: str
    content: str


class Output(BaseModel):
    id: str
    label: str


class Chat(BaseModel):
    uid: str
    messages: list[Message] = []
    picture: bytes = b""


class Chats(evalkit.TaskIO):
    Input = Chat
    Output = Output
    example: ClassVar[Mapping[str, Any]] = {"uid": "1"}
    answer_field = "label"
    labels = ("a", "b")
    perf_metric = "seen"


class Seen(evalkit.Metric):
    """Keeps the fields that it is given."""

    columns = ("messages", "picture")
    bounds = (0, 1)
    given: ClassVar[list[Any]] = []

    def score_example(
        self, prediction: str, target: str, fields: Mapping[str, Any]
    ) -> float:
        self.given.append((fields["messages"], fields["picture"]))
        return float(prediction == target)


CODE = f"""
import sys

sys.path.insert(0, {str(Path(__file__).parent)!r})
from {Path(__file__).stem} import Chats, Seen
"""


@pytest.fixture(autouse=True)
def plugins(fake_distribution: Any) -> Callable[..., Any]:
    points = {"evalkit.tasks": {"chats": "Chats"}, "evalkit.metrics": {"seen": "Seen"}}
    fake_distribution(CODE, points, name="chat-plugins", version="1")
    made: Callable[..., Any] = fake_distribution
    return made


def chats(rows: Any) -> type[evalkit.Dataset]:
    class Rows(evalkit.Dataset):
        name = "rows"
        task = "chats"

        def load(self, split: str) -> Any:
            return rows

    return Rows


def labelled(count: int) -> list[dict[str, Any]]:
    return [{"uid": str(n), "label": "ab"[n % 2]} for n in range(count)]


def said(count: int, key: str = "id") -> list[dict[str, Any]]:
    return [{key: str(n), "label": "ab"[n % 3 % 2]} for n in range(count)]


def evaluate(rows: Any, metrics: Sequence[Any], **options: Any) -> evalkit.Result:
    count = len(rows)
    return evalkit.evaluate(chats(rows), said(count), metrics=metrics, **options)


@pytest.mark.parametrize("make", [list, pl.DataFrame])
def test_a_metric_sees_the_types_of_the_task(make: Callable[[Any], Any]) -> None:
    """Nested values of dicts were JSON text; bytes were text that begins with b'."""
    turns = [{"role": "user", "content": "hi"}]
    rows = [{**row, "messages": turns, "picture": b"\x89PNG"} for row in labelled(2)]
    Seen.given.clear()
    evaluate(make(rows), [Seen])
    assert [*map(list, Seen.given)] == [[turns, b"\x89PNG"]] * len(Seen.given)
    assert Seen.given


def test_one_bad_row_does_not_take_the_score_of_the_others() -> None:
    class Fragile(evalkit.Metric):
        bounds = (0, 1)
        columns = ("uid",)

        def score_example(
            self, prediction: str, target: str, fields: Mapping[str, Any]
        ) -> float:
            return float(prediction == target) / (fields["uid"] != "7")

    score = evaluate(labelled(30), [Fragile])["fragile"]
    rows = zip(labelled(30), said(30), strict=True)
    right = [row["label"] == each["label"] for row, each in rows if row["uid"] != "7"]
    assert score.value == pytest.approx(sum(right) / 29)


def test_a_function_cannot_be_handed_answers_as_predictions() -> None:
    """`get_x(targets, predictions)` got them the wrong way round, in silence."""

    def get_precision(targets: list[str], predictions: list[str]) -> float:
        predicted = [t for p, t in zip(predictions, targets, strict=True) if p == "a"]
        return predicted.count("a") / len(predicted)

    found = evalkit.score(get_precision, ["a", "b", "b", "b"], ["a", "a", "a", "b"])
    assert found["precision"].value == 1.0
