import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from row_intervals import mean_interval, proportion_interval
from scipy import optimize, stats

from evalkit.statistics.clusters import (
    cautious_degrees,
    cluster_sums,
    degrees_of_freedom,
    intraclass_correlation,
)
from evalkit.statistics.intervals import (
    EXTREME_CORRELATION,
    SIZES_GO_WITH_SCORES,
    Interval,
    Scale,
    auroc_interval,
    delta_interval,
    mean_of_intervals,
    wilson,
    without_interval,
)
from evalkit.statistics.student_t import f_tail

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


def hanley_mcneil(area: float, positives: int, negatives: int) -> float:
    """Their variance with the mean of both sample sizes, as Newcombe's method 5 has."""
    mean = (positives + negatives) / 2
    one, other = area / (2 - area), 2 * area**2 / (1 + area)
    spread = (mean - 1) * (one - area**2) + (mean - 1) * (other - area**2)
    return (area * (1 - area) + spread) / (positives * negatives)


@pytest.mark.parametrize(
    ("value", "positives", "negatives"),
    [(0.5, 20, 30), (0.85, 12, 200), (0.97, 200, 9), (0.04, 30, 30)],
)
def test_auroc_bounds_are_where_the_value_is_z_errors_away(
    value: float, positives: int, negatives: int
) -> None:
    found = auroc_interval(value, positives, negatives, 0.95)

    def distance(area: float) -> float:
        error = math.sqrt(hanley_mcneil(area, positives, negatives))
        return abs(value - area) / error - stats.norm.isf(0.025)

    low = optimize.brentq(distance, 1e-9, value)
    high = optimize.brentq(distance, value, 1 - 1e-9)
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-9)
    assert found.method == "newcombe"
    assert bool(found.flags) == (min(positives, negatives) < 20)


@pytest.mark.parametrize(("value", "end"), [(1.0, 1), (0.0, 0)])
def test_an_auroc_at_a_bound_has_an_interval(value: float, end: int) -> None:
    found = auroc_interval(value, 25, 40, 0.95)
    assert (found.low, found.high)[end] == value
    assert 0.85 < max(found.low or 0, 1 - (found.high or 0)) < 0.99
    none = auroc_interval(0.5, 0, 40, 0.95)
    assert none == without_interval("all examples are of one class")


def delta_of(
    scores: Floats, scale: Scale, clusters: Integers | None = None
) -> Interval:
    value, n = float(scores.mean()), len(scores)
    influences, sizes = (scores - value) / n, np.ones(n)
    if clusters is not None:
        totals, sizes = cluster_sums(scores, clusters)
        influences = (totals - value * sizes) / n
    return delta_interval(
        value, influences, sizes, 0.95, clustered=clusters is not None, scale=scale
    )


@pytest.mark.parametrize("is_clustered", [False, True])
def test_the_delta_interval_is_students_on_its_scale(is_clustered: bool) -> None:
    random = np.random.default_rng(5)
    scores, clusters = random.exponential(size=60), None
    student = mean_interval(scores, None, 0.95)
    if is_clustered:
        clusters = np.arange(60) // 3
        student = mean_interval(scores, clusters, 0.95)
    assert student.low is not None
    value, half = scores.mean(), scores.mean() - student.low
    suffix = "-clustered" if is_clustered else ""
    plain, log = (delta_of(scores, scale, clusters) for scale in ("plain", "log"))
    assert plain[:3] == pytest.approx(student[:3], rel=1e-9)
    assert (plain.method, log.method) == (f"delta{suffix}", f"delta-log{suffix}")
    bounds = value * np.exp([-half / value, half / value])
    assert (log.low, log.high) == pytest.approx(tuple(bounds), rel=1e-9)


def test_the_interval_of_a_correlation_is_that_of_fishers_z() -> None:
    random = np.random.default_rng(6)
    n = 4_000
    x = random.normal(size=n)
    y = 0.8 * x + 0.6 * random.normal(size=n)
    x, y = (x - x.mean()) / x.std(), (y - y.mean()) / y.std()
    value = float((x * y).mean())
    influences = (x * y - value * (x**2 + y**2) / 2) / n
    found = delta_interval(
        value, influences, np.ones(n), 0.95, clustered=False, scale="fisher-z"
    )
    expected = stats.pearsonr(x, y).confidence_interval()
    assert (found.low, found.high) == pytest.approx(tuple(expected), abs=0.001)
    assert found.method == "delta-fisher-z"
    perfect = delta_interval(
        1.0, influences, np.ones(n), 0.95, clustered=False, scale="fisher-z"
    )
    assert perfect == without_interval(EXTREME_CORRELATION)


def test_a_ratio_of_zero_has_the_bound_of_a_share() -> None:
    found = delta_interval(
        0.0, np.zeros(30), np.ones(30), 0.95, clustered=False, scale="log"
    )
    assert found.high == pytest.approx(wilson(0.0, 30, stats.norm.isf(0.025))[1])
    assert (found.low, found.method, len(found.flags)) == (0.0, "wilson", 1)


def test_one_example_that_moves_a_score_is_flagged() -> None:
    scores = np.r_[np.linspace(1, 2, 39), 60.0]
    [flag] = delta_of(scores, "log").flags
    assert flag == "one example moves the score by half a standard error or more"
    assert delta_of(scores[:-1], "log").flags == ()
    assert delta_of(scores[:9], "log").flags == ("fewer than 10 examples",)


def test_the_mean_of_independent_estimates_has_the_interval_of_mover() -> None:
    """Zou and Donner (2008): the roots of summed squares of the parts' distances."""
    parts = [Interval(0.2, 0.6, 0.1, "wilson"), Interval(0.45, 0.55, 0.025, "wilson")]
    found = mean_of_intervals([0.3, 0.5], parts)
    assert found.low == pytest.approx(0.4 - math.hypot(0.1, 0.05) / 2)
    assert found.high == pytest.approx(0.4 + math.hypot(0.3, 0.05) / 2)
    assert found.standard_error == pytest.approx(math.hypot(0.1, 0.025) / 2)
    none = mean_of_intervals([0.3, 0.5], [parts[0], without_interval("n is 1")])
    assert none == without_interval("a part has no interval: n is 1")


def test_clusters_whose_size_goes_with_their_score_are_flagged() -> None:
    sizes = np.repeat(np.arange(1, 31), np.arange(1, 31))
    clusters = sizes
    flagged = mean_interval(sizes + 0.1 * np.arange(len(sizes)) % 1, clusters, 0.95)
    assert flagged.flags == (SIZES_GO_WITH_SCORES,)
    random = np.random.default_rng(7)
    assert mean_interval(random.normal(size=len(sizes)), clusters, 0.95).flags == ()


@given(st.floats(0, 50), st.integers(1, 40), st.integers(1, 5_000))
def test_the_tail_of_f_is_that_of_scipy(value: float, one: int, other: int) -> None:
    expected = stats.f.sf(value, one, other)
    assert f_tail(value, one, other) == pytest.approx(expected, rel=1e-8, abs=1e-300)


@pytest.mark.parametrize(("share", "deviation"), [(0.5, 0.5), (0.8, 1.0), (0.95, 1.0)])
def test_shares_by_unequal_weights_are_covered(share: float, deviation: float) -> None:
    random, covered = np.random.default_rng(3), 0
    for _ in range(1000):
        weights = random.lognormal(sigma=deviation, size=100)
        weights /= weights.sum()
        right = random.random(100) < share
        value = float(weights @ right)
        parts = value, weights * (right - value), np.ones(100), 0.95
        found = delta_interval(*parts, clustered=False, scale="share")
        assert found.method == "wilson" or value == pytest.approx(1)
        covered += found.low is None or (found.low <= share <= (found.high or 0))
    assert covered >= 930
