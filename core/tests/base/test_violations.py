from __future__ import annotations

import json
import math
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from evalkit.base.violations import (
    Violation,
    from_assertion,
    from_pydantic,
    json_value,
    shorten,
)


class Inner(BaseModel):
    p: Annotated[float, Field(ge=0)]


class Row(BaseModel):
    model_config = ConfigDict(extra="forbid")

    label: Literal["a", "b"]
    count: int = 0
    inner: list[Inner] = []

    @model_validator(mode="after")
    def agree(self) -> Row:
        if self.count == 9:  # pytest would rewrite an assert and its message
            raise AssertionError("the count is too large")
        if self.count == 8:
            raise ValueError("eight is no count")
        return self


def _violations(row: dict[str, Any]) -> list[Violation]:
    with pytest.raises(ValidationError) as caught:
        Row.model_validate(row)
    return from_pydantic(caught.value)


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({}, Violation("label", "is required")),
        ({"label": "c"}, Violation("label", "must be 'a' or 'b'", "c")),
        (
            {"label": "a", "more": 1},
            Violation("more", "is not declared, and undeclared keys are forbidden", 1),
        ),
        (
            {"label": "a", "inner": [{"p": 1}, {"p": -1}]},
            Violation("inner.1.p", "must be greater than or equal to 0", -1),
        ),
    ],
)
def test_what_pydantic_finds_becomes_field_rule_and_value(
    row: dict[str, Any], expected: Violation
) -> None:
    assert _violations(row) == [expected]


def test_every_violation_of_a_row_is_reported_in_order() -> None:
    found = _violations({"count": "x", "more": 1})
    assert [violation.field for violation in found] == ["label", "count", "more"]


@pytest.mark.parametrize(("message", "added"), [("", ""), ("why", " (why)")])
def test_a_failed_assertion_is_quoted(message: str, added: str) -> None:
    with pytest.raises(AssertionError) as caught:
        raise AssertionError(message)
    rule = f"`raise AssertionError(message)` must hold{added}"
    assert from_assertion(caught.value) == Violation("(response)", rule)


@given(st.text(), st.integers(11, 60))
def test_a_shown_value_has_a_limited_length_and_both_its_ends(
    text: str, length: int
) -> None:
    shown, whole = shorten(text, length), repr(text)
    assert len(shown) <= length
    if len(whole) <= length:
        assert shown == whole
    else:
        start, end = shown.split(" ... ", 1) if " ... " not in whole else ("", "")
        assert whole.startswith(start)
        assert whole.endswith(end)


@pytest.mark.parametrize(
    "value",
    [math.nan, -math.inf, {"a": math.nan}, b"a", [10**5000], {1, 2}],
    ids=lambda value: type(value).__name__,
)
def test_a_value_that_json_cannot_hold_is_shown(value: Any) -> None:
    assert json_value(value) == shorten(value)
    assert json.loads(json.dumps(json_value(value), allow_nan=False)) == shorten(value)


@pytest.mark.parametrize("value", ["a" * 10_001, ["a" * 9_997], "é" * 10_001])
def test_a_longer_value_is_cut_in_the_middle(value: Any) -> None:
    cut = json_value(value)
    assert cut == shorten(value, 10_000)
    assert len(cut) <= 10_000
    assert " ... " in cut
    assert json_value(cut) == cut
