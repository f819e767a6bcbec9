"""Tango's interval of shares and clusters."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from evalkit.effective_pairs import effective_interval, effective_pairs
from evalkit.paired_shares import tango_bounds


def test_zeros_and_ones_count_as_they_are() -> None:
    differences = np.repeat([1.0, -1.0, 0.0], [30, 20, 150])
    found = effective_pairs(differences, None)
    assert found is not None
    # the sample variance has n - 1, so n is a little less
    assert (found.only_first, found.only_second, found.n) == pytest.approx(
        (30, 20, 200), rel=0.006
    )
    assert found.error == pytest.approx(stats.sem(differences), rel=1e-12)
    assert (found.units, found.method) == (200, "tango-effective")


def test_rows_that_are_all_alike_in_clusters_count_once() -> None:
    of_clusters = np.repeat([1.0, -1.0, 0.0], [30, 20, 150])
    clusters = np.arange(200).repeat(4)
    found = effective_pairs(of_clusters.repeat(4), clusters)
    assert found is not None
    assert (found.n, found.units) == (pytest.approx(200, rel=0.006), 200)
    interval = effective_interval(found, 0.95)
    wanted = tango_bounds(30, 20, 200, stats.t.ppf(0.975, 199))
    assert (interval.low, interval.high) == pytest.approx(wanted, abs=4e-4)
    assert interval.method == "tango-clustered"
    assert interval.standard_error == pytest.approx(stats.sem(of_clusters), rel=1e-12)


def test_clusters_of_one_are_rows() -> None:
    differences = np.random.default_rng(1).choice([0.0, 0.5, -1.0], 80)
    alone = effective_pairs(differences, None)
    clustered = effective_pairs(differences, np.arange(80))
    assert alone is not None
    assert clustered is not None
    assert clustered[:5] == pytest.approx(alone[:5], rel=1e-12)


def test_halves_tell_more_than_ones() -> None:
    halves = effective_pairs(np.repeat([0.5, -0.5, 0.0], [40, 40, 40]), None)
    assert halves is not None
    # variance 1/6, that of ones with the same gains and losses 1/3
    assert halves.n == pytest.approx(120 * 2, rel=0.03)


@pytest.mark.parametrize("clusters", [None, np.arange(60) // 4])
def test_no_difference_at_all(clusters: np.ndarray | None) -> None:
    found = effective_pairs(np.zeros(60), clusters)
    assert found is not None
    assert found.n == (60 if clusters is None else 15)
    quantile = stats.t.ppf(0.975, found.n - 1)
    interval = effective_interval(found, 0.95)
    bound = quantile**2 / (found.n + quantile**2)
    assert (interval.low, interval.high) == pytest.approx((-bound, bound))


def test_one_unit_has_no_interval() -> None:
    assert effective_pairs(np.ones(1), None) is None
    found = effective_interval(effective_pairs(np.ones(5), np.zeros(5, int)), 0.95)
    assert found.reason == "all examples are in one cluster"


@given(
    st.lists(st.integers(-4, 4), min_size=2, max_size=40), st.booleans(), st.integers(1)
)
def test_laws(quarters: list[int], clustered: bool, seed: int) -> None:
    differences = np.array(quarters) / 4
    random = np.random.default_rng(seed)
    clusters = random.integers(0, 5, len(quarters)) if clustered else None
    found = effective_pairs(differences, clusters)
    if found is None:
        return
    interval = effective_interval(found, 0.95)
    assert interval.low is not None
    assert interval.high is not None
    mean = differences.mean()
    assert -1 <= interval.low <= mean + 1e-12
    assert mean - 1e-12 <= interval.high <= 1
    assert interval.high - interval.low > 1e-6
    turned = effective_interval(effective_pairs(-differences, clusters), 0.95)
    assert (turned.low, turned.high) == pytest.approx((-interval.high, -interval.low))


def test_few_differing_rows_are_covered() -> None:
    """Of 500 sets where 2 % of 100 rows differ by up to 1, .95 cover; t covers .77."""
    random = np.random.default_rng(5)
    covered = by_student = 0
    for _ in range(500):
        gains = np.where(random.random(100) < 0.02, random.random(100), 0.0)
        found = effective_interval(effective_pairs(gains, None), 0.95)
        covered += (found.low or 0.0) <= 0.01 <= (found.high or 0.0)
        half = stats.t.ppf(0.975, 99) * gains.std(ddof=1) / math.sqrt(100)
        by_student += abs(gains.mean() - 0.01) <= half
    assert covered >= 470
    assert by_student < 420
