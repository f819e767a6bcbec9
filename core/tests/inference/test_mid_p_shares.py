"""Tests of intervals of shares whose rarer outcome was seen a few times."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from evalkit.inference.intervals import share_interval, wilson
from evalkit.inference.mid_p_shares import MOST_RARE, mid_p_bounds
from evalkit.inference.student_t import normal_quantile


def coverage(n: int, confidence: float, shares: NDArray[np.float64]) -> float:
    """Give the least coverage over some shares, by exact sums."""
    found = [share_interval(ones, n, confidence) for ones in range(n + 1)]
    low = np.array([interval.low for interval in found])
    high = np.array([interval.high for interval in found])
    most = np.searchsorted(low, shares, side="right") - 1
    least = np.searchsorted(high, shares, side="left")
    covered = stats.binom.cdf(most, n, shares) - stats.binom.cdf(least - 1, n, shares)
    return float(covered.min())


@pytest.mark.parametrize("n", [200, 500, 1000])
def test_interval_covers_93_percent_of_every_share(n: int) -> None:
    bounds = [
        each
        for ones in range(n + 1)
        for each in share_interval(ones, n, 0.95)[:2]
        if each is not None
    ]
    # coverage is least just outside of a bound
    edges = np.concatenate([np.array(bounds) + step for step in (-1e-9, 1e-9)])
    shares = np.concatenate([edges, np.linspace(0, 1, 1001)])
    assert coverage(n, 0.95, shares[(shares > 0) & (shares < 1)]) > 0.933


@pytest.mark.parametrize(
    ("n", "share"), [(200, 0.99915), (200, 0.9973), (500, 0.9989), (1000, 0.9990)]
)
def test_interval_covers_shares_near_1(n: int, share: float) -> None:
    assert coverage(n, 0.95, np.array([share, 1 - share])) > 0.933


@pytest.mark.parametrize("n", [10, 15, 20, 30, 50, 100])
def test_interval_of_a_small_group_covers(n: int) -> None:
    shares = np.linspace(0, 1, 2003)[1:-1]
    assert coverage(n, 0.95, shares) > 0.926


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
@pytest.mark.parametrize(
    ("ones", "n"), [(1, 2), (1, 200), (12, 5000), (3, 7), (4, 7), (199, 200)]
)
def test_bounds_halve_the_probability_of_the_count(
    ones: int, n: int, confidence: float
) -> None:
    low, high = mid_p_bounds(ones, n, confidence)
    tail = (1 - confidence) / 2
    half = stats.binom.pmf(ones, n, [low, high]) / 2
    assert stats.binom.sf(ones, n, low) + half[0] == pytest.approx(tail, rel=1e-9)
    assert stats.binom.cdf(ones - 1, n, high) + half[1] == pytest.approx(tail, rel=1e-9)


def test_other_counts_have_the_interval_of_wilson() -> None:
    z = normal_quantile(0.95)
    for ones in (0, MOST_RARE + 1, 100, 200 - MOST_RARE - 1, 200):
        found = share_interval(ones, 200, 0.95)
        assert (found.low, found.high) == wilson(ones / 200, 200, z)
