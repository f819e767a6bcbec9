"""Influences and replicates of patterns, against formulas that are known."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import polars as pl
import pytest

from evalkit import MetricContext
from evalkit.catalog import BoundMetric, Registry, Resolver
from evalkit.scoring.table import make_table
from evalkit.tallies.build import tally_table
from evalkit.tallies.counted import MetricCounts
from evalkit.tallies.influences import unit_influences
from evalkit.tallies.replicates import draw_values
from evalkit.tallies.samples import GroupSample

RIGHT = [1.0] * 30 + [0.0] * 20
CLUSTERS = [number // 5 for number in range(50)]


def sample_of(
    name: str, values: Sequence[float], clusters: Sequence[int] | None = None
) -> GroupSample:
    metric = BoundMetric.of(Resolver(Registry()).metric(name))
    context = MetricContext(("a", "b"), "one")
    predictions = ["a" if value else "b" for value in values]
    table = make_table(
        predictions,
        ["a" if n % 3 else "b" for n in range(len(values))]
        if metric.keys
        else ["a"] * len(values),
        context,
        ids=[str(number) for number in range(len(values))],
        clusters=clusters,
    )
    none = pl.Series("out", [None] * len(values), dtype=pl.String)
    tags = pl.Series("tags", [[]] * len(values), dtype=pl.List(pl.String))
    tallies = tally_table([metric], table, none, tags).tallies
    tally = tallies.metrics[metric.name].tally
    assert tally is not None
    counts = MetricCounts(metric, context, tally, tallies.tag_sets)
    return counts.sample(0, clusters is not None)


def test_influences_of_a_mean_are_distances_from_it() -> None:
    sums = unit_influences(sample_of("exact-match", RIGHT))[""]
    squares = float((sums.totals**2 * sums.times).sum())
    assert math.sqrt(squares) == pytest.approx(math.sqrt(0.6 * 0.4 / 50), rel=1e-6)
    assert float((sums.totals * sums.times).sum()) == pytest.approx(0, abs=1e-12)


def test_influences_of_clusters_add_up_within_them() -> None:
    sums = unit_influences(sample_of("exact-match", RIGHT, CLUSTERS))[""]
    expected = [(5 * 1 - 5 * 0.6) / 50] * 6 + [(0 - 5 * 0.6) / 50] * 4
    assert sums.totals.tolist() == pytest.approx(expected, rel=1e-6)
    assert sums.sizes.tolist() == [5.0] * 10


@pytest.mark.parametrize(
    ("clusters", "error"),
    [(None, math.sqrt(0.6 * 0.4 / 50)), (CLUSTERS, math.sqrt(0.6 * 0.4 / 10))],
)
def test_replicates_of_a_share_spread_as_the_binomial(
    clusters: list[int] | None, error: float
) -> None:
    sample = sample_of("exact-match", RIGHT, clusters)
    values = draw_values(sample, 4_000, np.random.default_rng(0))[""]
    assert values.mean() == pytest.approx(0.6, abs=4 * error / math.sqrt(4_000))
    assert values.std() == pytest.approx(error, rel=0.06)


@pytest.mark.parametrize("name", ["macro-f1", "cohen-kappa"])
def test_replicates_and_influences_of_label_pairs_agree(name: str) -> None:
    sample = sample_of(name, RIGHT * 40)
    sums = unit_influences(sample)[""]
    error = math.sqrt(float((sums.totals**2 * sums.times).sum()))
    values = draw_values(sample, 3_000, np.random.default_rng(0))[""]
    assert values.std() == pytest.approx(error, rel=0.08)
