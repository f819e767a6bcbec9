import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import evalkit

EQUAL, ROUNDED, EMPTY, NOT_TEXT = "equal", "rounding", "empty group", "not text"


@pytest.fixture
def cases(oracles: Path) -> list[dict[str, Any]]:
    recorded = json.loads((oracles / "dynabench_metrics.json").read_text("utf-8"))
    return [case for case in recorded["cases"] if case["metric"] == "squad_f1"]


def holds_only_texts(values: Sequence[Any]) -> bool:
    nested = [value if isinstance(value, list) else [value] for value in values]
    return all(isinstance(item, str) for value in nested for item in value)


def compare(case: dict[str, Any]) -> str:
    """Say how we differ from a case; fails where that is no difference we want."""
    predictions, targets = case["predictions"], case["targets"]
    missing = [None] * (len(targets) - len(predictions))
    found = evalkit.score("squad-f1", [*predictions, *missing], targets)["squad-f1"]
    if not targets:
        assert "error" in case
        assert (found.value, found.reason) == (None, "no example was scored")
        return EMPTY
    if not (holds_only_texts(predictions) and holds_only_texts(targets)):
        assert "error" in case
        assert found.value is not None
        return NOT_TEXT
    assert "value" in case, case
    assert found.value is not None, case
    if 100 * found.value == case["value"]:
        return EQUAL
    assert round(100 * found.value, 2) == case["value"], case
    return ROUNDED


@pytest.mark.known_result
def test_every_recorded_case_is_equal_or_differs_as_the_docs_say(
    cases: list[dict[str, Any]],
) -> None:
    assert len(cases) >= 5
    assert {compare(case) for case in cases} == {EQUAL}


# Dynabench's own code raises for each of these


@pytest.mark.parametrize("answer", [1, 1.5, True])
def test_answers_that_are_no_texts_are_answered(answer: Any) -> None:
    case = {"predictions": [answer], "targets": [answer], "error": "AttributeError"}
    assert compare(case) == NOT_TEXT


def test_a_null_prediction_is_wrong() -> None:
    case = {"predictions": [None], "targets": ["x"], "error": "TypeError"}
    assert compare(case) == NOT_TEXT
    assert evalkit.score("squad-f1", [None], ["x"])["squad-f1"].value == 0.0
