import json
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import evalkit

from .drawn_rows import check_mean, rows_of, value

NAME = "vqa-accuracy"
answers = st.sampled_from(["yes", "no", "2"])


def agreement(prediction: str, people: list[str]) -> float:
    """Return the mean over all ways to leave one person out."""
    if len(people) == 1:
        return float(prediction == people[0])
    others = combinations(people, len(people) - 1)
    scores = [min(1.0, each.count(prediction) / 3) for each in others]
    return sum(scores) / len(scores)


@given(rows=rows_of(answers))
def test_it_is_the_definition_with_few_people(rows: Any) -> None:
    check_mean(NAME, rows, agreement)


@given(
    rows=st.lists(
        st.tuples(answers, st.lists(answers, min_size=10, max_size=10), st.just([])),
        min_size=1,
        max_size=8,
    )
)
@pytest.mark.slow
def test_it_is_the_definition_with_ten_people(rows: Any) -> None:
    check_mean(NAME, rows, agreement)


def people(right: int) -> list[str]:
    return ["yes"] * right + ["no"] * (10 - right)


@pytest.mark.parametrize(
    ("right", "expected"), [(0, 0), (1, 0.3), (2, 0.6), (3, 0.9), (4, 1), (10, 1)]
)
def test_of_ten_people_four_are_enough(right: int, expected: float) -> None:
    assert value(NAME, "yes", people(right)) == pytest.approx(expected, abs=1e-15)


@pytest.mark.known_result
def test_it_gives_what_dynabench_gives_but_for_single_answers(oracles: Path) -> None:
    recorded = json.loads((oracles / "dynabench_metrics.json").read_text("utf-8"))
    cases = [case for case in recorded["cases"] if case["metric"] == "vqa_accuracy"]
    assert len(cases) >= 9
    differ = []
    for case in cases:
        found = evalkit.score(NAME, case["predictions"], case["targets"])[NAME].value
        assert found is not None
        if round(100 * found, 2) != case["value"]:
            differ.append((case["targets"], found))
    assert differ == [([["yes"]], 1.0), (["yes"], 1.0)]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Yes.", "yes"),
        ("two", "2"),
        ("none", "0"),
        ("the red car", "red car"),
        ("dont know", "don't know"),
        ("couldn'tve", "couldn't've"),
        ("1,000", "1000"),
        ("red/blue", "red blue"),
        ("red - blue", "red  blue"),
        ("U.S.A.", "usa"),
        ("what?", "what"),
        ("a\nb", "b"),
    ],
)
def test_texts_that_mean_the_same_are_equal(one: str, other: str) -> None:
    assert value(NAME, one, other) == value(NAME, other, one) == 1.0


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("3.5", "35"),
        ("3.5", "3 5"),
        ("its", "it's"),
        ("dogs", "dog"),
        ("eleven", "11"),
        ("1,000", "1 000"),
        # punctuation is a blank where no blank stands beside it
        ("state-of-the-art", "stateoftheart"),
        (None, ""),
    ],
)
def test_other_texts_are_not(one: Any, other: str) -> None:
    assert value(NAME, one, other) == 0.0


def test_few_answers_are_flagged() -> None:
    targets = [["yes"] * 2, ["yes"] * 3, ["yes"], ["yes"] * 4]
    result = evalkit.score(NAME, ["yes"] * 4, targets)
    found = result[NAME]
    assert found.value == pytest.approx((1 / 3 + 2 / 3 + 1 + 1) / 4)
    assert found.flag == (
        "examples with 2 or 3 answers, where 1 cannot be reached: 2; "
        "fewer than 10 examples"
    )
    assert evalkit.score(NAME, ["yes"], ["yes"])[NAME].flag is None
