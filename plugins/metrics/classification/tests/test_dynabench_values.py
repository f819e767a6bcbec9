from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import evalkit
from evalkit import DataError

OURS = {"accuracy": "accuracy", "macro_f1": "macro-f1:labels=seen"}


@pytest.fixture
def cases(oracles: Path) -> list[dict[str, Any]]:
    recorded = json.loads((oracles / "dynabench_metrics.json").read_text("utf-8"))
    return [case for case in recorded["cases"] if case["metric"] in OURS]


@pytest.mark.known_result
@pytest.mark.parametrize("metric", OURS)
def test_values_equal_those_that_dynabench_recorded(
    cases: list[dict[str, Any]], metric: str
) -> None:
    compared = 0
    for case in cases:
        same_length = len(case["predictions"]) == len(case["targets"])
        if case["metric"] != metric or "value" not in case or not same_length:
            continue
        name = OURS[metric]
        found = evalkit.score(name, case["predictions"], case["targets"])[name]
        assert found.value is not None
        assert round(100 * found.value, 2) == case["value"], case
        compared += 1
    assert compared >= 3


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
