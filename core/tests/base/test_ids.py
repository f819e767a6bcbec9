from typing import Any

import numpy as np
import pytest

from evalkit.base.ids import EXAMPLE_ID_KEYS, RESPONSE_ID_KEYS, read_id
from evalkit.base.violations import Violation


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


def test_half_a_surrogate_pair_is_refused() -> None:
    found = read_id({"id": "a\ud83d"}, RESPONSE_ID_KEYS)
    assert found == ("id", "must be a text without half surrogate pairs", "a\ud83d")


def test_an_integer_of_thousands_of_digits_is_refused() -> None:
    found = read_id({"id": 10**5000}, RESPONSE_ID_KEYS)
    assert found == ("id", "must be an integer of fewer digits", 10**5000)
