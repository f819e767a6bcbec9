import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray
from scipy import stats

from evalkit.scoring import aggregates
from evalkit.scoring.aggregates import DESCRIBED, NOT_PER_EXAMPLE, OVERLAPPING
from evalkit.scoring.records import MetricScores
from evalkit.statistics.intervals import Interval

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


# macro ---------------------------------------------------------------------------


@pytest.mark.parametrize("metric", [Mean, Share, Ratio, BootstrapMean])
@pytest.mark.parametrize("is_clustered", [False, True])
def test_the_mean_over_disjoint_tags_combines_their_intervals(
    metric: Any, is_clustered: bool
) -> None:
    random = np.random.default_rng(4)
    values, others = random.random(size=120), random.exponential(size=120) + 1
    tags = disjoint_tags(120, 4)
    clusters = (np.arange(120) % 4 + 4 * (np.arange(120) // 12)).tolist()
    table = make_table(values, others, clusters=clusters if is_clustered else None)
    found = scored(metric, table, make_groups(tags))
    parts = [main_score(found, group) for group in range(1, 5)]
    macro = aggregate(found, "macro:f")
    centre = float(np.mean([part.value for part in parts]))
    below = [(part.value - part.interval.low) ** 2 for part in parts]
    above = [(part.interval.high - part.value) ** 2 for part in parts]
    assert macro.value == pytest.approx(centre)
    assert macro.interval.method == "mover"
    assert macro.interval.low == pytest.approx(centre - math.sqrt(sum(below)) / 4)
    assert macro.interval.high == pytest.approx(centre + math.sqrt(sum(above)) / 4)
    assert macro.n == 120
    assert macro.n_clusters == (40 if is_clustered else None)


def test_very_many_rows_of_overlapping_tags_need_no_draws(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    random = np.random.default_rng(1)
    table = make_table(random.normal(size=300).tolist())
    groups = make_groups(overlapping_tags(300))
    drawn = aggregate(scored(Mean, table, groups), "macro:f").interval
    monkeypatch.setattr(aggregates, "MOST_RESAMPLED", 10)
    quick = aggregate(scored(Mean, table, groups), "macro:f").interval
    assert (drawn.method, quick.method) == ("bootstrap", "delta")
    assert quick.standard_error == pytest.approx(drawn.standard_error, rel=0.1)


def test_clusters_that_several_tags_share_are_resampled_as_a_whole() -> None:
    random = np.random.default_rng(2)
    clusters = np.arange(200) // 5
    values = random.normal(size=40)[clusters] + random.normal(size=200)
    found = scored(
        Mean,
        make_table(values.tolist(), clusters=clusters.tolist()),
        make_groups(disjoint_tags(200, 5)),
    )
    macro = aggregate(found, "macro:f").interval
    assert macro.method == "bootstrap-clustered"
    # each tag has one row of every cluster, so the mean over tags is that of clusters
    assert macro.standard_error == pytest.approx(
        stats.sem(values.reshape(40, 5).mean(axis=1)), rel=0.1
    )


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
    no_part = Interval(reason="a part has no interval: n is 1")
    assert aggregate(found, "macro:f,g").interval == no_part


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


def test_the_facet_is_tested_by_permutations_of_the_scores() -> None:
    random = np.random.default_rng(3)
    values = np.round(random.normal(size=60), 2)
    values[::3] += 0.5
    found = scored(Mean, make_table(values), make_groups(disjoint_tags(60, 3)))
    gap = aggregate(found, "gap:f")
    samples = [values[place::3] for place in range(3)]
    expected = stats.f_oneway(*samples)
    assert gap.p_value == pytest.approx(float(expected.pvalue), abs=0.02)
    assert gap.p_adjusted == gap.p_value
    assert gap.interval == Interval(reason=DESCRIBED)


@pytest.mark.parametrize(
    ("metric", "tags", "reason"),
    [
        (NoInterval, disjoint_tags(40, 2), "the metric declares no interval"),
        (Ratio, disjoint_tags(40, 2), NOT_PER_EXAMPLE),
        (Mean, overlapping_tags(40), OVERLAPPING),
    ],
)
def test_a_facet_that_is_not_tested_says_why(
    metric: Any, tags: list[list[str]], reason: str
) -> None:
    table = make_table(np.arange(40.0), np.arange(40.0) % 7 + 1)
    gap = aggregate(scored(metric, table, make_groups(tags)), "gap:f")
    assert (gap.p_value, gap.interval) == (None, Interval(reason=reason))


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
