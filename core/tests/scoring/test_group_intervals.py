import math
from typing import Any, ClassVar

import numpy as np
import polars as pl
import pytest
from scipy import stats

import evalkit
from evalkit import Metric
from evalkit.scoring import group_intervals
from evalkit.scoring.group_intervals import REPLICATES
from evalkit.scoring.records import GroupScore
from evalkit.statistics.intervals import NO_INFLUENCE, Interval
from evalkit.statistics.resampling import percentile_interval, unit_weights

from ..engine_tables import (
    BootstrapMean,
    Mean,
    Ratio,
    Share,
    main_score,
    make_groups,
    make_table,
    scored,
)

EXTREMES = (
    "the metric's statistics merge by min or max, of which resampled examples say "
    "nothing"
)
RANDOM = np.random.default_rng(0)
VALUES = RANDOM.exponential(size=60).round(2).tolist()
CLUSTERS = RANDOM.integers(0, 25, 60).tolist()
NORMAL = np.random.default_rng(5).normal(3, 1, 60).round(2).tolist()
HALVES = [(0.0, 0.5, 1.0, 1.0)[i % 4] for i in range(60)]
ONES = [float(i % 4 > 0) for i in range(60)]
LABELS = ["a", "b", "c"]
GOLD = RANDOM.choice(LABELS, 60).tolist()
PREDICTED = [gold if i % 3 else LABELS[i % 2] for i, gold in enumerate(GOLD)]


class Most(Metric):
    """A statistic that does not add up."""

    merges = {"most": "max"}
    interval = "delta"

    def statistics(self, batch: pl.DataFrame) -> pl.DataFrame:
        return batch.select(most="prediction").with_row_index("row")

    def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
        return sums.select("group", value="most")


class MostResampled(Most):
    interval = "bootstrap"


class Doubled(Share):
    """Its value is not the mean of its per-example scores."""

    def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
        return sums.select("group", value=2 * pl.col("total") / pl.col("n"))


class DeltaMean(Mean):
    interval = "delta"


class Unsmooth(Ratio):
    """Has no derivative where its sum is 0."""

    def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
        return sums.select("group", value=pl.col("above").sqrt())


def first(metric: Any, values: Any, targets: Any = None, **options: Any) -> GroupScore:
    return main_score(scored(metric, make_table(values, targets, **options)))


@pytest.mark.parametrize(
    ("metric", "values", "clusters", "method"),
    [
        (Share, ONES, None, "wilson"),
        (Share, ONES, CLUSTERS, "wilson-clustered"),
        (Share, HALVES, None, "t"),
        (Share, HALVES, CLUSTERS, "t-clustered"),
        (Share, NORMAL, None, "t"),
        (Mean, ONES, None, "t"),
        (Mean, NORMAL, None, "t"),
        (Mean, VALUES, None, "t"),
        (Mean, NORMAL, CLUSTERS, "t-clustered"),
        (BootstrapMean, VALUES, None, "bootstrap"),
        (BootstrapMean, VALUES, CLUSTERS, "bootstrap-clustered"),
        (DeltaMean, VALUES, None, "delta"),
        (DeltaMean, VALUES, CLUSTERS, "delta-clustered"),
        (Doubled, ONES, None, "delta"),
        (Doubled, ONES, CLUSTERS, "delta-clustered"),
    ],
)
def test_every_kind_of_interval_says_how_it_was_made(
    metric: Any, values: list[float], clusters: Any, method: str
) -> None:
    found = first(metric, values, clusters=clusters)
    assert found.interval.method == method
    assert found.interval.low < found.value < found.interval.high
    assert found.interval.reason is None


@pytest.mark.parametrize(
    ("metric", "clusters", "method"),
    [
        ("macro-f1", None, "multinomial"),
        ("macro-f1", CLUSTERS, "bootstrap-clustered"),
        ("f1:label=a", None, "multinomial"),
    ],
)
def test_counts_of_labels_are_drawn_unless_they_are_clustered(
    metric: str, clusters: Any, method: str
) -> None:
    found = first(metric, PREDICTED, GOLD, clusters=clusters)
    assert found.interval.method == method


@pytest.mark.parametrize(
    ("metric", "values", "clusters", "reason"),
    [
        (Mean, [1.0], None, "n is 1"),
        (Mean, [1.0, 2.0], [1, 1], "all examples are in one cluster"),
        (DeltaMean, [1.0, 2.0], [1, 1], "all examples are in one cluster"),
        (BootstrapMean, [1.0, 2.0], [1, 1], "all examples are in one cluster"),
        (BootstrapMean, [2.0, 2.0], None, "all bootstrap replicates are equal"),
        (Most, [1.0, 2.0], None, EXTREMES),
        (MostResampled, [1.0, 2.0], None, EXTREMES),
        (
            Unsmooth,
            [0.0, 0.0],
            None,
            "these sums are over 500, or give the score no gradient",
        ),
        (Ratio, [2.0, 2.0], None, NO_INFLUENCE),
    ],
)
def test_no_interval_says_why(
    metric: Any, values: list[float], clusters: Any, reason: str
) -> None:
    found = first(metric, values, clusters=clusters)
    assert found.value is not None
    assert found.interval == Interval(reason=reason)


def test_a_bootstrap_that_fails_says_why() -> None:
    class Fragile(BootstrapMean):
        def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
            if sums.height > 2:
                raise ValueError("too many groups")
            return super().finalize(sums)

    found = first(Fragile, VALUES)
    assert found.value == pytest.approx(np.mean(VALUES))
    reason = str(found.interval.reason)
    assert reason.startswith("the bootstrap failed: metrics/fragile")
    assert reason.endswith("ValueError: too many groups")


def test_the_interval_contains_the_value_at_the_edge_of_its_range() -> None:
    """Smoothing draws replicates with an error, though none was seen."""
    found = first("macro-f1", ["a", "b"] * 20, ["a", "b"] * 20)
    assert found.value == 1.0
    assert found.interval.method == "multinomial"
    assert found.interval.high == 1.0
    assert 0.8 < found.interval.low < 1.0
    assert found.interval.standard_error > 0


def macro_f1_of(counts: Any, golds: list[int]) -> Any:
    """Take macro-F1 of tables of counts, over the classes with gold examples."""
    hits = np.stack([counts[..., i, gold] for i, gold in enumerate(golds)], -1)
    of_gold = counts.sum(axis=-1)
    with np.errstate(invalid="ignore"):
        f1 = 2 * hits / (of_gold + counts.sum(axis=-2)[..., golds])
    return np.nanmean(np.where(of_gold == 0, np.nan, f1), axis=-1)


def test_macro_f1_is_drawn_and_corrected_as_by_hand() -> None:
    """Counts smoothed by 1/K², and Efron's (1981) correction for bias."""
    golds = sorted(set(GOLD))
    pairs = list(zip(GOLD, PREDICTED, strict=True))
    counts = np.array([[pairs.count((g, p)) for p in LABELS] for g in golds])
    weights = counts + 1 / len(LABELS) ** 2
    places = [LABELS.index(gold) for gold in golds]
    drawn = np.random.default_rng(5).multinomial(
        60, (weights / weights.sum()).ravel(), size=40_000
    )
    expected = macro_f1_of(drawn.reshape(-1, *counts.shape), places)
    shift = 2 * stats.norm.ppf((expected < macro_f1_of(weights, places)).mean())
    found = first("macro-f1", PREDICTED, GOLD)
    assert found.value == pytest.approx(macro_f1_of(counts, places))
    interval = found.interval
    assert interval.standard_error == pytest.approx(expected.std(), rel=4 / 2_000**0.5)
    for bound_found, tail in ((interval.low, 0.025), (interval.high, 0.975)):
        level = stats.norm.cdf(shift + stats.norm.ppf(tail))
        # of the percentile, and of the share below the centre that moves it
        spread = math.sqrt(level * (1 - level) / 1_000) + 0.005
        rank = (expected <= bound_found).mean()
        assert rank == pytest.approx(level, abs=4 * spread)


def test_declared_labels_take_part_in_the_smoothing() -> None:
    more = first("macro-f1", PREDICTED, GOLD, labels=[*LABELS, "d", "e"])
    fewer = first("macro-f1", PREDICTED, GOLD, labels=LABELS)
    undeclared = first("macro-f1", PREDICTED, GOLD)
    assert fewer == undeclared
    assert more.value == fewer.value
    assert more.interval != fewer.interval


def test_pairs_beyond_the_limit_are_resampled(monkeypatch: pytest.MonkeyPatch) -> None:
    groups = make_groups([["t"] if label == "a" else [] for label in GOLD])
    table = make_table(PREDICTED, GOLD)
    monkeypatch.setattr(group_intervals, "MOST_PAIRS", 5)
    found = scored("macro-f1", table, groups)
    assert main_score(found, 0).interval.method == "bootstrap"
    assert main_score(found, 1).interval.method == "multinomial"


class Numbered(Metric):
    """Counts pairs whose keys are numbers."""

    interval = "multinomial"
    keys = ("gold", "predicted")

    def statistics(self, batch: pl.DataFrame) -> pl.DataFrame:
        return batch.select(
            gold=pl.col("target").cast(pl.Int64),
            predicted=pl.col("prediction").cast(pl.Int64),
            count=pl.lit(1.0),
        ).with_row_index("row")

    def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
        hit = pl.when(pl.col("gold") == pl.col("predicted")).then(pl.col("count"))
        totals = sums.group_by("group").agg(
            value=hit.fill_null(0).sum() / pl.col("count").sum()
        )
        return totals.select("group", "value")


class OnlyWhole(Numbered):
    """Counts pairs of texts, and is not defined for parts of an example."""

    def statistics(self, batch: pl.DataFrame) -> pl.DataFrame:
        pairs = batch.select(gold="target", predicted="prediction", count=pl.lit(1.0))
        return pairs.with_row_index("row")

    def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
        whole = sums.group_by("group").agg(
            whole=(pl.col("count") == pl.col("count").round()).all()
        )
        scores = super().finalize(sums).join(whole, on="group")
        return scores.select("group", value=pl.when("whole").then("value"))


def test_without_a_value_at_the_smoothed_counts_nothing_is_corrected() -> None:
    found = first(OnlyWhole, PREDICTED, GOLD).interval
    assert found.method == "multinomial"
    share = np.mean([g == p for g, p in zip(GOLD, PREDICTED, strict=True)])
    weights = (share * 60 + 1 / 3) / 61
    expected = stats.binom(60, weights).ppf([0.025, 0.975]) / 60
    assert (found.low, found.high) == pytest.approx(tuple(expected), abs=1 / 59)


def test_a_tag_of_one_cluster_or_example_has_no_interval_beside_others() -> None:
    tags = [["one"] if c == CLUSTERS[0] else [] for c in CLUSTERS]
    tags[1] = [*tags[1], "single"]
    table = make_table(VALUES, clusters=CLUSTERS)
    found = scored(BootstrapMean, table, make_groups(tags))
    assert main_score(found, 0).interval.method == "bootstrap-clustered"
    assert main_score(found, 1).interval.reason == "all examples are in one cluster"
    assert main_score(found, 2).interval.reason == "n is 1"


def test_a_large_group_gets_the_delta_method_and_small_ones_are_resampled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(group_intervals, "MOST_RESAMPLED", 59)
    groups = make_groups([["t"] if i else [] for i in range(60)])
    found = scored(BootstrapMean, make_table(VALUES), groups)
    assert main_score(found, 0).interval.method == "delta"
    assert main_score(found, 1).interval.method == "bootstrap"
    # the group of one example is neither
    assert main_score(found, 2).interval.reason == "n is 1"


class Median(Metric):
    """A rank statistic, which keeps all values."""

    merges: ClassVar[Any] = {"x": "values"}

    def statistics(self, batch: pl.DataFrame) -> pl.DataFrame:
        numbers = batch["prediction"].cast(pl.Float64)
        return pl.DataFrame({"row": range(batch.height), "x": numbers})

    def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
        return sums.select("group", value=pl.col("x").list.median())


@pytest.mark.parametrize("clusters", [None, CLUSTERS])
def test_kept_values_are_resampled(clusters: list[int] | None) -> None:
    table = make_table(VALUES, clusters=clusters)
    found = main_score(scored(Median, table))
    assert found.value == np.median(VALUES)
    order = np.arange(60) if clusters else np.argsort(VALUES, kind="stable")
    units = table.units(0)
    weights = unit_weights(units.keys, 0, REPLICATES)
    medians = [
        np.median(np.repeat(np.array(VALUES)[order], weights[units.codes, number]))
        for number in range(REPLICATES)
    ]
    interval = percentile_interval(np.array(medians), 0.95, "bootstrap")
    assert found.interval[:2] == pytest.approx(interval[:2], abs=1e-12)
    clustered = "-clustered" if clusters else ""
    assert found.interval.method == f"bootstrap{clustered}"


def test_many_kept_values_are_not_resampled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_intervals, "MOST_KEPT", 59)
    found = main_score(scored(Median, make_table(VALUES)))
    assert str(found.interval.reason).startswith("statistics that keep values are not")


def test_confidence_widens_intervals() -> None:
    table = make_table(VALUES)
    for metric in (Mean, DeltaMean, BootstrapMean):
        narrow = main_score(scored(metric, table, confidence=0.8)).interval
        wide = main_score(scored(metric, table, confidence=0.99)).interval
        assert wide.low < narrow.low < narrow.high < wide.high
    few = main_score(scored(BootstrapMean, table, confidence=0.9999)).interval
    assert few.reason == "1000 bootstrap replicates are too few for this confidence"


def large_sample(rare_hits: int) -> tuple[list[str], list[str]]:
    """Give predictions and answers, in which one label has so many hits."""
    counts = {
        **{("a", "a"): 12_000, ("a", "b"): 2_000, ("a", "c"): 150},
        **{("b", "a"): 900, ("b", "b"): 8_000, ("b", "c"): 200},
        **{("c", "a"): 100, ("c", "b"): 120, ("c", "c"): rare_hits},
    }
    pairs = [pair for pair, count in counts.items() for _ in range(count)]
    return [said for _, said in pairs], [gold for gold, _ in pairs]


def test_counts_in_which_a_label_is_rare_are_drawn_however_many_there_are() -> None:
    predictions, targets = large_sample(99)
    assert (
        evalkit.score("macro-f1", predictions, targets)["macro-f1"].ci_method
        == "multinomial"
    )
    # a label that is declared and never occurs is rare too
    predictions, targets = large_sample(100)
    found = evalkit.score(
        "macro-f1", predictions, targets, labels=["a", "b", "c", "never"]
    )
    assert found["macro-f1"].ci_method == "multinomial"
