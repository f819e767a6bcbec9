from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from row_intervals import mean_interval, proportion_interval
from scipy import stats

from evalkit.inference.cluster_sizes import (
    cautious_degrees,
    degrees_of_freedom,
    intraclass_correlation,
)
from evalkit.inference.intervals import (
    wilson,
    without_interval,
)

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

CONFIDENCES = st.sampled_from([0.5, 0.8, 0.9, 0.95, 0.99])
values = st.floats(-1e6, 1e6).map(lambda x: round(x, 3))


@st.composite
def clustered(
    draw: st.DrawFn, elements: st.SearchStrategy[float]
) -> tuple[Floats, Integers]:
    rows = draw(
        st.lists(st.tuples(elements, st.integers(0, 6)), min_size=2, max_size=40)
    )
    scores, clusters = zip(*rows, strict=True)
    return np.array(scores, dtype=float), np.array(clusters, dtype=np.int64)


def clustered_error(scores: Floats, clusters: Integers) -> float:
    """Derive the cluster-robust standard error (CR2) by plain loops."""
    n, mean = len(scores), sum(scores) / len(scores)
    squares = [
        sum(s - mean for s, c in zip(scores, clusters, strict=True) if c == name) ** 2
        / (1 - clusters.tolist().count(name) / n)
        for name in set(clusters.tolist())
    ]
    return float(math.sqrt(sum(squares)) / n)


def sizes_of(clusters: Integers) -> Floats:
    return np.unique(clusters, return_counts=True)[1].astype(float)


@given(st.integers(2, 500), st.data(), CONFIDENCES)
def test_wilson_equals_scipy(n: int, data: st.DataObject, confidence: float) -> None:
    right = data.draw(st.integers(0, n))
    scores = np.array([1.0] * right + [0.0] * (n - right))
    found = proportion_interval(scores, None, confidence)
    test = stats.binomtest(right, n)
    expected = test.proportion_ci(confidence_level=confidence, method="wilson")
    assert found.low == pytest.approx(expected.low, abs=1e-12)
    assert found.high == pytest.approx(expected.high, abs=1e-12)
    share = right / n
    assert found.standard_error == pytest.approx(math.sqrt(share * (1 - share) / n))
    assert found.method == "wilson"


@pytest.mark.parametrize(
    ("share", "bounds"), [(0.0, (0.0, 0.2775)), (1.0, (0.7225, 1.0))]
)
def test_wilson_ends_exactly_at_zero_and_one(
    share: float, bounds: tuple[float, float]
) -> None:
    low, high = wilson(share, 10, 1.959963984540054)
    assert (round(low, 4), round(high, 4)) == bounds
    assert share in (low, high)


@given(clustered(st.sampled_from([0.0, 1.0])), CONFIDENCES)
def test_clustered_wilson_equals_its_formula(
    rows: tuple[Floats, Integers], confidence: float
) -> None:
    scores, clusters = rows
    n, count = len(scores), len(set(clusters.tolist()))
    found = proportion_interval(scores, clusters, confidence)
    if count < 2:
        assert found == without_interval("all examples are in one cluster")
        return
    share = scores.sum() / n
    plain = math.sqrt(share * (1 - share) / n)
    error = clustered_error(scores, clusters)
    # the estimated design effect, averaged with that of clusters whose rows are alike
    size = n / count
    effect = size if plain == 0 else (error / plain) ** 2
    rarer = len(set(clusters[scores == (0.0 if share > 0.5 else 1.0)].tolist()))
    alike = [len(set(scores[clusters == one])) == 1 for one in set(clusters.tolist())]
    weight = sum(alike) / count / (rarer + 1)
    effective = n / ((1 - weight) * max(1, effect) + weight * max(size, effect))
    sums = np.array([scores[clusters == one].sum() for one in np.unique(clusters)])
    sizes = sizes_of(clusters)
    correlation = intraclass_correlation(sums, sums, sizes)
    z = stats.t.isf((1 - confidence) / 2, cautious_degrees(sizes, correlation))
    # Wilson's bounds are where (share - p)^2 = z^2 p (1 - p) / n
    a, b, c = 1 + z**2 / effective, -(2 * share + z**2 / effective), share**2
    low, high = sorted(np.roots([a, b, c]).real)
    assert found.low == pytest.approx(max(low, 0), abs=1e-7)
    assert found.high == pytest.approx(min(high, 1), abs=1e-7)
    assert found.standard_error == pytest.approx(max(error, plain))
    assert found.method == "wilson-clustered"


def test_clusters_of_equal_rows_count_as_one_example_each() -> None:
    scores = np.array([1.0, 0.0, 1.0, 1.0, 0.0, 1.0])
    plain = proportion_interval(scores, np.arange(6), 0.95)
    tenfold = proportion_interval(
        np.repeat(scores, 10), np.repeat(np.arange(6), 10), 0.95
    )
    singles = stats.t.isf(0.025, 5)
    assert tenfold.standard_error == pytest.approx(np.std(scores, ddof=1) / 6**0.5)
    # the effective n is that of six rows, but for the factor G / (G - 1)
    assert (tenfold.low, tenfold.high) == pytest.approx(wilson(4 / 6, 5, singles))
    assert plain.high is not None
    assert tenfold.high == pytest.approx(plain.high, abs=0.02)


@given(st.lists(values, min_size=2, max_size=50), CONFIDENCES)
def test_t_interval_equals_scipy(scores: list[float], confidence: float) -> None:
    found = mean_interval(np.array(scores), None, confidence)
    error = float(stats.sem(scores))
    if len(set(scores)) == 1:
        assert found == without_interval("all values are equal")
        return
    low, high = stats.t.interval(
        confidence, len(scores) - 1, loc=np.mean(scores), scale=error
    )
    scale = max(abs(low), abs(high))
    assert found.low == pytest.approx(low, rel=1e-9, abs=1e-9 * scale)
    assert found.high == pytest.approx(high, rel=1e-9, abs=1e-9 * scale)
    assert found.standard_error == pytest.approx(error, rel=1e-9, abs=1e-15 * scale)
    assert found.method == "t"


@given(clustered(values), CONFIDENCES)
def test_clustered_t_interval_equals_a_plain_derivation(
    rows: tuple[Floats, Integers], confidence: float
) -> None:
    scores, clusters = rows
    count = len(set(clusters.tolist()))
    found = mean_interval(scores, clusters, confidence)
    if count < 2:
        assert found == without_interval("all examples are in one cluster")
        return
    error, mean = clustered_error(scores, clusters), scores.sum() / len(scores)
    scale = max(1.0, float(np.abs(scores).sum()))
    if found.reason:
        assert found.reason == "all values are equal"
        assert error <= 1e-9 * scale
        return
    degrees = degrees_of_freedom(sizes_of(clusters))
    half = stats.t.isf((1 - confidence) / 2, degrees) * error
    assert found.standard_error == pytest.approx(error, abs=1e-12 * scale)
    assert found.low == pytest.approx(mean - half, abs=1e-9 * scale)
    assert found.high == pytest.approx(mean + half, abs=1e-9 * scale)
    assert found.method == "t-clustered"


@given(clustered(values))
def test_names_of_clusters_and_order_of_rows_do_not_matter(
    rows: tuple[Floats, Integers],
) -> None:
    scores, clusters = rows
    renamed = 1000 - 7 * clusters
    found = mean_interval(scores, clusters, 0.95)
    again = mean_interval(scores[::-1], renamed[::-1], 0.95)
    scale = max(1.0, float(np.abs(scores).sum()))
    assert (found.low is None) == (again.low is None)
    if found.low is not None:
        assert again[:3] == pytest.approx(found[:3], abs=1e-9 * scale)


@pytest.mark.parametrize("function", [proportion_interval, mean_interval])
@pytest.mark.parametrize("n", [0, 1])
def test_one_example_has_no_interval(function: type, n: int) -> None:
    assert function(np.ones(n), None, 0.95) == without_interval("n is 1")
