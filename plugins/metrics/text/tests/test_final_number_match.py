import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import evalkit

from .drawn_rows import value

NAME = "final-number-match"
NO_NUMBER = "no acceptable answer holds a number"


@given(
    rows=st.lists(
        st.tuples(*[st.integers(-10_000, 10_000).map(lambda n: Fraction(n, 100))] * 2),
        min_size=1,
        max_size=8,
    ),
    shape=st.sampled_from(["{}", "so 7 + 3 = {}.", "{} eggs", "${}", "it is {:,}"]),
)
def test_numbers_are_compared_by_value(
    rows: list[tuple[Fraction, Fraction]], shape: str
) -> None:
    predictions = [shape.format(float(number)) for number, _ in rows]
    answers = [f"{float(number):.3f}" for _, number in rows]
    found = evalkit.score(NAME, predictions, answers)[NAME]
    assert found.value == pytest.approx(sum(p == a for p, a in rows) / len(rows))


@pytest.mark.known_result
def test_it_gives_what_helm_gives_where_the_answer_holds_a_number(
    oracles: Path,
) -> None:
    recorded = json.loads((oracles / "helm_golden.json").read_text("utf-8"))
    compared = 0
    for case in recorded["metrics"]:
        found = value(NAME, case["pred"], case["gold"])
        if any(mark.isdigit() for mark in case["gold"]):
            assert found == case["final_number_exact_match"], case
            compared += 1
        else:
            assert (found, case["final_number_exact_match"]) == (None, 0.0)
    assert compared >= 4


@pytest.mark.parametrize(
    ("prediction", "target", "expected"),
    [
        ("3 - 5 = -2", "-2", 1.0),
        ("3-5", "5", 1.0),
        ("from x-5", "5", 1.0),
        ("−5", "-5", 1.0),
        ("-$5", "-5", 1.0),
        ("(3)-5", "5", 1.0),
        ("1,234.50", "1234.5", 1.0),
        ("12,34,567", "1234567", 1.0),
        ("1, 2, 3", "3", 1.0),
        ("1,2,3", "3", 1.0),
        ("1,2345", "2345", 1.0),
        (".5", "0.5", 1.0),
        ("version 1.2.3", "3", 1.0),
        ("the answer is 5.", "5", 1.0),
        ("50%", "50", 1.0),
        ("1/2", "2", 1.0),
        ("1e3", "1000", 1.0),
        ("3 eggs", "3e", 1.0),
        ("٣", "3", 1.0),
        ("0.1", "0.10", 1.0),
        ("10000000000000001", "10000000000000000", 0.0),
        ("none", "5", 0.0),
        ("", "5", 0.0),
        (None, "5", 0.0),
        ("5", ["no number", "5"], 1.0),
        (5, 5.0, 1.0),
        (1e21, 1e21, 1.0),
        (float("nan"), 5.0, 0.0),
    ],
)
def test_single_cases(prediction: Any, target: Any, expected: float) -> None:
    assert value(NAME, prediction, target) == expected


def test_an_example_whose_answers_hold_no_number_is_not_scored() -> None:
    answers = ["five"] + ["5"] * 9
    result = evalkit.score(NAME, ["5"] * 10, answers)
    assert (result[NAME].value, result[NAME].n) == (1.0, 9)
    assert (result.status, result.record.not_scored) == ("partial", {NAME: 1})
    [problem] = result.problems
    assert problem.reason == NO_NUMBER
    alone = evalkit.score(NAME, ["5"], ["five"])[NAME]
    assert alone.value is None
    assert NO_NUMBER in (alone.reason or "")
