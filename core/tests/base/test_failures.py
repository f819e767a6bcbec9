from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from evalkit import Dataset, Metric, PluginError, evaluate, score
from evalkit.base.failures import described
from evalkit.errors import EvalkitError


class Unshowable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


class Odd(BaseException):
    pass


RAISED = [Unshowable(), Odd("strange"), GeneratorExit(), SystemExit(3)]
PREDICTIONS = [{"id": "0", "label": "positive"}]


def _raising(error: BaseException) -> Callable[..., Any]:
    def raise_it(self: Any, example: Any) -> Any:
        raise error

    return raise_it


class Texts(Dataset):
    name = "texts"
    task = "sentiment"
    license = "CC0-1.0"

    def load(self, split: str) -> list[dict[str, str]]:
        return [{"uid": "0", "statement": "x", "label": "positive"}]


@pytest.mark.parametrize("error", RAISED, ids=repr)
def test_a_converter_that_fails_is_named_with_the_example(error: BaseException) -> None:
    converter = {"label_field_converter": _raising(error)}
    dataset = type("Failing", (Texts,), converter)

    with pytest.raises(PluginError) as caught:
        evaluate(dataset, PREDICTIONS)

    assert "datasets/texts" in str(caught.value)
    assert "the example '0'" in str(caught.value)
    assert type(error).__name__ in str(caught.value)


@pytest.mark.parametrize("error", RAISED, ids=repr)
def test_a_metric_that_fails_is_named_with_the_example(error: BaseException) -> None:
    class Failing(Metric):
        name = "failing"
        answer_kinds = ("one",)

        def score_example(self, prediction: str, target: str) -> float:
            raise error

    with pytest.raises(EvalkitError, match=type(error).__name__) as caught:
        score(Failing, predictions=["a", "b"], targets=["a", "b"])

    assert "metrics/failing" in str(caught.value)


def test_an_interrupt_by_the_user_is_no_failure() -> None:
    class Interrupted(Metric):
        name = "interrupted"
        answer_kinds = ("one",)

        def score_example(self, prediction: str, target: str) -> float:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        score(Interrupted, predictions=["a", "b"], targets=["a", "b"])


def test_what_is_raised_is_described_in_one_line_without_escape_codes() -> None:
    assert described(ValueError("one\n two\n\x1b[31mred")) == (
        "ValueError: one two \\x1b[31mred"
    )
    assert described(KeyError()) == "KeyError"
    assert described(Unshowable()) == (
        "Unshowable: <its text cannot be shown: RuntimeError>"
    )
