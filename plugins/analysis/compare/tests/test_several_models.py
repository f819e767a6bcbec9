"""Comparisons of several models: which pairs, adjusted for how many, and the best."""

from collections.abc import Sequence
from typing import Any

import pytest

from evalkit.runs.results import Result
from evalkit_analysis_compare.comparison import compare
from evalkit_analysis_compare.paired_shares import tango_interval

from .comparison_runs import make_run

N = 200


def models(rights: Sequence[int], **how: Any) -> list[Result]:
    """Make models of which each is right on the first so many of the examples."""
    return [
        make_run(
            "abcdefgh"[number],
            per_example={"hits": [1.0] * right + [0.0] * (N - right)},
            **how,
        )
        for number, right in enumerate(rights)
    ]


def test_each_is_compared_with_the_first_or_all_in_pairs() -> None:
    runs = models([100, 110, 120])
    pairs = [(row.model_a, row.model_b) for row in compare(*runs).rows]
    assert pairs == [("a", "b"), ("a", "c")]
    every = compare(*runs, all_pairs=True)
    pairs = [(row.model_a, row.model_b) for row in every.rows]
    assert pairs == [("a", "b"), ("a", "c"), ("b", "c")]
    assert every.to_dict()["all_pairs"] is True
    assert {row.family_size for row in every.rows} == {3}
    first = every.rows[0]
    assert first.p_adjusted == 3 * (first.p_value or 0)
    wanted = tango_interval(0, 10, N, 1 - 0.05 / 3)
    assert (first.ci_low_adjusted, first.ci_high_adjusted) == pytest.approx(wanted[:2])


def test_one_of_five_small_p_values_is_no_finding() -> None:
    # 6 against 0 is p = .016 alone, and .078 among five
    runs = models([100, 106, 100, 100, 100, 100])
    alone = compare(*runs[:2]).rows[0]
    assert (alone.p_value, alone.different) == (0.5**6, True)
    rows = compare(*runs).rows
    assert rows[0].p_adjusted == 5 * 0.5**6
    assert not any(row.different for row in rows)
    assert rows[0].conclusion == (
        "undecided: too few examples differ for the test to show a difference "
        "(adjusted p = .078)"
    )
    assert (rows[0].ci_low_adjusted or 0) < (rows[0].ci_low or 0) < 0
    assert (rows[0].ci_high or 0) < 0
    assert (rows[0].ci_high_adjusted or 0) >= 0


def test_models_not_distinguishable_from_the_best() -> None:
    runs = models([150, 155, 100, 156])
    assert compare(*runs).best == {"hits": ["a", "b", "d"]}
    assert compare(*runs, all_pairs=True).best == {"hits": ["a", "b", "d"]}
    assert compare(*runs[:2]).best == {}


def test_a_pair_that_is_not_shown_can_leave_a_model_out() -> None:
    # a is near both, but b is better than c
    runs = models([110, 115, 105])
    comparison = compare(*runs)
    assert not any(row.different for row in comparison.rows)
    assert comparison.best == {"hits": ["a", "b"]}
    shown = compare(*runs, all_pairs=True)
    assert [row.different for row in shown.rows] == [False, False, True]
    assert shown.best == comparison.best


def test_the_best_may_have_the_lowest_value() -> None:
    runs = models([150, 155, 100, 98], higher_is_better=False)
    assert compare(*runs).best == {"hits": ["c", "d"]}
    unknown = models([150, 155, 100, 98], higher_is_better=None)
    assert compare(*unknown).best == {}


@pytest.mark.slow
def test_a_margin_of_several_holds_for_all_at_once() -> None:
    runs = models([100, 101, 100, 100, 100, 100])
    alone = compare(runs[0], runs[2], margin=0.015).rows[0]
    # z² / (n + z²) at .90 and at 1 - .1 / 5
    assert alone.equivalent is True
    together = compare(*runs, margin=0.015).rows[1]
    assert together.equivalent is False
    wide = compare(*runs, margin=0.04).rows[1]
    assert wide.equivalent is True
    assert "simultaneous 90 % CI −2.6 to 2.6" in wide.conclusion
