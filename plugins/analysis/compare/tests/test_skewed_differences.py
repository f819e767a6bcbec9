"""Tests of what is concluded where the differences of two models are skewed."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from evalkit.inference.intervals import Interval
from evalkit_analysis_compare.comparison import compare
from evalkit_analysis_compare.records import ComparedScore
from evalkit_analysis_compare.sign_flips import flip_test
from evalkit_analysis_compare.spreads import agreeing, spread_of

from .comparison_runs import make_run

Floats = NDArray[np.float64]


def compared(differences: Floats) -> ComparedScore:
    """Compare two runs by seconds, which have no bounds."""
    second = np.full(len(differences), 10.0)
    runs = (
        make_run(
            "a",
            unit="s",
            scale=1.0,
            per_example={"seconds": list(second + differences)},
        ),
        make_run("b", unit="s", scale=1.0, per_example={"seconds": list(second)}),
    )
    (row,) = compare(*runs).whole
    return row


def losses_against_gains(n: int, random: np.random.Generator) -> Floats:
    """Draw 2 % large losses and small gains, which are 0 on average."""
    is_loss = random.random(n) < 0.02
    return np.where(is_loss, -4.9, 0.1) + random.normal(0, 0.02, n)


def test_the_p_value_rejects_as_often_as_its_level_says() -> None:
    """Flips alone reject in 17 %, in sets with some losses."""
    random = np.random.default_rng(7)
    keys = np.arange(200, dtype=np.uint64)
    flipped, agreed = 0, 0
    for _ in range(150):
        differences = losses_against_gains(200, random)
        spread = spread_of(differences, None, shares=False)
        tested = flip_test(differences, keys, 0.05, 1000)
        flipped += tested.p_value < 0.05
        if spread.is_skewed:
            tested = agreeing(tested, spread.intervals)
        agreed += tested.p_value < 0.05
    assert flipped > 0.07 * 150
    assert agreed <= 0.07 * 150


@pytest.mark.parametrize("seed", range(4))
def test_the_p_value_is_that_of_the_interval(seed: int) -> None:
    differences = losses_against_gains(200, np.random.default_rng(seed)) + 0.05
    row = compared(differences)
    spread = spread_of(differences, None, shares=False)
    assert spread.is_skewed
    assert row.p_value is not None
    for factor, holds_zero in ((0.999, True), (1.001, False)):
        found = spread.intervals(1 - row.p_value * factor)
        assert found.low is not None
        assert found.high is not None
        assert (found.low <= 0 <= found.high) == holds_zero


def test_no_difference_to_be_found_is_named_where_it_depends_on_the_direction() -> None:
    row = compared(losses_against_gains(200, np.random.default_rng(0)))
    assert row.smallest_detectable is None
    assert "would be found with a probability" not in row.conclusion
    assert row.conclusion.endswith(
        "; which true difference would be found depends on its direction, as the "
        "differences are skewed"
    )


def test_symmetric_differences_keep_their_test_and_power() -> None:
    differences = np.random.default_rng(1).normal(0, 1, 200)
    row = compared(differences)
    assert row.smallest_detectable is not None
    assert row.p_method == "sign-flips"
    # other keys toss other coins
    flipped = flip_test(differences, np.arange(200, dtype=np.uint64)).p_value
    assert row.p_value == pytest.approx(flipped, abs=0.02)


def test_without_an_interval_nothing_is_claimed() -> None:
    row = compared(np.full(200, -1.0))
    assert (row.ci_low, row.reason) == (None, "all differences are equal")
    assert row.p_value is not None
    assert row.p_value < 0.001
    assert row.different is False
    assert row.conclusion == (
        "undecided: the test finds a difference of 1.00 s (p ≤ 1.0e-04), but there is "
        "no interval; all differences are equal"
    )


def few_changes(shares: bool, changes: int) -> list[Interval]:
    """Draw 200 differences of mean 0: nine small gains for each large loss."""
    random = np.random.default_rng(5)
    found = []
    for _ in range(200):
        drawn, share = random.random(200), changes / 200
        gains = np.where(drawn < share, 0.05, 0.0)
        differences = np.where(drawn < share / 10, -0.45, gains)
        found.append(spread_of(differences, None, shares=shares).intervals(0.95))
    return found


@pytest.mark.parametrize("changes", [2, 6, 12])
def test_few_changes_of_shares_hold_unseen_losses(changes: int) -> None:
    found = few_changes(True, changes)
    bounds = [(each.low, each.high) for each in found]
    held = [low <= 0 <= high for low, high in bounds if low is not None]
    assert len(held) > 150
    assert sum(held) >= 0.95 * len(held)


def test_few_changes_without_bounds_have_no_interval() -> None:
    found = few_changes(False, 12)
    assert all(each.low is None for each in found)
    assert "12 of 200 examples differ, too few" in " ".join(
        each.reason or "" for each in found
    )


def test_where_most_examples_differ_there_is_an_interval() -> None:
    random = np.random.default_rng(5)
    interval = spread_of(random.normal(size=20), None, shares=False).intervals(0.95)
    assert interval.low is not None


def test_changes_are_counted_by_cluster() -> None:
    clusters = np.repeat(np.arange(60), 5)
    differences = np.where(clusters < 12, 0.05, 0.0)
    differences[:5] = 0.06  # else all are equal
    shares = spread_of(differences, clusters, shares=True).intervals(0.95)
    assert shares.low is not None
    # three unseen clusters of five rows may have lost as much as can be
    assert shares.low <= differences.mean() - 3 / 60
    reals = spread_of(differences, clusters, shares=False).intervals(0.95)
    assert reals.low is None
    assert reals.reason is not None
    assert reals.reason.startswith("only 12 of 60 clusters differ, too few")


def test_an_unseen_cluster_changes_as_many_rows_as_those_seen() -> None:
    clusters = np.repeat(np.arange(60), 5)
    differences = np.where(np.arange(300) % 25 == 0, 0.05, 0.0)
    differences[0] = 0.06
    found = spread_of(differences, clusters, shares=True).intervals(0.95)
    assert found.low == pytest.approx(differences.mean() - 3 / 300)


@pytest.mark.parametrize("losses", [0, 1])
def test_changes_in_one_direction_hold_an_unseen_other(losses: int) -> None:
    differences = np.zeros(200)
    differences[:45] = np.linspace(0.04, 0.06, 45)
    differences[:losses] *= -1
    shares = spread_of(differences, None, shares=True).intervals(0.95)
    reals = spread_of(differences, None, shares=False).intervals(0.95)
    assert shares.low is not None
    assert shares.low <= 0
    assert (reals.low is None) == (losses == 0)
    if reals.reason is not None:
        assert reals.reason.startswith(
            "only 45 of 200 examples differ, all in one direction, too few"
        )


def rare_failures(n: int, random: np.random.Generator) -> Floats:
    """Draw differences of mean 0: in one of n a total loss, else small ones."""
    fails = random.random(n) < 1 / n
    small = 0.9 / (n - 1) + random.normal(0, 1 / n, n)
    return np.where(fails, -0.9, small)


@pytest.mark.parametrize("n", [60, 200])
def test_a_rare_failure_that_no_sample_shows_is_no_difference(n: int) -> None:
    """A sample without any failure was called different: 37 % of all samples."""
    random, claims = np.random.default_rng(8), 0
    for _ in range(200):
        spread = spread_of(rare_failures(n, random), None, shares=True)
        low, high = spread.intervals(0.95)[:2]
        assert low is not None
        assert high is not None
        claims += not low <= 0 <= high
    assert claims <= 0.05 * 200


@pytest.mark.parametrize("changed", [60, 100, 150])
def test_many_gains_do_not_show_that_there_is_no_loss(changed: int) -> None:
    """Of 49 gains for each loss a claim was made in 24 % where 70 of 200 changed."""
    differences = np.zeros(200)
    differences[:changed] = 0.9 / 49
    spread = spread_of(differences, None, shares=True)
    assert spread.intervals(0.95).low == pytest.approx(differences.mean() - 3 / 200)
    tested = flip_test(differences, np.arange(200, dtype=np.uint64), 0.05, 1000)
    assert tested.p_value < 0.01
    # so many unseen losses are expected where the mean is 0, and none is drawn
    p_value = math.exp(-differences.sum())
    assert spread.agreeing_test(tested).p_value == pytest.approx(p_value)


def test_unseen_changes_are_rarer_at_a_smaller_level() -> None:
    """By the rule of three on each of 20 tags some tag is wrong in two of three."""
    differences = np.random.default_rng(2).normal(0.02, 0.005, 200)
    spread = spread_of(differences, None, shares=True)
    for confidence in (0.99, 0.9975):
        # no unit is drawn of as many as are expected with this probability
        reach = -math.log(1 - confidence) / 200
        low = spread.intervals(confidence).low
        assert low == pytest.approx(differences.mean() - reach)


def test_what_would_be_found_is_beyond_unseen_changes() -> None:
    differences = np.random.default_rng(2).normal(0.005, 0.005, 200)
    spread = spread_of(differences, None, shares=True)
    found = spread.detectable(0.001, 0.05)
    assert found is not None
    assert spread.error is not None
    assert found == pytest.approx(3 / 200 + 0.8434 * spread.error, rel=1e-4)
    assert spread.detectable(0.5, 0.05) == 0.5
    assert spread.detectable(None, 0.05) is None
    assert spread_of(differences[:3], None, shares=True).detectable(0.1, 0.01) is None


def test_a_claim_says_what_few_changes_in_one_direction_do_not_show() -> None:
    differences = np.random.default_rng(5).uniform(0.5, 1.5, 40)
    found = spread_of(differences, None, shares=False)
    assert found.intervals(0.95).low is not None
    assert found.warning.startswith(
        "all 40 examples that differ do so in one direction"
    )
    both = np.append(differences, -0.5)
    assert spread_of(both, None, shares=False).warning == ""
    many = np.random.default_rng(5).uniform(0.5, 1.5, 300)
    assert spread_of(many, None, shares=False).warning == ""
    clusters = np.arange(40) // 2
    clustered = spread_of(differences, clusters, shares=False).warning
    assert clustered.startswith("all 20 clusters that differ")
    differences[0] = 1.0
    row = compared(differences)
    assert row.different
    assert row.conclusion.endswith("which so few may not show, could undo it")


def test_a_claim_says_what_clusters_that_gain_in_part_do_not_show() -> None:
    """A cluster gains one row of ten, or one in ten of them loses nine: 26 % claims."""
    clusters = np.repeat(np.arange(30), 10)
    differences = np.where((np.arange(300) % 10 == 0) & (clusters < 12), 1.0, 0.0)
    found = spread_of(differences, clusters, shares=True)
    interval = found.intervals(0.95)
    assert interval.low is not None
    assert interval.low > 0
    assert found.warning.startswith(
        "all 12 clusters that differ do so in one direction"
    )
    differences[(np.arange(300) % 10 < 4) & (clusters < 12)] = 1.0
    assert spread_of(differences, clusters, shares=True).warning == ""
