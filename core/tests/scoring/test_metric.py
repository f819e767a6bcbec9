import math
import os
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from evalkit import Metric, MetricError, Result, Score, score
from evalkit.base.terms import MetricContext
from evalkit.plugins.bound import Bound
from evalkit.plugins.registry import Registry
from evalkit.plugins.resolver import Resolver
from evalkit.scoring import ScoringTable, passes
from evalkit.scoring.grouping import UNTAGGED, group_by_tag
from evalkit.scoring.measurement import score_metric
from evalkit.scoring.records import ScoringSettings

numbers = st.floats(-1e6, 1e6).map(lambda x: round(x, 6))
Row = tuple[float, list[str]]
rows_with_tags = st.lists(
    st.tuples(numbers, st.lists(st.sampled_from(["a", "b", "c:d"]), unique=True)),
    min_size=1,
    max_size=25,
)


def get_mean(predictions: list[float], targets: list[float]) -> float:
    return math.fsum(predictions) / len(predictions)


class ExampleMean(Metric):
    interval = "t"

    def score_example(self, prediction: float) -> float:
        return prediction


class SumMean(Metric):
    """The mean as sums that add up, without per-example scores."""

    def statistics(self, batch: pl.DataFrame) -> pl.DataFrame:
        total = batch["prediction"].cast(pl.Float64)
        return pl.DataFrame({"row": range(batch.height), "total": total, "n": 1.0})

    def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
        return sums.select("group", value=pl.col("total") / pl.col("n"))


class ColumnMean(SumMean):
    per_example = "total"
    interval = "t"


def scores_of(metric: Any, rows: list[Row]) -> Mapping[str | None, Score]:
    values = [value for value, _ in rows]
    result = score(metric, values, values, tags=[tags for _, tags in rows])
    return {found.tag: found for found in result.scores}


def members(rows: list[Row], tag: str | None) -> list[float]:
    if tag == UNTAGGED:
        return [value for value, tags in rows if not tags]
    return [value for value, tags in rows if tag is None or tag in tags]


@pytest.mark.parametrize("metric", [get_mean, ExampleMean, SumMean, ColumnMean])
@settings(max_examples=25, deadline=None)
@given(rows=rows_with_tags)
def test_three_ways_to_write_a_mean_agree(metric: Any, rows: list[Row]) -> None:
    found = scores_of(metric, rows)
    names = {tag for _, tags in rows for tag in tags}
    untagged = names and not all(tags for _, tags in rows)
    assert set(found) == {None, *names, *([UNTAGGED] if untagged else [])}
    for tag, one in found.items():
        part = members(rows, tag)
        scale = max(1.0, sum(map(abs, part)))
        assert one.n == len(part)
        assert one.coverage == 1.0
        assert one.value == pytest.approx(
            math.fsum(part) / len(part), abs=1e-12 * scale
        )


@pytest.mark.parametrize("metric", [ExampleMean, ColumnMean])
@settings(max_examples=25, deadline=None)
@given(rows=rows_with_tags)
def test_per_example_scores_give_spread_and_t_interval(
    metric: Any, rows: list[Row]
) -> None:
    for tag, one in scores_of(metric, rows).items():
        part = members(rows, tag)
        scale = max(1.0, sum(map(abs, part)))
        assert one.mean == pytest.approx(np.mean(part), abs=1e-12 * scale)
        assert one.stddev == pytest.approx(np.std(part), abs=1e-9 * scale)
        assert (one.min, one.max) == (min(part), max(part))
        if len(part) == 1:
            assert (one.ci, one.reason) == (None, "n is 1")
        elif len(set(part)) == 1:
            assert (one.ci, one.reason) == (None, "all values are equal")
        else:
            low, high = stats.t.interval(
                0.95, len(part) - 1, loc=np.mean(part), scale=stats.sem(part)
            )
            assert one.ci is not None
            slack = 1e-9 * scale
            assert one.ci == pytest.approx((low, high), abs=slack)
            assert one.ci_method == "t"


@pytest.mark.parametrize("metric", [ExampleMean, SumMean, ColumnMean])
@settings(max_examples=15, deadline=None)
@given(rows=rows_with_tags, order=st.randoms(use_true_random=False))
def test_order_of_rows_and_size_of_batches_change_nothing(
    metric: Any, rows: list[Row], order: Any
) -> None:
    before = scores_of(metric, rows)
    shuffled = list(rows)
    order.shuffle(shuffled)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(passes, "BATCH_ROWS", 3)
        after = scores_of(metric, shuffled)
    assert set(after) == set(before)
    for tag, one in before.items():
        scale = max(1.0, sum(abs(value) for value in members(rows, tag)))
        other = after[tag]
        assert other.value == pytest.approx(one.value, abs=1e-12 * scale)
        assert (other.n, other.ci_method) == (one.n, one.ci_method)
        if one.ci is not None:
            assert other.ci == pytest.approx(one.ci, abs=1e-9 * scale)
            assert other.se == pytest.approx(one.se, abs=1e-9 * scale)


@pytest.mark.parametrize("metric", [get_mean, ExampleMean, SumMean])
def test_the_score_of_a_tag_is_the_score_of_its_examples_alone(metric: Any) -> None:
    random = np.random.default_rng(3)
    rows = [(x, ["t"] if x > 0 else []) for x in random.normal(size=60).tolist()]
    inside = scores_of(metric, rows)["t"]
    alone = scores_of(metric, [row for row in rows if row[1]])["t"]
    assert inside == alone


# scores of examples --------------------------------------------------------------


class Length(Metric):
    worst_value = 0.0
    interval = "none"

    def score_example(self, prediction: str, target: str) -> float | None:
        return None if target == "leave out" else float(len(prediction))


def test_an_example_scored_none_is_left_out_of_mean_and_n() -> None:
    predictions, targets = ["a", "bbb", "cc", "d"], ["x", "x", "leave out", "leave out"]
    tags = [["t"], ["t"], ["u"], ["t"]]
    result = score(Length, predictions, targets, tags=tags)
    whole, of_t, of_u = result.scores
    assert (whole.value, whole.n, whole.coverage) == (2.0, 2, 0.5)
    assert (of_t.value, of_t.n, of_t.coverage) == (2.0, 2, 2 / 3)
    origin = "metrics/length (given as an object): score_example returned None for"
    assert (of_u.value, of_u.n, of_u.reason) == (None, 0, f"{origin} the only example")
    assert result.notices == (
        f"{origin} 2 of 4 examples; they are not part of its n and value",
    )
    nothing = score(Length, ["a"] * 2, ["leave out"] * 2)
    assert nothing["length"].reason == f"{origin} all 2 examples"
    assert nothing.notices == ()


def test_an_example_without_a_prediction_gets_the_worst_value() -> None:
    found = score(Length, ["abcd", None], ["x", "leave out"])["length"]
    assert (found.value, found.n) == (2.0, 2)


def test_without_a_worst_value_a_missing_prediction_makes_the_score_null() -> None:
    class Strict(Length):
        worst_value = None

    found = score(Strict, ["abcd", None, None], ["x", "y", "z"])["strict"]
    assert found.value is None
    assert found.reason == (
        "2 examples without a prediction, and the metric declares no worst value "
        "(worst_value, or accepts_no_prediction)"
    )


def test_a_metric_that_accepts_no_prediction_sees_the_null() -> None:
    class Answered(Metric):
        accepts_no_prediction = True

        def score_example(self, prediction: str | None) -> float:
            return 0.25 if prediction is None else 1.0

    assert score(Answered, ["a", None], ["x", "y"])["answered"].value == 0.625


# intervals -----------------------------------------------------------------------


class Hit(Metric):
    interval = "wilson"

    def score_example(self, prediction: float) -> float:
        return prediction


def bound(metric: Any) -> Bound:
    return Resolver(Registry()).bind("metrics", metric)


def whole_set(metric: Any, values: list[float], clusters: list[int] | None) -> Any:
    n = len(values)
    frame = pl.DataFrame(
        {"position": range(n), "prediction": values, "target": values},
        schema_overrides={"position": pl.UInt32},
    )
    table = ScoringTable(
        frame,
        [str(i) for i in range(n)],
        None if clusters is None else pl.Series(clusters, dtype=pl.UInt32),
        MetricContext(None, "one"),
    )
    groups = group_by_tag(pl.Series([[]] * n, dtype=pl.List(pl.String)))
    scored = score_metric(bound(metric), table, groups, ScoringSettings())
    assert scored.error is None
    return scored.scores[0]


def direct_bootstrap(
    values: list[float], clusters: list[int], replicates: int
) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Resample whole clusters by hand and take the mean of all rows."""
    by_cluster: dict[int, list[float]] = {}
    for value, cluster in zip(values, clusters, strict=True):
        by_cluster.setdefault(cluster, []).append(value)
    parts = list(by_cluster.values())
    random = np.random.default_rng(11)
    return np.array(
        [
            np.mean(
                [
                    x
                    for i in random.integers(0, len(parts), len(parts))
                    for x in parts[i]
                ]
            )
            for _ in range(replicates)
        ]
    )


@pytest.mark.parametrize("is_clustered", [False, True])
@pytest.mark.parametrize("metric", [SumMean, get_mean])
def test_bootstrap_intervals_equal_direct_resampling(
    metric: Any, is_clustered: bool
) -> None:
    random = np.random.default_rng(8)
    clusters = random.integers(0, 40, 160).tolist()
    effects = random.normal(size=40)
    values = [float(effects[c] + random.exponential()) for c in clusters]
    found = whole_set(metric, values, clusters if is_clustered else None)
    units = clusters if is_clustered else list(range(160))
    expected = direct_bootstrap(values, units, 4_000)

    interval = found.interval
    replicates = 1_000 if metric is SumMean else 200
    monte_carlo = 1 / math.sqrt(2 * replicates)
    assert interval.standard_error == pytest.approx(expected.std(), rel=4 * monte_carlo)
    for bound_found, tail in ((interval.low, 0.025), (interval.high, 0.975)):
        rank = (expected <= bound_found).mean()
        spread = math.sqrt(0.025 * 0.975 / replicates)
        assert rank == pytest.approx(tail, abs=4 * spread + 0.01)
    assert interval.method == ("bootstrap-clustered" if is_clustered else "bootstrap")
    assert found.n == 160
    assert found.n_clusters == (len(set(clusters)) if is_clustered else None)


@pytest.mark.parametrize(
    ("metric", "method"), [(Hit, "wilson-clustered"), (ExampleMean, "t-clustered")]
)
def test_clusters_widen_intervals(metric: Any, method: str) -> None:
    values = [1.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0, 0.0] * 4
    clusters = list(range(8)) * 4
    plain, clustered = (
        whole_set(metric, values, None),
        whole_set(metric, values, clusters),
    )
    assert clustered.interval.method == method
    assert clustered.n_clusters == 8
    assert clustered.interval.high - clustered.interval.low > 1.5 * (
        plain.interval.high - plain.interval.low
    )


def test_the_interval_depends_on_seed_and_examples_only() -> None:
    values = np.random.default_rng(0).normal(size=50).tolist()
    tags = [["twin", "other"], *[["twin", "other", "some"]] * 49]

    def intervals(seed: int) -> dict[str | None, Any]:
        result = score(SumMean, values, values, tags=tags, seed=seed)
        return {found.tag: found.ci for found in result.scores}

    first = intervals(0)
    assert intervals(0) == first
    assert first["twin"] == first["other"] == first[None]
    assert first["some"] != first["twin"]
    assert intervals(1)["twin"] != first["twin"]


# when a metric does not apply ------------------------------------------------------


def test_a_column_that_is_not_there_is_named() -> None:
    class Confidence(SumMean):
        columns = ("prob",)

    rule = r"it needs the field 'prob', .*: give it as fields={'prob': \[…\]}, as"
    with pytest.raises(MetricError, match=rule):
        score(Confidence, [1.0], [1.0])


def test_examples_without_rows_are_not_counted() -> None:
    class Positive(SumMean):
        def statistics(self, batch: pl.DataFrame) -> pl.DataFrame:
            return super().statistics(batch).filter(pl.col("total") > 0)

    result = score(Positive, [1.0, -5.0, 3.0], [0] * 3, tags=[["t"], ["u"], ["t"]])
    found = [(one.tag, one.value, one.n, one.reason) for one in result.scores[:3]]
    assert [row[:3] for row in found] == [(None, 2.0, 2), ("t", 2.0, 2), ("u", None, 0)]
    origin = "metrics/positive (given as an object): statistics gave no row for"
    assert found[2][3] == f"{origin} the only example"
    assert result.notices == (
        f"{origin} 1 of 3 examples; they are not part of its n and value",
    )


def test_an_example_may_have_several_rows() -> None:
    class Letters(Metric):
        keys = ("letter",)

        def statistics(self, batch: pl.DataFrame) -> pl.DataFrame:
            return (
                batch.with_row_index("row")
                .select("row", letter=pl.col("prediction").str.split(""), count=1)
                .explode("letter")
            )

        def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
            return sums.group_by("group", maintain_order=True).agg(
                value=pl.col("count").max()
            )

    result: Result = score(Letters, ["abca", "aab", "c"], ["", "", ""])
    found = result["letters"]
    assert (found.value, found.n) == (4.0, 3)
    # drawn by hand: each example brings all of its letters
    random = np.random.default_rng(0).integers(0, 3, (4_000, 3))
    counts = np.array([[2, 1, 1], [2, 1, 0], [0, 0, 1]])
    expected = counts[random].sum(axis=1).max(axis=1)
    assert found.se == pytest.approx(expected.std(), rel=0.1)
    assert found.ci == tuple(np.quantile(expected, [0.025, 0.975]))


# threads ----------------------------------------------------------------------------

_SCRIPT = """
import numpy, polars, evalkit
class Mean(evalkit.Metric):
    def statistics(self, batch):
        total = batch["prediction"]
        return polars.DataFrame({"row": range(batch.height), "total": total, "n": 1.0})
    def finalize(self, sums):
        return sums.select("group", value=polars.col("total") / polars.col("n"))
class Example(evalkit.Metric):
    interval = "t"
    def score_example(self, prediction):
        return prediction
values = numpy.random.default_rng(0).lognormal(0, 3, 3_000).tolist()
tags = [["t%d" % (i % 7), "u%d" % (i % 3)] for i in range(3_000)]
class Spread(Mean):
    merges = {"total": "moments"}
    def finalize(self, sums):
        value = polars.col("total_m2") / polars.col("total_count")
        return sums.select("group", value=value + polars.col("total_mean"))
for metric in (Mean, Example, Spread):
    for one in evalkit.score(metric, values, values, tags=tags).scores:
        print(one)
"""


@pytest.mark.slow
def test_the_number_of_threads_changes_nothing() -> None:
    printed = {
        subprocess.run(
            [sys.executable, "-c", _SCRIPT],
            env={
                **os.environ,
                "POLARS_MAX_THREADS": threads,
                "OPENBLAS_NUM_THREADS": threads,
                "PYTHONHASHSEED": seed,
            },
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for threads, seed in (("1", "0"), ("4", "7"))
    }
    assert len(printed) == 1
    assert printed.pop().count("Score(") == 3 * 11
