from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from row_intervals import mean_interval
from scipy import optimize, stats

from evalkit.inference.intervals import clustered_mean_interval
from evalkit.inference.skewed_means import (
    clustered_skewed_mean_interval,
    hall_bounds,
    skewed_mean_interval,
)

Floats = NDArray[np.float64]


@given(st.floats(0.01, 0.3), st.floats(1.0, 4.0), st.booleans())
def test_halls_bounds_solve_his_cubic(
    skew: float, quantile: float, is_left: bool
) -> None:
    """g(T) = T + k T^2 / 3 + k^2 T^3 / 27 + k / 6 (Hall 1992), solved numerically."""
    skew = -skew if is_left else skew
    k = skew * (1 + abs(skew))

    def transformed(t: float) -> float:
        return t + k * t**2 / 3 + k**2 * t**3 / 27 + k / 6

    def solved(aim: float) -> float:
        return float(optimize.brentq(lambda t: transformed(t) - aim, -60, 60))

    found = hall_bounds(skew, quantile)
    assert found == pytest.approx((-solved(quantile), -solved(-quantile)), abs=1e-6)


@given(st.floats(0.5, 50.0))
def test_a_skewness_beyond_what_a_cubic_can_mend_adds_no_more(skew: float) -> None:
    assert hall_bounds(skew, 2.0) == hall_bounds(0.5, 2.0)


def test_values_without_skew_have_students_interval() -> None:
    values = np.random.default_rng(0).normal(size=300)
    plain = mean_interval(values, None, 0.95)
    assert skewed_mean_interval(values, np.ones(300), 0.95) == plain
    sizes = np.arange(1.0, 31.0)
    totals = sizes * np.random.default_rng(1).normal(size=30)
    plain = clustered_mean_interval(totals, sizes, 0.95)
    assert clustered_skewed_mean_interval(totals, sizes, 0.95) == plain


def test_a_long_tail_moves_the_bound_on_its_side() -> None:
    values = np.exp(np.random.default_rng(0).normal(size=300))
    plain = mean_interval(values, None, 0.95)
    found = skewed_mean_interval(values, np.ones(300), 0.95)
    assert (found.method, found.low) == ("t-skewed", plain.low)
    skew = stats.skew(values) / 300**0.5
    assert skew > 0.1
    _, most = hall_bounds(float(skew), float(stats.t.isf(0.025, 299)))
    expected = values.mean() + most * stats.sem(values)
    assert found.high == pytest.approx(expected)
    assert plain.high is not None
    assert expected > plain.high
    mirrored = skewed_mean_interval(-values, np.ones(300), 0.95)
    assert mirrored.low == pytest.approx(-expected)
    assert mirrored.high is not None
    assert -mirrored.high == pytest.approx(found.low)
    different = skewed_mean_interval(np.array([0.0, 1.0]), np.array([290.0, 10.0]), 0.9)
    assert different[:3] == pytest.approx(
        skewed_mean_interval(np.repeat([0.0, 1.0], [290, 10]), np.ones(300), 0.9)[:3]
    )


@pytest.mark.parametrize("scale", [1e-6, 1e150])
def test_the_unit_does_not_matter(scale: float) -> None:
    values = np.exp(np.random.default_rng(0).normal(size=50))
    found = skewed_mean_interval(values, np.ones(50), 0.95)
    other = skewed_mean_interval(scale * values, np.ones(50), 0.95)
    assert np.array(other[:3]) / scale == pytest.approx(found[:3], rel=1e-9)
    assert other.method == "t-skewed"


def test_few_or_equal_values_are_as_before() -> None:
    for values in ([1.0], [1.0, 1.0, 1.0], [0.0, 5.0]):
        plain = mean_interval(np.array(values), None, 0.95)
        assert skewed_mean_interval(np.array(values), np.ones(len(values)), 0.95) == (
            plain
        )
    two = np.array([1.0, 7.0]), np.array([2.0, 3.0])
    assert clustered_skewed_mean_interval(*two, 0.95) == clustered_mean_interval(
        *two, 0.95
    )


def covered(drawn: Floats, truth: float, is_plain: bool) -> float:
    count = 0
    for values in drawn:
        found = (
            mean_interval(values, None, 0.95)
            if is_plain
            else skewed_mean_interval(values, np.ones(len(values)), 0.95)
        )
        assert found.low is not None
        assert found.high is not None
        count += found.low <= truth <= found.high
    return count / len(drawn)


@pytest.mark.parametrize("sigma", [1.25, 1.5, 2.0])
def test_lognormal_means_are_covered_where_students_interval_does_not(
    sigma: float,
) -> None:
    drawn = np.exp(sigma * np.random.default_rng(8).normal(size=(600, 200)))
    truth = float(np.exp(sigma**2 / 2))
    assert covered(drawn, truth, is_plain=True) < 0.92
    assert 0.925 <= covered(drawn, truth, is_plain=False) <= 0.985


def test_skewed_means_in_clusters_are_covered() -> None:
    """Student's interval covers .89 of them."""
    random = np.random.default_rng(9)
    sizes = np.round(300 / np.arange(1, 31))
    clusters = np.repeat(np.arange(30), sizes.astype(int))
    count = 0
    for _ in range(300):
        shared = random.normal(0, np.sqrt(0.3), 30)[clusters]
        values = np.exp(shared + random.normal(0, np.sqrt(0.7), len(clusters)))
        totals = np.bincount(clusters, values).astype(np.float64)
        found = clustered_skewed_mean_interval(totals, sizes, 0.95)
        assert found.low is not None
        assert found.high is not None
        count += found.low <= np.exp(0.5) <= found.high
    assert count / 300 >= 0.93
