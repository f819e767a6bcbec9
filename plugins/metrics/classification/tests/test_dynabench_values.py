import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import evalkit
from evalkit import DataError

OURS = {"accuracy": "accuracy", "macro_f1": "macro-f1:labels=seen"}
ELSEWHERE = {
    *("squad_f1", "vqa_accuracy", "bleu(sacrebleu 2.6.0)"),
    *("unperturbed_percent", "dataperf_f1"),
}
"""Metrics of the file that other distributions answer for."""

EQUAL, ROUNDED, EMPTY, NOT_TEXT = "equal", "rounding", "empty group", "not text"


@pytest.fixture
def cases(oracles: Path) -> list[dict[str, Any]]:
    recorded = json.loads((oracles / "dynabench_metrics.json").read_text("utf-8"))
    assert {case["metric"] for case in recorded["cases"]} == {*OURS, *ELSEWHERE}
    return [case for case in recorded["cases"] if case["metric"] in OURS]


def holds_only_texts(values: Sequence[Any]) -> bool:
    flat = [
        v for value in values for v in (value if isinstance(value, list) else [value])
    ]
    return all(isinstance(value, str) for value in flat)


def compare(case: dict[str, Any]) -> str:
    """Say how we differ from a case; fails where that is no difference we want."""
    name, targets = OURS[case["metric"]], case["targets"]
    # an example that the list of predictions is too short for has no prediction
    missing = [None] * (len(targets) - len(case["predictions"]))
    found = evalkit.score(name, [*case["predictions"], *missing], targets)[name]
    if not targets:
        assert "error" in case
        assert (found.value, found.reason) == (None, "no example was scored")
        return EMPTY
    if not (holds_only_texts(case["predictions"]) and holds_only_texts(targets)):
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
    found = [(case["metric"], compare(case)) for case in cases]
    assert set(found) == {
        ("accuracy", EQUAL),
        ("accuracy", NOT_TEXT),
        ("macro_f1", EQUAL),
        ("macro_f1", ROUNDED),
    }


# Dynabench's own code raises for each of these


@pytest.mark.parametrize("metric", OURS)
def test_no_examples_are_null_and_no_exception(metric: str) -> None:
    case = {"metric": metric, "predictions": [], "targets": [], "error": "any"}
    assert compare(case) == EMPTY


@pytest.mark.parametrize("metric", OURS)
@pytest.mark.parametrize("label", [1, 1.5, True])
def test_labels_that_are_no_texts_are_answered(metric: str, label: Any) -> None:
    case = {"metric": metric, "predictions": [label, label], "targets": [label, label]}
    assert compare({**case, "error": "TypeError"}) == NOT_TEXT
    found = evalkit.score(OURS[metric], case["predictions"], case["targets"])
    assert found[OURS[metric]].value == 1.0


@pytest.mark.known_result
def test_lists_of_different_lengths_are_refused_where_dynabench_scores_them(
    cases: list[dict[str, Any]],
) -> None:
    uneven = [c for c in cases if len(c["predictions"]) != len(c["targets"])]
    assert uneven
    for case in uneven:
        with pytest.raises(DataError, match="of the same length"):
            evalkit.score(OURS[case["metric"]], case["predictions"], case["targets"])


@pytest.mark.known_result
def test_the_same_class_alone_is_scored_differently_by_default(
    cases: list[dict[str, Any]],
) -> None:
    (case,) = [case for case in cases if case.get("value") == 42.86]
    found = evalkit.score("macro-f1", case["predictions"], case["targets"])["macro-f1"]
    assert found.value == pytest.approx(6 / 7)
    assert found.flag == "one class: hate"
