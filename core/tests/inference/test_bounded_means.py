from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import optimize, stats

from evalkit.inference.bounded_means import (
    bounded_mean_interval,
    clustered_bounded_mean_interval,
    independent_rows,
)
from evalkit.inference.intervals import clustered_share_interval, wilson
from evalkit.inference.mid_p_shares import mid_p_bounds

Floats = NDArray[np.float64]
many_scores = st.lists(
    st.floats(0, 1).map(lambda x: round(x, 2)), min_size=2, max_size=40
)


def plain(values: Floats, bounds: tuple[float, float] = (0.0, 1.0)) -> Floats:
    found = bounded_mean_interval(values, np.ones(len(values)), bounds, 0.95)
    assert found.low is not None
    assert found.high is not None
    return np.array([found.low, found.high])


@given(many_scores)
def test_bounds_are_as_far_as_students_quantile_of_wilsons_errors(
    scores: list[float],
) -> None:
    values, n = np.array(scores), len(scores)
    mean = float(np.mean(values))
    away = values if mean <= 0.5 else 1 - values
    typical = (1 + np.sum(away**2)) / (1 + np.sum(away))
    if len(set(scores)) == 1:
        typical = 1.0
    ratio = (n * mean * (1 - mean) + typical) / (
        n * np.var(values, ddof=1) + typical**2
    )
    quantile = stats.t.isf(0.025, n - 1)

    def excess(truth: float) -> float:
        variance = truth * (1 - truth) / (n * ratio)
        return float((mean - truth) ** 2 - quantile**2 * variance)

    low, high = plain(values)
    assert 0 <= low <= mean + 1e-12
    assert mean - 1e-12 <= high <= 1
    if 0 < mean < 1:
        below, above = rare_reach(values)
        least = max(0, min(optimize.brentq(excess, 0, mean), mean - below))
        most = min(1, max(optimize.brentq(excess, mean, 1), mean + above))
        assert low == pytest.approx(least, abs=1e-9)
        assert high == pytest.approx(most, abs=1e-9)


def rare_reach(values: Floats) -> tuple[float, float]:
    """Give how far an interval reaches for scores that are rare or were not seen."""
    n, mean = len(values), float(np.mean(values))
    unseen = 1 - 0.05 ** (1 / n)
    below, above = mean * unseen, (1 - mean) * unseen
    skew = float(stats.skew(values)) / math.sqrt(n) if np.ptp(values) else 0.0
    if n > 2 and abs(skew) >= max(0.1, 2 * math.sqrt(6) / n):
        far = (mean - values if skew < 0 else values - mean).max() / n
        error = math.sqrt(np.var(values, ddof=1) / n + far**2)
        reach = far + float(stats.t.isf(0.025, n - 1)) * error
        below, above = (
            (max(below, reach), above) if skew < 0 else (below, max(above, reach))
        )
    is_high = mean > 0.5
    off = int(np.sum((1 - values if is_high else values) > 1e-9))
    if 0 < off <= 12 and off < n:
        ratio = mid_p_bounds(off, n, 0.95)[0] * n / off
        reach = min(mean, 1 - mean) * (1 - ratio)
        below, above = (
            (below, max(above, reach)) if is_high else (max(below, reach), above)
        )
    return below, above


def covered(share: float, far: float, others: tuple[float, float], n: int) -> float:
    random = np.random.default_rng(n)
    truth = share * far + (1 - share) * sum(others) / 2
    held = 0
    for _ in range(500):
        values = random.uniform(*others, n)
        values[random.random(n) < share] = far
        low, high = plain(values)
        held += low <= truth <= high
    return held / 500


@pytest.mark.parametrize(
    ("share", "far", "others", "n"),
    [
        (0.003, 0.0, (0.97, 1.0), 200),
        (0.005, 0.0, (0.97, 1.0), 200),
        (0.01, 0.0, (0.97, 1.0), 200),
        (0.02, 0.0, (0.97, 1.0), 200),
        (0.005, 0.0, (0.97, 1.0), 500),
        (0.01, 1.0, (0.0, 0.03), 200),
    ],
)
def test_rare_scores_far_from_all_others_are_allowed_for(
    share: float, far: float, others: tuple[float, float], n: int
) -> None:
    """Without it the interval covers .60 to .90."""
    assert covered(share, far, others, n) > 0.93


def test_the_interval_of_wide_scores_is_no_wider() -> None:
    values = np.random.default_rng(1).beta(5, 2, 200)
    mean, variance = float(np.mean(values)), float(np.var(values, ddof=1))
    size = independent_rows(
        200, mean, variance, float(np.sum(1 - values)), float(np.sum((1 - values) ** 2))
    )
    expected = wilson(mean, size, float(stats.t.isf(0.025, 199)))
    assert plain(values) == pytest.approx(expected, abs=1e-12)


@given(many_scores)
def test_the_scale_and_repeated_values_do_not_matter(scores: list[float]) -> None:
    values = np.array(scores)
    low, high = plain(values)
    assert plain(3 * values - 1, (-1.0, 2.0)) == pytest.approx(
        [3 * low - 1, 3 * high - 1], abs=1e-9
    )
    assert plain(1 - values) == pytest.approx([1 - high, 1 - low], abs=1e-9)
    different, counts = np.unique(values, return_counts=True)
    found = bounded_mean_interval(different, counts.astype(float), (0.0, 1.0), 0.95)
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-9)
    assert found.standard_error == pytest.approx(stats.sem(values), abs=1e-12)
    assert found.method == "wilson-bounded"


@pytest.mark.parametrize(
    ("value", "low", "high"),
    [(0.0, 0.0, 0.0379), (1.0, 0.9621, 1.0), (0.5, 0.4806, 0.5194)],
)
def test_equal_values_have_an_interval(value: float, low: float, high: float) -> None:
    """Also 0 of 100. What is no more frequent than 3.6 % may not have been seen."""
    values = np.full(100, value)
    assert plain(values) == pytest.approx([low, high], abs=2e-4)
    sizes = np.full(20, 5.0)
    found = clustered_bounded_mean_interval(
        sizes * value, sizes * value**2, sizes, (0.0, 1.0), 0.95
    )
    assert found.low is not None
    assert found.high is not None
    # twenty clusters, not a hundred examples
    assert found.high - found.low > 3 * (high - low)


def test_it_is_as_wide_as_students_far_from_the_bounds() -> None:
    values = np.random.default_rng(1).beta(2, 1, 500)
    low, high = stats.t.interval(0.95, 499, loc=values.mean(), scale=stats.sem(values))
    found = plain(values)
    assert found[1] - found[0] == pytest.approx(high - low, rel=0.02)


def test_zeros_and_ones_are_as_many_rows_as_there_are() -> None:
    assert independent_rows(100, 0.9, 0.09, 10, 10) == pytest.approx(100)
    assert independent_rows(100, 1.0, 0.0, 0, 0) == 100
    # one value of a half off the bound: twice the rows, drawn towards as many
    assert 100 < independent_rows(100, 0.995, 0.0025, 0.5, 0.25) < 200


def test_clustered_zeros_and_ones_have_about_the_interval_of_a_share() -> None:
    sizes = np.arange(1.0, 31.0)
    totals = np.random.default_rng(2).binomial(sizes.astype(int), 0.8).astype(float)
    share = clustered_share_interval(totals, sizes, 0.95)
    found = clustered_bounded_mean_interval(totals, totals, sizes, (0.0, 1.0), 0.95)
    assert found[:3] == pytest.approx(share[:3], abs=2e-4)
    assert found.method == "wilson-bounded-clustered"
    scaled = clustered_bounded_mean_interval(
        100 * totals, 1e4 * totals, sizes, (0.0, 100.0), 0.95
    )
    assert np.array(scaled[:3]) / 100 == pytest.approx(found[:3], abs=1e-12)


def test_one_row_and_one_cluster_have_none() -> None:
    one = np.ones(1)
    assert bounded_mean_interval(one, one, (0.0, 1.0), 0.95).reason == "n is 1"
    found = clustered_bounded_mean_interval(3 * one, 3 * one, 4 * one, (0, 1), 0.95)
    assert found.reason == "all examples are in one cluster"


def coverage(drawn: Floats, truth: float) -> tuple[float, float]:
    """Give the coverage of the interval, and of Student's."""
    covered = students = 0
    for values in drawn:
        low, high = plain(values)
        covered += low <= truth <= high
        error = stats.sem(values)
        half = 1.972 * error
        students += error > 0 and abs(values.mean() - truth) <= half
    return covered / len(drawn), students / len(drawn)


@pytest.mark.parametrize("share", [0.975, 0.983])
def test_f1_near_1_is_covered_where_students_interval_does_not(share: float) -> None:
    random = np.random.default_rng(3)
    shape = (400, 200)
    drawn = np.where(random.random(shape) < share, 1.0, random.beta(2, 2, shape))
    found, students = coverage(drawn, share + (1 - share) / 2)
    assert students < 0.925
    assert 0.93 <= found <= 0.985


def test_averages_of_five_rare_answers_are_covered() -> None:
    random = np.random.default_rng(4)
    drawn = random.binomial(5, random.beta(0.1, 9.9, (400, 200))) / 5
    found, students = coverage(drawn, 0.01)
    assert students < 0.93
    assert found >= 0.93
    assert not math.isnan(found)
