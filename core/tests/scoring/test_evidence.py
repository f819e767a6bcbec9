from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import pytest

from evalkit import Metric
from evalkit.scoring.evidence import Evidence
from evalkit.statistics.clusters import adjusted_root

from ..engine_tables import (
    BootstrapMean,
    Mean,
    Ratio,
    bound,
    make_evidence,
    make_groups,
    make_table,
)


class Words(Metric):
    """Several rows an example, one for each word of the prediction."""

    interval = "delta"
    keys = ("word",)

    def statistics(self, batch: pl.DataFrame) -> pl.DataFrame:
        words = batch.select(word=pl.col("prediction").str.split(" "))
        return (
            words.with_row_index("row")
            .explode("word")
            .filter(pl.col("word") != "")
            .with_columns(n=pl.lit(1.0))
            .with_columns(long=pl.col("word").str.len_chars() * pl.col("n"))
        )

    def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
        totals = sums.group_by("group").agg(pl.col("long", "n").sum())
        return totals.select("group", value=pl.col("long") / pl.col("n"))


class OwnScore(Metric):
    def score_example(self, prediction: float | None) -> float | None:
        return prediction


def clustered_error(residuals: list[float], clusters: list[Any], n: int) -> float:
    """The formula of cluster_sizes.py (CR2), cluster by cluster."""
    totals: dict[Any, float] = {}
    for residual, cluster in zip(residuals, clusters, strict=True):
        totals[cluster] = totals.get(cluster, 0.0) + residual
    squares = (
        total**2 / (1 - clusters.count(cluster) / n)
        for cluster, total in totals.items()
    )
    return math.sqrt(sum(squares)) / n


def variance_of(evidence: Evidence, group: int) -> float | None:
    found = evidence.influences(group)
    if found is None or len(found.units) < 2:
        return None
    return adjusted_root(found.totals, found.sizes) ** 2


def test_a_group_has_its_cells_members_and_sizes() -> None:
    groups = make_groups([["a"], ["a", "b"], ["b"], []])
    evidence = make_evidence(Mean, make_table([1.0, 1.0, 0.0, 5.0]), groups)
    assert evidence.tags == (None, "a", "b", "(untagged)")
    assert evidence.n.tolist() == [4, 2, 2, 1]
    assert evidence.is_simple
    assert evidence.n_clusters(0) is None
    values = evidence.rows.distinct["total"].to_numpy()
    for group, expected in ((0, [0, 1, 1, 5]), (1, [1, 1]), (2, [0, 1]), (3, [5])):
        codes, times = evidence.cells_of(group)
        assert np.repeat(values[codes], times).tolist() == expected
        found, counts = evidence.values_of(group, "total")
        assert np.repeat(found, counts.astype(int)).tolist() == expected
        members = evidence.members_of(group)
        assert sorted(values[members.code]) == expected
        assert evidence.mean_of(group, "total") == np.mean(expected)
    expected_sums = [(0, 4.0, 7.0), (1, 2.0, 2.0), (2, 2.0, 1.0), (3, 1.0, 5.0)]
    assert evidence.sums.rows() == expected_sums


def test_a_mean_that_is_too_large_is_infinite() -> None:
    evidence = make_evidence(Mean, make_table([1e308, 1e308, 1.5e308]))
    assert evidence.mean_of(0, "total") == math.inf


def test_groups_without_rows_are_empty() -> None:
    groups = make_groups([["a"], ["b"], ["a"]])
    table = make_table([1.0, 2.0, 3.0], present=[0, 2])
    evidence = make_evidence(Mean, table, groups)
    assert evidence.n.tolist() == [2, 2, 0]
    assert evidence.cells_of(2)[0].tolist() == []
    assert evidence.influences(2) is None
    assert variance_of(evidence, 2) is None


@pytest.mark.parametrize("metric", [Mean, BootstrapMean, Ratio])
def test_squared_influences_add_up_to_the_variance(metric: Any) -> None:
    random = np.random.default_rng(0)
    values, others = random.exponential(size=60), random.exponential(size=60) + 1
    groups = make_groups([["t"] if i % 3 else [] for i in range(60)])
    evidence = make_evidence(metric, make_table(values, others), groups)
    for group in range(3):
        found = evidence.influences(group)
        assert found is not None
    if metric is not Ratio:
        variance = variance_of(evidence, 0)
        assert variance == pytest.approx(values.var(ddof=1) / 60, rel=1e-6)


def test_one_example_has_no_variance() -> None:
    groups = make_groups([["t"], [], []])
    assert (
        variance_of(make_evidence(Mean, make_table([1.0, 2.0, 3.0]), groups), 1) is None
    )
    clustered = make_table([1.0, 2.0, 3.0], clusters=[1, 1, 2])
    evidence = make_evidence(Mean, clustered, make_groups([["t"], ["t"], []]))
    assert variance_of(evidence, 1) is None
    assert variance_of(evidence, 0) is not None


def test_clustered_variances_equal_the_formula() -> None:
    random = np.random.default_rng(1)
    clusters = random.integers(0, 15, 90).tolist()
    values = (random.normal(size=15)[clusters] + random.normal(size=90)).tolist()
    tags = [["t"] if i < 50 else [] for i in range(90)]
    table = make_table(values, clusters=clusters)
    evidence = make_evidence(Mean, table, make_groups(tags))
    for group, part in ((0, slice(0, 90)), (1, slice(0, 50)), (2, slice(50, 90))):
        inside = values[part]
        mean = float(np.mean(inside))
        error = clustered_error([x - mean for x in inside], clusters[part], len(inside))
        variance = variance_of(evidence, group)
        assert variance is not None
        assert math.sqrt(variance) == pytest.approx(error, rel=1e-7)
        assert evidence.n_clusters(group) == len(set(clusters[part]))


def test_clustered_ratios_equal_the_formula() -> None:
    random = np.random.default_rng(2)
    clusters = random.choice(list("abcdefgh"), 70).tolist()
    above, below = random.poisson(3, 70) / 1.0, random.poisson(5, 70) + 1.0
    ratio = above.sum() / below.sum()
    error = clustered_error(list((above - ratio * below) / below.mean()), clusters, 70)
    table = make_table(above, below, clusters=clusters)
    variance = variance_of(make_evidence(Ratio, table), 0)
    assert variance is not None
    assert math.sqrt(variance) == pytest.approx(error, rel=1e-6)


def test_several_rows_of_an_example_are_summed() -> None:
    texts = ["a bb", "ccc", "", "a a a", "dddd bb"]
    groups = make_groups([["t"], ["t"], ["t"], [], []])
    evidence = make_evidence(Words, make_table(texts), groups)
    assert not evidence.is_simple
    assert evidence.n.tolist() == [4, 2, 2]
    found = evidence.influences(0)
    assert found is not None
    assert found.sizes.tolist() == [1.0] * 4
    above, below = np.array([3.0, 3.0, 3.0, 6.0]), np.array([2.0, 1.0, 3.0, 2.0])
    ratio = above.sum() / below.sum()
    expected = (above - ratio * below) / below.sum()
    assert np.sort(found.totals) == pytest.approx(np.sort(expected), rel=1e-6)


def test_sizes_of_units_count_examples_with_several_rows_once() -> None:
    texts = ["a bb", "ccc", "", "a a a", "dddd bb"]
    table = make_table(texts, clusters=[3, 3, 4, 4, 9])
    evidence = make_evidence(Words, table)
    ones = np.ones(evidence.rows.distinct.height)
    found = evidence.unit_sums(0, ones)
    assert found.units.tolist() == [0, 1, 2]
    assert found.totals.tolist() == [3.0, 3.0, 2.0]
    assert found.sizes.tolist() == [2.0, 1.0, 1.0]
    assert evidence.n_clusters(0) == 3


def test_sums_of_units_do_not_depend_on_the_order_of_rows() -> None:
    random = np.random.default_rng(3)
    values = random.normal(size=200) * 10.0 ** random.integers(-6, 6, 200)
    clusters = random.integers(0, 5, 200)
    order = random.permutation(200)
    first = make_evidence(Mean, make_table(values, clusters=clusters))
    second = make_evidence(Mean, make_table(values[order], clusters=clusters[order]))
    for evidence in (first, second):
        assert not evidence.is_simple
    one = first.unit_sums(0, first.rows.distinct["total"].to_numpy())
    other = second.unit_sums(0, second.rows.distinct["total"].to_numpy())
    assert one.totals.tolist() == other.totals.tolist()


@pytest.mark.parametrize(
    ("metric", "kind", "column"),
    [
        (Mean, "t", "total"),
        (BootstrapMean, "bootstrap", None),
        (OwnScore, "t", "score"),
        ("macro-f1", "multinomial", None),
        ("accuracy", "wilson", "correct"),
    ],
)
def test_what_a_metric_declares_or_implies(
    metric: Any, kind: str, column: str | None
) -> None:
    assert bound(metric).interval_kind == kind
    assert bound(metric).example_column == column


def test_replications_count_once() -> None:
    table = make_table(
        [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], replications="ab", present=[0, 1, 3, 5]
    )
    groups = make_groups([["t"]] * 4 + [[]] * 2)
    for metric in (Mean, BootstrapMean):
        evidence = make_evidence(metric, table, groups)
        assert not evidence.is_simple
        assert evidence.n.tolist() == [3, 2, 1]
