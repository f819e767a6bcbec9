from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray
from scipy import stats

from evalkit import Metric
from evalkit.inference.cluster_sizes import (
    cautious_degrees,
    intraclass_correlation,
)
from evalkit.inference.intervals import Interval
from evalkit.inference.largest_differences import pair_differences
from evalkit.scoring import group_covariance
from evalkit.scoring.aggregates import DESCRIBED
from evalkit.scoring.evidence import Evidence
from evalkit.scoring.records import MetricScores

from ..engine_tables import (
    BootstrapMean,
    Mean,
    Ratio,
    Share,
    aggregate,
    main_score,
    make_groups,
    make_table,
    scored,
)

Floats = NDArray[np.float64]


class LowerIsBetter(Mean):
    higher_is_better = False


class NoDirection(Mean):
    higher_is_better = None


class NoInterval(Mean):
    interval = "none"


def disjoint_tags(n: int, groups: int, facet: str = "f") -> list[list[str]]:
    return [[f"{facet}:{chr(97 + i % groups)}"] for i in range(n)]


def overlapping_tags(n: int, seed: int = 0) -> list[list[str]]:
    random = np.random.default_rng(seed)
    return [[f"f:{tag}" for tag in "abc" if random.random() < 0.5] for _ in range(n)]


def means_of(
    values: Sequence[float], tags: Sequence[Sequence[str]]
) -> dict[str, float]:
    names = sorted({tag for one in tags for tag in one})
    return {
        name: float(
            np.mean([v for v, one in zip(values, tags, strict=True) if name in one])
        )
        for name in names
    }


def macro_error(
    values: Sequence[float],
    tags: Sequence[Sequence[str]],
    units: Sequence[Any] | None = None,
) -> tuple[float, float]:
    """The standard error of a mean over tags that may overlap, and its degrees.

    A unit's influence on the mean of tag t is psi_ut = sum over its examples of
    (s_i - m_t) / n_t, with the variance V_t = sum_u psi_ut² / (1 - n_ut / n_t). The
    sum of all V_t / T² is scaled by sum_u (sum_t psi_ut)² / sum_ut psi_ut². Units that
    are in one tag each have the degrees of Satterthwaite; others count by their
    weights.
    """
    means = means_of(values, tags)
    names = range(len(values)) if units is None else units
    places = {unit: place for place, unit in enumerate(dict.fromkeys(names))}
    psi = np.zeros((len(places), len(means)))
    weights = np.zeros((len(places), len(means)))
    for i, unit in enumerate(names):
        for place, (tag, mean) in enumerate(means.items()):
            if tag in tags[i]:
                size = sum(tag in one for one in tags)
                psi[places[unit], place] += (values[i] - mean) / size
                weights[places[unit], place] += 1 / size
    count = np.count_nonzero(weights, axis=0)
    own = (psi**2 / (1 - weights)).sum(axis=0)
    ratio = (psi.sum(axis=1) ** 2).sum() / (psi**2).sum()
    error = math.sqrt(own.sum() * ratio) / len(means)
    if (np.count_nonzero(weights, axis=1) <= 1).all():
        return error, own.sum() ** 2 / (own**2 / (count - 1)).sum()
    of_units = weights.sum(axis=1) ** 2
    return error, of_units.sum() ** 2 / (of_units**2).sum() - 1


def assert_student(
    interval: Interval, value: float, error: float, degrees: float
) -> None:
    assert interval.standard_error == pytest.approx(error, rel=1e-6)
    half = stats.t.isf(0.025, math.floor(degrees)) * error
    found = (interval.low, interval.high)
    assert found == pytest.approx((value - half, value + half), rel=1e-6)


# macro ---------------------------------------------------------------------------


@pytest.mark.parametrize("metric", [Mean, BootstrapMean, Share])
@pytest.mark.parametrize("is_clustered", [False, True])
def test_macro_over_overlapping_tags_equals_the_influence_formula(
    metric: Any, is_clustered: bool
) -> None:
    random = np.random.default_rng(1)
    # scores without skew
    values = random.random(size=120).tolist()
    tags = overlapping_tags(120)
    clusters = random.integers(0, 30, 120).tolist() if is_clustered else None
    found = scored(metric, make_table(values, clusters=clusters), make_groups(tags))
    macro = aggregate(found, "macro:f")
    value = float(np.mean(list(means_of(values, tags).values())))
    error, units = macro_error(values, tags, clusters)
    assert macro.value == pytest.approx(value, rel=1e-12)
    assert_student(macro.interval, value, error, units)
    method = "t-facet-clustered" if is_clustered else "t-facet"
    assert macro.interval.method == method
    assert macro.n == sum(bool(one) for one in tags)
    tagged = [i for i, one in enumerate(tags) if one]
    clusters_of_facet = {clusters[i] for i in tagged} if clusters else None
    assert macro.n_clusters == (len(clusters_of_facet) if clusters_of_facet else None)
    assert (macro.tag, macro.reason, macro.flag, macro.p_value) == (None,) * 4


@pytest.mark.parametrize("is_clustered", [False, True])
def test_macro_over_overlapping_tags_agrees_with_a_bootstrap(
    is_clustered: bool,
) -> None:
    random = np.random.default_rng(2)
    n = 200
    effects = random.normal(size=50)
    clusters = random.integers(0, 50, n)
    values = effects[clusters] + random.normal(size=n)
    tags = overlapping_tags(n, 3)
    units = clusters if is_clustered else np.arange(n)
    is_member = np.array(
        [[f"f:{t}" in one for t in "abc"] for one in tags], dtype=float
    )
    totals = np.array(
        [
            (is_member[units == u] * values[units == u, None]).sum(0)
            for u in range(max(units) + 1)
        ]
    )
    counts = np.array([is_member[units == u].sum(0) for u in range(max(units) + 1)])
    drawn = random.multinomial(len(totals), [1 / len(totals)] * len(totals), size=8_000)
    macros = ((drawn @ totals) / (drawn @ counts)).mean(axis=1)
    table = make_table(values.tolist(), clusters=clusters if is_clustered else None)
    found = aggregate(scored(Mean, table, make_groups(tags)), "macro:f").interval
    assert found.standard_error == pytest.approx(macros.std(), rel=0.1)
    assert found.low == pytest.approx(
        np.quantile(macros, 0.025), abs=0.25 * macros.std()
    )
    assert found.high == pytest.approx(
        np.quantile(macros, 0.975), abs=0.25 * macros.std()
    )


@pytest.mark.parametrize("metric", [Mean, Share, Ratio])
def test_groups_that_share_nothing_need_only_their_variances(
    metric: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = np.random.default_rng(4)
    values, others = random.random(size=90), random.exponential(size=90) + 1
    groups = make_groups(disjoint_tags(90, 4))
    table = make_table(values, others)
    quick = scored(metric, table, groups)
    monkeypatch.setattr(Evidence, "is_simple", False)
    general = scored(metric, table, groups)
    for kind in ("macro:f", "gap:f"):
        one, other = aggregate(quick, kind), aggregate(general, kind)
        assert one.value == other.value
        if kind == "macro:f":
            assert one.interval[:3] == pytest.approx(other.interval[:3], rel=1e-6)
        assert one.interval[3:] == other.interval[3:]
        assert (one.n, one.n_clusters, one.flag) == (
            other.n,
            other.n_clusters,
            other.flag,
        )
        assert one.p_value == other.p_value
    if metric is not Ratio:
        error, units = macro_error(values.tolist(), disjoint_tags(90, 4))
        macro = aggregate(quick, "macro:f")
        assert_student(macro.interval, float(macro.value or 0), error, units)


def test_macro_of_a_set_level_metric_agrees_with_a_bootstrap() -> None:
    random = np.random.default_rng(5)
    gold = random.choice(["x", "y"], 300, p=[0.7, 0.3])
    predicted = np.where(
        random.random(300) < 0.75, gold, random.choice(["x", "y"], 300)
    )
    tags = overlapping_tags(300, 6)
    is_member = np.array([[f"f:{t}" in one for t in "abc"] for one in tags])

    def f1(part: NDArray[np.int64], label: str) -> float:
        is_gold, is_predicted = gold[part] == label, predicted[part] == label
        hits = (is_gold & is_predicted).sum()
        return float(2 * hits / (is_gold.sum() + is_predicted.sum()))

    def macro(drawn: NDArray[np.int64]) -> float:
        parts = [drawn[is_member[drawn, tag]] for tag in range(3)]
        return float(np.mean([f1(part, label) for part in parts for label in "xy"]))

    found = aggregate(
        scored("macro-f1", make_table(predicted, gold), make_groups(tags)), "macro:f"
    )
    assert found.value == pytest.approx(macro(np.arange(300)))
    draws = [macro(random.integers(0, 300, 300)) for _ in range(1_000)]
    assert found.interval.standard_error == pytest.approx(np.std(draws), rel=0.12)


def test_every_facet_and_crossing_of_two_groups_is_aggregated() -> None:
    tags = [["f:a", "g:a", "plain"], ["f:b", "g:a"], ["f:a"], ["f:b", "other"]]
    crossed = {
        "f,g": [["f:a & g:a"], ["f:b & g:a"], ["f:a & g:(none)"], ["f:b & g:(none)"]]
    }
    found = scored(Mean, make_table([1.0, 2.0, 3.0, 5.0]), make_groups(tags, crossed))
    kinds = [one.kind for one in found.aggregates]
    assert kinds == ["macro:f", "worst:f", "gap:f", "macro:f,g", "worst:f,g", "gap:f,g"]
    assert aggregate(found, "macro:f").value == (2.0 + 3.5) / 2
    assert aggregate(found, "worst:f").tag == "f:a"
    assert aggregate(found, "worst:f,g").tag == "f:a & g:a"
    assert aggregate(found, "worst:f,g").interval == Interval(reason=DESCRIBED)
    for kind in ("macro:f,g", "gap:f,g"):
        assert aggregate(found, kind).interval == Interval(reason="n of a group is 1")


def test_groups_without_a_value_or_with_too_few_examples_are_left_out() -> None:
    class NotForZero(Mean):
        def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
            mean = pl.col("total") / pl.col("n")
            return sums.select("group", value=pl.when(mean != 0).then(mean))

    values = [1.0, 2.0, 3.0, 5.0, 0.0, 0.0, 9.0]
    tags = [[f"f:{t}"] for t in "aabbccd"]
    found = scored(NotForZero, make_table(values), make_groups(tags), fewest=2)
    macro = aggregate(found, "macro:f")
    # the mean is over all groups with a value, however small
    assert macro.value == pytest.approx((1.5 + 4.0 + 9.0) / 3)
    assert (macro.n, macro.flag) == (5, "1 group left out")
    worst, gap = aggregate(found, "worst:f"), aggregate(found, "gap:f")
    assert (worst.tag, worst.flag) == ("f:a", "2 groups left out")
    assert (gap.value, gap.flag) == (2.5, "from f:a to f:b; 2 groups left out")
    few = scored(NotForZero, make_table(values), make_groups(tags), fewest=3)
    assert [one.kind for one in few.aggregates] == ["macro:f"]


def test_examples_without_rows_do_not_count() -> None:
    tags = disjoint_tags(12, 2)
    values = np.arange(12.0)
    found = scored(Mean, make_table(values, present=range(6)), make_groups(tags))
    alone = scored(Mean, make_table(values[:6]), make_groups(tags[:6]))
    assert list(found.aggregates) == list(alone.aggregates)


@pytest.mark.parametrize(
    ("metric", "values", "clusters", "reason"),
    [
        (NoInterval, [1.0, 2.0, 3.0, 5.0], None, "the metric declares no interval"),
        (Mean, [1.0, 1.0, 2.0, 2.0], None, "all scores of a group are equal"),
        (
            Mean,
            [1.0, 2.0, 3.0, 5.0],
            [1, 1, 2, 3],
            "all examples of a group are in one cluster",
        ),
    ],
)
def test_macro_without_an_interval_says_why(
    metric: Any, values: list[float], clusters: Any, reason: str
) -> None:
    tags = [["f:a"], ["f:a"], ["f:b"], ["f:b"]]
    found = scored(metric, make_table(values, clusters=clusters), make_groups(tags))
    assert aggregate(found, "macro:f").interval == Interval(reason=reason)


class Root(Ratio):
    """Has no derivative where the sum is 0."""

    interval = "delta"

    def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
        return sums.select("group", value=pl.col("above").sqrt())


@pytest.mark.parametrize("overlap", [False, True])
def test_scores_without_a_gradient_have_no_aggregated_intervals(overlap: bool) -> None:
    tags = [["f:a"], ["f:a"], ["f:b"], ["f:b", *(["f:a"] if overlap else [])]]
    table = make_table([0.0, 0.0, 3.0, 0.0], [1.0] * 4)
    found = scored(Root, table, make_groups(tags))
    reason = "the score is no smooth function of sums"
    for kind in ("macro:f", "gap:f"):
        assert aggregate(found, kind).interval == Interval(reason=reason)
        assert aggregate(found, kind).p_value is None


# worst ---------------------------------------------------------------------------


def test_worse_is_what_the_metric_says() -> None:
    values = [1.0, 2.0, 3.0, 5.0, 1.0, 2.0]
    tags = [[f"f:{t}"] for t in "aabbcc"]
    groups = make_groups(tags)
    lower = scored(LowerIsBetter, make_table(values), groups)
    assert aggregate(lower, "worst:f").tag == "f:b"
    higher = scored(Mean, make_table(values), groups)
    # of two groups that are equally bad, the first by name
    assert aggregate(higher, "worst:f").tag == "f:a"
    unknown = scored(NoDirection, make_table(values), groups)
    assert [one.kind for one in unknown.aggregates] == ["macro:f", "gap:f"]
    gaps = [aggregate(found, "gap:f") for found in (lower, higher, unknown)]
    assert {gap.value for gap in gaps} == {2.5}
    assert {gap.flag for gap in gaps} == {"from f:a to f:b"}


# gap -----------------------------------------------------------------------------


def largest_difference(covariance: Floats, draws: int, seed: int) -> Floats:
    """Draw the largest standardised difference, pair by pair."""
    random = np.random.default_rng(seed)
    drawn = random.multivariate_normal(np.zeros(len(covariance)), covariance, draws)
    largest = np.zeros(draws)
    for i in range(len(covariance)):
        for j in range(i):
            variance = covariance[i, i] + covariance[j, j] - 2 * covariance[i, j]
            np.maximum(
                largest, np.abs(drawn[:, i] - drawn[:, j]) / variance**0.5, out=largest
            )
    return largest


@pytest.mark.parametrize("is_correlated", [False, True])
def test_the_test_of_a_facet_is_that_of_all_pairs_at_once(is_correlated: bool) -> None:
    covariance = np.diag([0.01, 0.02, 0.005, 0.04])
    if is_correlated:
        covariance += 0.004
    values = np.array([0.5, 0.9, 0.7, 0.6])
    units = 100_000  # Student's quantile is the normal one
    found = pair_differences(values, covariance, units, np.random.default_rng(0))
    largest = largest_difference(covariance, 100_000, 1)
    pairs = [(i, j) for i in range(4) for j in range(i)]
    differences = np.array([abs(values[i] - values[j]) for i, j in pairs])
    errors = np.array(
        [
            (covariance[i, i] + covariance[j, j] - 2 * covariance[i, j]) ** 0.5
            for i, j in pairs
        ]
    )
    expected = (largest >= (differences / errors).max()).mean()
    assert found.p_value == pytest.approx(
        expected, abs=5 * math.sqrt(expected / 10_000) + 1e-3
    )


def test_of_two_groups_the_test_is_welchs() -> None:
    values, covariance = np.array([0.0, 1.0]), np.diag([0.04, 0.05])

    def p_value(units: int) -> float:
        random = np.random.default_rng(0)
        return pair_differences(values, covariance, 2 * units - 2, random).p_value

    assert p_value(10**6) == pytest.approx(2 * stats.norm.sf(1 / 0.3), abs=0.002)
    assert p_value(4) == pytest.approx(2 * stats.t.sf(1 / 0.3, 6), abs=0.006)


def test_enormous_differences_have_the_least_p_value() -> None:
    values, covariance = np.array([0.0, 1e9]), np.diag([1e-9, 1e-9])
    for degrees in (2, 50, 10**6):
        random = np.random.default_rng(0)
        found = pair_differences(values, covariance, degrees, random)
        # below what 10 000 draws can tell, Bonferroni's bound
        tail = stats.t.sf(1e9 / 2e-9**0.5, degrees)
        assert found.p_value == pytest.approx(2 * tail, rel=1e-6, abs=1e-300)


def test_groups_of_the_same_examples_have_no_gap() -> None:
    covariance = np.full((2, 2), 0.01)
    same = pair_differences(
        np.array([0.5, 0.5]), covariance, 10, np.random.default_rng(0)
    )
    assert (len(same.pairs[0]), same.p_value) == (0, 1.0)
    values = np.random.default_rng(9).normal(size=30)
    tags = [["f:a", "f:b"] for _ in values]
    gap = aggregate(scored(Mean, make_table(values), make_groups(tags)), "gap:f")
    assert (gap.value, gap.flag) == (0.0, "all groups have the same score")
    reason = "the groups do not differ in their examples"
    assert (gap.interval, gap.p_value) == (Interval(reason=reason), None)


def assert_student_p(gap: Any, centre: float, error: float, degrees: float) -> None:
    """Of two groups it is Student's, but for the error of 10 000 draws."""
    expected = 2 * stats.t.sf(abs(centre) / error, degrees)
    assert gap.p_value == pytest.approx(expected, abs=0.015)


def gap_of(values: Any, groups: Any, metric: Any = Share, **options: Any) -> Any:
    return aggregate(scored(metric, make_table(values, **options), groups), "gap:f")


def test_shares_get_one_right_and_one_wrong_example_more() -> None:
    right, sizes = [10, 7], [10, 12]
    values = [float(i < r) for r, n in zip(right, sizes, strict=True) for i in range(n)]
    tags = [[f"f:{t}"] for t, n in zip("ab", sizes, strict=True) for _ in range(n)]
    gap = gap_of(values, make_groups(tags))
    assert gap.value == 1 - 7 / 12
    shares = [(r + 1) / (n + 2) for r, n in zip(right, sizes, strict=True)]
    error = math.sqrt(
        sum(p * (1 - p) / (n + 2) for p, n in zip(shares, sizes, strict=True))
    )
    assert_student_p(gap, shares[0] - shares[1], error, 2 * 9)
    assert gap.flag == "from f:b to f:a"


def test_groups_that_are_all_right_do_not_differ() -> None:
    gap = gap_of([1.0] * 40, make_groups(disjoint_tags(40, 4)))
    assert (gap.value, gap.flag, gap.p_value) == (
        0.0,
        "all groups have the same score",
        1.0,
    )
    assert gap.interval == Interval(reason=DESCRIBED)
    overlapping = [["f:a", *(["f:b"] if i % 2 else [])] for i in range(40)]
    shared = gap_of([1.0] * 40, make_groups(overlapping))
    assert shared.value == 0.0
    assert shared.p_value > 0.5


@pytest.mark.parametrize("is_clustered", [False, True])
def test_overlapping_groups_have_their_covariance(is_clustered: bool) -> None:
    """The error of a difference of two groups that share examples."""
    random = np.random.default_rng(10)
    n = 200
    values = random.normal(size=n)
    tags = [
        [*(["f:a"] if i < 150 else []), *(["f:b"] if i >= 50 else [])] for i in range(n)
    ]
    clusters = random.integers(0, 40, n) if is_clustered else np.arange(n)
    gap = gap_of(
        values, make_groups(tags), Mean, clusters=clusters if is_clustered else None
    )
    a, b = np.arange(n) < 150, np.arange(n) >= 50
    psi = (
        a * (values - values[a].mean()) / a.sum()
        - b * (values - values[b].mean()) / b.sum()
    )
    totals = np.bincount(clusters, weights=psi)
    expected = math.sqrt((totals**2).sum())
    # each group's variance has its own factor G / (G - 1)
    assert_student_p(gap, gap.value, expected, 38 if is_clustered else 149)
    assert gap.n_clusters == (len(set(clusters)) if is_clustered else None)


def test_clustered_groups_without_any_overlap_use_clustered_errors() -> None:
    random = np.random.default_rng(11)
    clusters = np.repeat(np.arange(40), 5)
    values = random.normal(size=40)[clusters] + 0.1 * random.normal(size=200)
    tags = [[f"f:{'ab'[c % 2]}"] for c in clusters]
    gap = gap_of(values, make_groups(tags), Mean, clusters=clusters)
    variance = 0.0
    for half in (0, 1):
        inside = clusters % 2 == half
        centred = (values - values[inside].mean()) * inside
        totals = np.bincount(clusters, weights=centred)
        variance += 20 / 19 * (totals**2).sum() / inside.sum() ** 2
    assert_student_p(gap, gap.value, math.sqrt(variance), 38)
    assert gap.p_value > gap_of(values, make_groups(tags), Mean).p_value


def in_unequal_clusters(seed: int) -> tuple[Floats, Any, Floats]:
    """Two tags with clusters of their own, of which the first has half of the rows."""
    random = np.random.default_rng(seed)
    sizes = np.array([45, *[5] * 9])
    clusters = np.repeat(np.arange(20), np.tile(sizes, 2))
    shared = random.normal(size=20)[clusters]
    return shared + random.normal(size=180), clusters, sizes.astype(float)


def test_the_gap_of_unequal_clusters_has_their_error_and_degrees() -> None:
    values, clusters, sizes = in_unequal_clusters(1)
    tags = [["f:a" if cluster < 10 else "f:b"] for cluster in clusters]
    found = scored(Mean, make_table(values, clusters=clusters), make_groups(tags))
    gap = aggregate(found, "gap:f")
    variances, degrees = [], []
    for inside in (clusters < 10, clusters >= 10):
        rows, within = values[inside] - values[inside].mean(), clusters[inside] % 10
        totals = np.bincount(within, rows)
        variances.append(float((totals**2 / (1 - sizes / 90)).sum()) / 90**2)
        correlation = intraclass_correlation(
            totals, np.bincount(within, rows**2), sizes
        )
        degrees.append(cautious_degrees(sizes, correlation))
    error = math.sqrt(sum(variances))
    assert_student_p(gap, gap.value, error, 2 * min(degrees))
    # of twenty equal clusters the same difference would be told apart
    assert 2 * stats.t.sf(gap.value / error, 18) < 0.04 < 0.05 < gap.p_value
    macro = aggregate(found, "macro:f")
    centre = (values[clusters < 10].mean() + values[clusters >= 10].mean()) / 2
    of_mean = error**4 / sum(
        variance**2 / each for variance, each in zip(variances, degrees, strict=True)
    )
    assert_student(macro.interval, centre, error / 2, of_mean)


def test_aggregates_warn_of_one_large_cluster_as_tags_do() -> None:
    values, clusters, _ = in_unequal_clusters(1)
    tags = [["f:a" if cluster < 10 else "f:b"] for cluster in clusters]
    # the second tag has equal clusters
    clusters = np.where(clusters < 10, clusters, 100 + np.arange(180) // 9)
    found = scored(Mean, make_table(values, clusters=clusters), make_groups(tags))
    large = "one cluster has 20 % or more of the examples, and the interval "
    of_both = f"in 1 of the 2 groups {large}may depend heavily on it"
    assert aggregate(found, "macro:f").flag == of_both
    assert aggregate(found, "gap:f").flag == "from f:b to f:a"
    by_tag = {group: main_score(found, group) for group in (1, 2)}
    assert [by_tag[1].flag, by_tag[2].flag] == [f"{large}depends heavily on it", None]
    assert aggregate(found, "worst:f").flag is None
    without = scored(
        NoInterval, make_table(values, clusters=clusters), make_groups(tags)
    )
    assert aggregate(without, "macro:f").flag is None
    assert aggregate(without, "gap:f").flag == "from f:b to f:a"


def test_a_facet_of_very_many_groups_is_not_tested(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    values = (np.random.default_rng(12).random(402) < 0.5).astype(float)
    tags = [[f"f:{i % 201}"] for i in range(402)]
    gap = gap_of(values, make_groups(tags))
    reason = "more than 200 groups are not tested"
    assert (gap.interval, gap.p_value) == (Interval(reason=reason), None)
    assert gap.value == 1.0
    monkeypatch.setattr(group_covariance, "MOST_ENTRIES", 50)
    overlapping = make_groups(overlapping_tags(60))
    large = gap_of(values[:60], overlapping, Mean)
    reason = "the facet is too large to be tested"
    assert large.interval == Interval(reason=reason)


def test_shares_of_other_values_are_not_smoothed() -> None:
    values = np.random.default_rng(13).random(40)
    groups = make_groups(disjoint_tags(40, 2))
    share, mean = gap_of(values, groups), gap_of(values, groups, Mean)
    # the draws of two metrics differ
    assert share.p_value == pytest.approx(mean.p_value, abs=0.02)


@pytest.mark.parametrize(
    ("metric", "values", "clusters", "reason"),
    [
        (NoInterval, [1.0, 2.0, 3.0, 5.0], None, "the metric declares no interval"),
        (Mean, [1.0, 1.0, 2.0, 2.0], None, "all scores of a group are equal"),
        (
            Mean,
            [1.0, 2.0, 3.0, 5.0],
            [1, 1, 2, 3],
            "all examples of a group are in one cluster",
        ),
    ],
)
def test_a_gap_that_is_not_tested_says_why(
    metric: Any, values: list[float], clusters: Any, reason: str
) -> None:
    tags = [["f:a"], ["f:a"], ["f:b"], ["f:b"]]
    gap = gap_of(values, make_groups(tags), metric, clusters=clusters)
    assert (gap.interval, gap.p_value) == (Interval(reason=reason), None)


def p_values(kind: str, sets: int) -> Floats:
    """Test the gap of sets in which all groups are equal."""
    random = np.random.default_rng(14)
    found = []
    groups = make_groups(disjoint_tags(240, 6))
    overlap = make_groups(overlapping_tags(240))
    clusters = np.repeat(np.arange(120), 2)
    for _ in range(sets):
        if kind == "shares":
            gap = gap_of((random.random(240) < 0.6).astype(float), groups)
        elif kind == "means":
            gap = gap_of(random.normal(size=240), groups, Mean)
        elif kind == "overlapping":
            gap = gap_of(random.normal(size=240), overlap, Mean)
        else:
            values = random.normal(size=120)[clusters] + random.normal(size=240)
            gap = gap_of(values, groups, Mean, clusters=clusters)
        found.append(gap.p_value)
    return np.array(found)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["shares", "means", "overlapping", "clusters"])
def test_p_values_of_equal_groups_are_uniform(kind: str) -> None:
    sets = 300
    found = p_values(kind, sets)
    for level in (0.05, 0.2, 0.5, 0.8):
        spread = math.sqrt(level * (1 - level) / sets)
        assert (found <= level).mean() < level + 3.5 * spread + 0.02
        # smoothing makes the test of shares a little cautious
        slack = 0.1 if kind == "shares" else 0.04
        assert (found <= level).mean() > level - 3.5 * spread - slack


def test_aggregates_do_not_depend_on_the_order_of_rows() -> None:
    random = np.random.default_rng(15)
    values = random.normal(size=80)
    tags = overlapping_tags(80)
    clusters = random.integers(0, 20, 80)
    order = random.permutation(80)

    def found(rows: Any) -> MetricScores:
        table = make_table(
            values[rows], clusters=clusters[rows], ids=[str(i) for i in rows]
        )
        return scored(Mean, table, make_groups([tags[i] for i in rows]))

    for one, other in zip(
        found(np.arange(80)).aggregates, found(order).aggregates, strict=True
    ):
        if one.kind == "macro:f":
            assert one.interval[:3] == pytest.approx(other.interval[:3], rel=1e-9)
        assert one.value == pytest.approx(other.value, rel=1e-12)
        assert one.p_value == other.p_value
        assert (one.kind, one.tag, one.flag) == (other.kind, other.tag, other.flag)


def test_metrics_of_lists_have_no_aggregates() -> None:
    class Lists(Metric):
        def compute(self, predictions: list[float], targets: list[float]) -> float:
            return sum(predictions) / len(predictions)

    found = scored(Lists, make_table([1.0, 2.0]), make_groups([["f:a"], ["f:b"]]))
    assert list(found.aggregates) == []


def test_the_error_of_a_mean_over_sharing_groups_depends_on_no_order() -> None:
    random = np.random.default_rng(0)
    values = random.integers(0, 2, 60).astype(float)
    tags = [
        sorted({f"f:{name}" for name in random.choice([*"xyz"], 2)}) for _ in values
    ]

    def error(order: Sequence[int]) -> float | None:
        table = make_table(values[list(order)], ids=[str(i) for i in order])
        found = scored(Share, table, make_groups([tags[i] for i in order]))
        [macro] = [each for each in found.aggregates if each.kind.startswith("macro")]
        return macro.interval.standard_error

    expected = error(range(60))
    assert expected
    for _ in range(6):
        assert error(random.permutation(60).tolist()) == expected
