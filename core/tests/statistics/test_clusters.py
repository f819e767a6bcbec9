"""The formulas of the sizes against full matrices, as Bell and McCaffrey state them."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import linalg, stats

from evalkit.statistics.clusters import (
    cautious_degrees,
    clustered_error,
    degrees_of_freedom,
    describe_sizes,
    effective_number,
    intraclass_correlation,
)
from evalkit.statistics.intervals import (
    clustered_mean_interval,
    clustered_share_interval,
)

Floats = NDArray[np.float64]
many_sizes = st.lists(st.integers(1, 9), min_size=2, max_size=9)


def adjusted_rows(sizes: list[int]) -> tuple[Floats, list[Floats], list[slice]]:
    """Give I - H, and of each cluster the rows of CR2's G, by matrices."""
    n = sum(sizes)
    rest = np.eye(n) - np.full((n, n), 1 / n)
    ends = np.cumsum([0, *sizes])
    parts = [slice(a, b) for a, b in pairwise(ends)]
    columns = []
    for part in parts:
        adjustment = linalg.inv(linalg.sqrtm(rest[part, part]))
        columns.append(rest[:, part] @ adjustment @ np.full(part.stop - part.start, 1))
    return rest, columns, parts


@given(many_sizes, st.floats(0, 1))
def test_degrees_of_freedom_equal_those_of_full_matrices(
    sizes: list[int], correlation: float
) -> None:
    n = sum(sizes)
    _, columns, parts = adjusted_rows(sizes)
    covariance = np.eye(n)
    for part in parts:
        covariance[part, part] += correlation * (1 - np.eye(part.stop - part.start))
    g = np.column_stack(columns) / n
    gram = g.T @ covariance @ g
    expected = np.trace(gram) ** 2 / np.sum(gram**2)
    found = degrees_of_freedom(np.array(sizes, float), correlation)
    assert found == pytest.approx(expected, rel=1e-6)
    assert 1 <= found <= len(sizes) - 1


@given(many_sizes, st.integers(0, 9))
def test_the_error_equals_that_of_full_matrices(sizes: list[int], seed: int) -> None:
    values = np.random.default_rng(seed).normal(size=sum(sizes))
    rest, _, parts = adjusted_rows(sizes)
    residuals = rest @ values
    squares = 0.0
    for part in parts:
        adjusted = linalg.inv(linalg.sqrtm(rest[part, part])) @ residuals[part]
        squares += float(np.real(adjusted.sum())) ** 2
    sums = np.array([residuals[part].sum() for part in parts])
    found = clustered_error(sums, np.array(sizes, float))
    assert found == pytest.approx(np.sqrt(squares) / sum(sizes), rel=1e-6)


@given(st.integers(2, 60), st.integers(1, 50), st.floats(0, 1))
def test_equal_clusters_have_the_degrees_and_the_error_of_their_means(
    count: int, size: int, correlation: float
) -> None:
    sizes = np.full(count, float(size))
    assert degrees_of_freedom(sizes, correlation) == pytest.approx(count - 1)
    assert cautious_degrees(sizes, correlation) == pytest.approx(count - 1)
    means = np.random.default_rng(count).normal(size=count)
    found = clustered_mean_interval(means * size, sizes, 0.95)
    low, high = stats.t.interval(
        0.95, count - 1, loc=means.mean(), scale=stats.sem(means)
    )
    assert (found.low, found.high) == pytest.approx((low, high), rel=1e-6)


def test_the_error_is_without_bias_where_rows_are_independent() -> None:
    sizes = [20, 3, 3, 2, 2, 1, 1]
    random = np.random.default_rng(1)
    values = random.normal(size=(20_000, sum(sizes)))
    residuals = values - values.mean(axis=1, keepdims=True)
    starts = np.cumsum([0, *sizes[:-1]])
    sums = np.add.reduceat(residuals, starts, axis=1)
    squares = [clustered_error(row, np.array(sizes, float)) ** 2 for row in sums]
    assert np.mean(squares) == pytest.approx(1 / sum(sizes), rel=0.03)


def test_a_correlation_is_found_again() -> None:
    random = np.random.default_rng(2)
    sizes = random.integers(1, 12, 3_000)
    clusters = np.repeat(np.arange(3_000), sizes)
    shared = random.normal(0, np.sqrt(0.3), 3_000)[clusters]
    values = 2 + shared + random.normal(0, np.sqrt(0.7), len(clusters))
    totals, squares = (np.bincount(clusters, v) for v in (values, values**2))
    found = intraclass_correlation(totals, squares, sizes.astype(float))
    assert found == pytest.approx(0.3, abs=0.03)


def test_rows_that_are_all_alike_correlate_fully() -> None:
    sizes, totals = np.array([3.0, 2.0, 4.0]), np.array([3.0, 0.0, 4.0])
    assert intraclass_correlation(totals, totals, sizes) == 1
    ones = np.ones(3)
    assert intraclass_correlation(ones * 0.4, ones * 0.16, ones) == 1


@pytest.mark.parametrize(
    ("sizes", "largest", "effective", "warns"),
    [
        ([290.0] + [10.0] * 29, 0.5, 3.87, True),
        ([25.0] + [10.0] * 10, 0.2, 9.62, True),
        ([24.0] + [10.0] * 10, 24 / 124, 9.76, True),
        ([10.0] * 10, 0.1, 10.0, False),
        ([10.0] * 4, 0.25, 4.0, True),
        ([10.0], 1.0, 1.0, True),
    ],
)
def test_a_cluster_with_a_fifth_of_the_examples_or_few_clusters_are_flagged(
    sizes: list[float], largest: float, effective: float, warns: bool
) -> None:
    found = describe_sizes(np.array(sizes))
    assert found.largest == pytest.approx(largest)
    assert found.effective == pytest.approx(effective, abs=0.005)
    assert (found.warning is not None) == warns


def in_clusters(
    random: np.random.Generator, sizes: Floats, correlation: float
) -> Floats:
    """Draw the totals of normal values in clusters."""
    shared = random.normal(0, np.sqrt(correlation), len(sizes))
    own = random.normal(size=len(sizes)) * np.sqrt((1 - correlation) / sizes)
    totals: Floats = sizes * (shared + own)
    return totals


@pytest.mark.parametrize("kind", ["half", "lognormal", "zipf"])
def test_means_in_unequal_clusters_are_covered(kind: str) -> None:
    """With t(G - 1) and no adjustment these covered .73, .84 and .88."""
    random = np.random.default_rng(6)
    covered = 0
    for _ in range(400):
        sizes = {
            "half": np.array([290.0] + [10.0] * 29),
            "lognormal": np.ceil(np.exp(random.normal(2, 1.5, 30))),
            "zipf": np.round(300 / np.arange(1, 31)),
        }[kind]
        found = clustered_mean_interval(in_clusters(random, sizes, 0.3), sizes, 0.95)
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= 0 <= found.high
    assert 0.915 <= covered / 400 <= 0.985


def test_shares_in_unequal_clusters_are_covered() -> None:
    """With t(G - 1) and no adjustment they covered .79."""
    random = np.random.default_rng(7)
    sizes = np.array([290.0] + [10.0] * 29)
    covered = 0
    for _ in range(400):
        rates = random.beta(0.9 * 7 / 3, 0.1 * 7 / 3, 30)
        totals = random.binomial(sizes.astype(int), rates).astype(float)
        found = clustered_share_interval(totals, sizes, 0.95)
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= 0.9 <= found.high
    assert covered / 400 >= 0.93


@given(many_sizes)
def test_the_effective_number_is_that_of_equal_shares(sizes: list[int]) -> None:
    given_sizes = np.array(sizes, float)
    shares = given_sizes / given_sizes.sum()
    expected = 1 / sum(share**2 for share in shares.tolist())
    assert effective_number(given_sizes) == pytest.approx(expected)
    assert describe_sizes(given_sizes).effective == effective_number(given_sizes)
    assert 1 <= effective_number(given_sizes) <= len(sizes) + 1e-9
