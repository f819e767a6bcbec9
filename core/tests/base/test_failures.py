from collections.abc import Callable
from typing import Any

import pytest

from evalkit import Dataset, PluginError, evaluate
from evalkit.base.failures import described, located


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


def test_what_is_raised_is_described_in_one_line_without_escape_codes() -> None:
    assert described(ValueError("one\n two\n\x1b[31mred")) == (
        "ValueError: one two \\x1b[31mred"
    )
    assert described(KeyError()) == "KeyError"
    assert described(Unshowable()) == (
        "Unshowable: <its text cannot be shown: RuntimeError>"
    )


class TestPlace:
    CODE = """
import json

def fail(text):
    return json.loads(text)

def score(prediction):
    return fail(
        prediction
    )
"""

    def located(self, module: str, file: str, text: str = "{") -> str:
        scope = {"__name__": module}
        exec(compile(self.CODE, file, "exec"), scope)
        call: Any = scope["score"]
        with pytest.raises(ValueError, match="Expecting") as caught:
            call(text)
        return located(caught.value)

    def test_a_long_text_is_cut(self) -> None:
        assert described(ValueError("x" * 50_000_000)) == f"ValueError: {'x' * 10_000}…"
