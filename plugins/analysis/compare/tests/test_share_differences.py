"""Intervals of drops of shares, against closed forms and simulated sets."""

from __future__ import annotations

import numpy as np
import pytest
from row_intervals import mean_interval
from scipy import stats

from evalkit_analysis_compare.effective_pairs import share_difference_interval


@pytest.mark.parametrize("n", [10, 50, 400])
def test_without_a_change_the_bounds_are_those_of_a_share_of_nothing(n: int) -> None:
    """Tango's statistic is then n d / sqrt(n d (1 - d)) at any d above 0."""
    square = stats.norm.ppf(0.975) ** 2
    found = share_difference_interval(np.zeros(n), None, 0.95)
    assert found.method == "tango"
    assert found.high == pytest.approx(square / (n + square))
    assert found.low == pytest.approx(-square / (n + square))


def test_losses_make_the_drop_positive() -> None:
    differences = np.array([1.0] * 9 + [-1.0] * 2 + [0.0] * 89)
    found = share_difference_interval(differences, None, 0.95)
    assert 0 < found.low < 0.07 < found.high
    mirrored = share_difference_interval(-differences, None, 0.95)
    assert mirrored.low == pytest.approx(-found.high)


def test_clusters_and_means_of_copies_count_as_fewer_pairs() -> None:
    halves = np.array([0.5, -0.5, 0.0, 0.0] * 10)
    found = share_difference_interval(halves, None, 0.95)
    assert found.method == "tango-effective"
    clusters = np.arange(40) // 4
    losses = np.repeat([1.0, 0.0], [8, 32])
    alone = share_difference_interval(losses, None, 0.95)
    together = share_difference_interval(losses, clusters, 0.95)
    assert together.method == "tango-clustered"
    assert together.high - together.low > 1.5 * (alone.high - alone.low)
    assert share_difference_interval(losses, clusters * 0, 0.95).low is None
    assert share_difference_interval(np.ones(1), None, 0.95).low is None


def test_few_changes_are_covered_where_students_interval_misses_them() -> None:
    """Two of 100 answers change, nearly always for the worse."""
    random = np.random.default_rng(11)
    kinds = random.choice([1.0, -1.0, 0.0], p=[0.018, 0.002, 0.98], size=(400, 100))
    covered = {share_difference_interval: 0, mean_interval: 0}
    for differences in kinds:
        for compute in covered:
            found = compute(differences, None, 0.95)
            if found.low is not None and found.high is not None:
                covered[compute] += found.low <= 0.016 <= found.high
    assert covered[share_difference_interval] / 400 >= 0.93
    assert covered[mean_interval] / 400 < 0.9
