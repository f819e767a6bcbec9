from typing import Any

import numpy as np
import pytest

from evalkit.base.ids import EXAMPLE_ID_KEYS, RESPONSE_ID_KEYS, read_id
from evalkit.base.violations import Violation


@pytest.mark.parametrize("number", [np.int64(7), np.uint8(7)])
def test_an_integer_of_numpy_is_one_too(number: Any) -> None:
    assert read_id({"id": number}, RESPONSE_ID_KEYS) == "7"


@pytest.mark.parametrize(
    "value", ["", None, 1.0, float("nan"), True, False, np.bool_(True), [], ["a"], {}]
)
def test_any_other_value_is_refused_with_field_rule_and_value(value: Any) -> None:
    found = read_id({"id": value}, RESPONSE_ID_KEYS)
    rule = "must be a text that is not empty or an integer"
    assert isinstance(found, Violation)
    assert (found.field, found.rule) == ("id", rule)
    assert found.value is value


def test_two_different_ids_are_refused() -> None:
    found = read_id({"id": "a", "uid": "b"}, RESPONSE_ID_KEYS)
    assert isinstance(found, Violation)
    assert (found.field, found.value) == ("uid", "b")
    assert read_id({"id": 7, "uid": "7", "_index_": 0}, EXAMPLE_ID_KEYS) == "7"
    assert read_id({"id": "a", "uid": None}, RESPONSE_ID_KEYS) == "a"


class Loud(str):
    """A text that compares and is written as it likes."""

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no")

    __hash__ = str.__hash__


@pytest.mark.parametrize("text", ["7", "é"])
def test_a_subclass_of_texts_is_its_plain_text(text: str) -> None:
    found = read_id({"id": Loud(text)}, RESPONSE_ID_KEYS)
    assert type(found) is str
    assert found == text


def test_half_a_surrogate_pair_is_refused() -> None:
    found = read_id({"id": "a\ud83d"}, RESPONSE_ID_KEYS)
    assert found == ("id", "must be a text without half surrogate pairs", "a\ud83d")


def test_an_integer_of_thousands_of_digits_is_refused() -> None:
    found = read_id({"id": 10**5000}, RESPONSE_ID_KEYS)
    assert found == ("id", "must be an integer of fewer digits", 10**5000)
