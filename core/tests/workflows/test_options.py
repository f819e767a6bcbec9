import dataclasses
import inspect
from typing import Any

import pytest

from evalkit import (
    EvalkitError,
    EvaluationOptions,
    evaluate,
    evaluate_with,
    validate,
    validate_with,
)


def keywords(function: Any) -> dict[str, Any]:
    parameters = inspect.signature(function).parameters.values()
    return {
        each.name: each.default for each in parameters if each.kind is each.KEYWORD_ONLY
    }


FIELDS = {field.name: field.default for field in dataclasses.fields(EvaluationOptions)}


def test_keywords_of_evaluate_are_the_options_and_what_is_evaluated() -> None:
    others = keywords(evaluate_with)
    given = keywords(evaluate)
    for name in ("progress", "cancelled"):  # functions of their own
        others.pop(name)
        given.pop(name)
    given.pop("data")  # in place of the first argument
    assert given == FIELDS | others


def test_keywords_of_validate_are_options_with_their_defaults() -> None:
    given = keywords(validate)
    others = keywords(validate_with)
    given.pop("data")  # in place of the first argument
    own = {name: value for name, value in given.items() if name not in others}
    assert own.items() <= FIELDS.items()
    assert own.keys() | others.keys() == given.keys()


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"confidence": 1.0}, "confidence must be between 0 and 1"),
        ({"on_missing": "first"}, "on_missing must be one of error, wrong, skip"),
        ({"on_duplicate": "wrong"}, "on_duplicate must be one of"),
        ({"limit": 0}, "limit must be an integer of at least 1"),
        ({"filters": {"tag": 3}}, "the filter 'tag' must be a text or several"),
        ({"by": ["a,a"]}, "must name different facets"),
    ],
)
def test_a_wrong_option_is_refused_when_options_are_made(
    given: dict[str, Any], why: str
) -> None:
    with pytest.raises(EvalkitError, match=why):
        EvaluationOptions(**given)
