"""Tango's interval of shares and clusters."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from evalkit_analysis_compare.effective_pairs import effective_interval, effective_pairs
from evalkit_analysis_compare.paired_shares import tango_bounds


def test_zeros_and_ones_count_as_they_are() -> None:
    differences = np.repeat([1.0, -1.0, 0.0], [30, 20, 150])
    found = effective_pairs(differences, None)
    assert found is not None
    # the sample variance has n - 1, so n is a little less
    assert (found.only_first, found.only_second, found.n) == pytest.approx(
        (30, 20, 200), rel=0.006
    )
    assert found.error == pytest.approx(stats.sem(differences), rel=1e-12)
    assert (found.degrees, found.method) == (199, "tango-effective")


def test_rows_that_are_all_alike_in_clusters_count_once() -> None:
    of_clusters = np.repeat([1.0, -1.0, 0.0], [30, 20, 150])
    clusters = np.arange(200).repeat(4)
    found = effective_pairs(of_clusters.repeat(4), clusters)
    assert found is not None
    assert (found.n, found.degrees) == pytest.approx((200, 199), rel=0.006)
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


def clustered_gains(random: np.random.Generator, sizes: np.ndarray) -> np.ndarray:
    """Draw a difference for each row, .1 on average, of which clusters have more."""
    shares = random.dirichlet([0.6, 0.3, 2.1], len(sizes)).repeat(sizes, axis=0)
    kind = random.random(int(sizes.sum()))
    gain, loss = shares[:, 0], shares[:, 0] + shares[:, 1]
    return np.where(kind < gain, 1.0, np.where(kind < loss, -1.0, 0.0))


@pytest.mark.parametrize(
    "sizes",
    [np.array([290] + [10] * 29), np.ceil(400 / np.arange(1, 101)).astype(int)],
    ids=["half", "zipf"],
)
def test_unequal_clusters_are_covered(sizes: np.ndarray) -> None:
    """Of 200 sets .94 at least; t(G - 1) and the plain sums cover .83 and .88."""
    random = np.random.default_rng(8)
    clusters = np.arange(len(sizes)).repeat(sizes)
    covered = 0
    for _ in range(200):
        pairs = effective_pairs(clustered_gains(random, sizes), clusters)
        found = effective_interval(pairs, 0.95)
        covered += (found.low or 0.0) <= 0.1 <= (found.high or 0.0)
    assert covered >= 188


def test_the_error_of_unequal_clusters_is_that_of_their_mean() -> None:
    differences = np.random.default_rng(2).choice([-1.0, 0.0, 1.0], 120)
    clusters = np.repeat([0, 1, 2, 3], [60, 30, 20, 10])
    found = effective_pairs(differences, clusters)
    assert found is not None
    # residuals of clusters by 1 - share, the diagonal of the hat matrix
    mean = differences.mean()
    squares = sum(
        (differences[clusters == each] - mean).sum() ** 2 / (1 - size / 120)
        for each, size in enumerate((60, 30, 20, 10))
    )
    plain = stats.sem(differences)
    assert found.error == pytest.approx(max(plain, math.sqrt(squares) / 120), rel=1e-12)
    assert 1 <= found.degrees < 3
