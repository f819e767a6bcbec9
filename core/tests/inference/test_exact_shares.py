from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, stats

from evalkit.inference.exact_shares import (
    exact_clustered_share_interval,
    exact_share_interval,
)
from evalkit.inference.intervals import clustered_share_interval, wilson

shares_in_clusters = st.lists(
    st.integers(1, 9).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))),
    min_size=1,
    max_size=20,
)


@pytest.mark.parametrize("confidence", [0.5, 0.95, 1 - 0.05 / 12, 0.9999])
@pytest.mark.parametrize(
    ("ones", "n"), [(0, 2), (1, 2), (7, 20), (20, 20), (38, 40), (999, 100_000)]
)
def test_the_exact_interval_equals_scipy(ones: int, n: int, confidence: float) -> None:
    reference = stats.binomtest(ones, n).proportion_ci(confidence, "exact")
    found = exact_share_interval(ones, n, confidence)
    assert found[:2] == pytest.approx((reference.low, reference.high), abs=1e-9)
    assert found.standard_error == pytest.approx(math.sqrt(ones * (n - ones) / n**3))
    assert found.method == "exact"


@given(shares_in_clusters, st.sampled_from([0.5, 0.8, 0.95, 0.99]))
def test_the_exact_interval_in_clusters_is_that_of_fewer_rows(
    drawn: list[tuple[int, int]], confidence: float
) -> None:
    """Beta quantiles at Korn and Graubard's (1998) effective size."""
    totals, sizes = np.array(drawn, dtype=float).T
    found = exact_clustered_share_interval(totals, sizes, confidence)
    plain = clustered_share_interval(totals, sizes, confidence)
    if len(sizes) < 2:
        assert found == plain
        return
    assert found.method == "exact-clustered"
    assert found.standard_error == plain.standard_error
    assert found.low is not None
    assert found.high is not None
    share = totals.sum() / sizes.sum()
    assert found.low <= share <= found.high
    tail = (1 - confidence) / 2
    if found.low > 0 and found.high < 1:
        # both bounds are quantiles for the same number of rows
        low, high = (
            effective_rows(share, found.low, tail),
            effective_rows(1 - share, 1 - found.high, tail),
        )
        assert low == pytest.approx(high, rel=1e-4)


def effective_rows(share: float, bound: float, tail: float) -> float:
    def excess(n: float) -> float:
        return float(stats.beta.cdf(bound, share * n, n - share * n + 1)) - tail

    return float(optimize.brentq(excess, 1e-6, 1e6))


def test_the_exact_interval_of_one_row_is_none() -> None:
    assert exact_share_interval(1, 1, 0.95).reason == "n is 1"
    one = np.array([1.0])
    assert exact_clustered_share_interval(one, one, 0.95).reason == "n is 1"


def test_it_holds_in_the_far_tail_where_wilson_does_not() -> None:
    """By adding up all outcomes of 40 rows that are right with .95."""
    level, counts = 0.95 ** (1 / 12), np.arange(41)
    chances = stats.binom(40, 0.95).pmf(counts)
    exact = [exact_share_interval(count, 40, level).high for count in counts]
    z = float(stats.norm.isf((1 - level) / 2))
    missed = [
        float(chances[np.array(highs) < 0.95].sum())
        for highs in (exact, [wilson(count / 40, 40, z)[1] for count in counts])
    ]
    assert missed[0] <= (1 - level) / 2 < 0.0022
    assert missed[1] > 0.009
