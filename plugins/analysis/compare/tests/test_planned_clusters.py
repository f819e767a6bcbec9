"""Planned clusters are as many as the test and the interval of a comparison need."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from evalkit import EvalkitError
from evalkit.inference.intervals import Floats
from evalkit_analysis_compare import Plan, plan
from evalkit_analysis_compare.cluster_power import (
    degrees_of,
    least_units,
    level_of_flips,
)
from evalkit_analysis_compare.effective_pairs import share_difference_interval
from evalkit_analysis_compare.sign_flips import flip_test

from .comparison_runs import make_run

SIZE = 6


def drawn(rng: np.random.Generator, sets: int, clusters: int) -> tuple[Floats, Floats]:
    """Draw two models of .80 and .60, whose answers are alike within clusters.

    Whether an answer is right depends on normal variables of its cluster and its own,
    nine tenths of which both models share: another world than plans are made with.
    """
    found = []
    text = rng.normal(size=(sets, clusters, 1))
    example = rng.normal(size=(sets, clusters, SIZE))
    for share in (0.8, 0.6):
        of_text = np.sqrt(0.9) * text + np.sqrt(0.1) * rng.normal(size=text.shape)
        noise = np.sqrt(0.1) * rng.normal(size=example.shape)
        of_example = np.sqrt(0.9) * example + noise
        hidden = np.sqrt(0.3) * of_text + np.sqrt(0.7) * of_example
        found.append((hidden < stats.norm.ppf(share)).astype(np.float64))
    return found[0], found[1]


def planned(first: Floats, *others: Floats, detect: float, tags: int = 1) -> Plan:
    numbers = np.repeat(np.arange(first.shape[1]), SIZE).tolist()
    runs = [
        make_run(model, per_example={"m": values.ravel().tolist()}, clusters=numbers)
        for model, values in zip("ab", (first, *others), strict=False)
    ]
    return plan(*runs, detect=detect, metric="m", tags=tags)


def test_the_planned_clusters_find_the_difference_of_shares() -> None:
    """By a formula of normal means there were 10 clusters, with a power of .56."""
    rng = np.random.default_rng(3)
    first, second = drawn(rng, 1, 1500)
    [row] = planned(first, second, detect=0.2).rows
    assert row.clusters is not None
    sets = 250
    differences = np.subtract(*drawn(rng, sets, row.clusters))
    numbers = np.repeat(np.arange(row.clusters), SIZE)
    keys = np.arange(row.clusters, dtype=np.uint64)
    found = 0
    for one in differences:
        low = share_difference_interval(one.ravel(), numbers, 0.95).low
        assert low is not None
        found += low > 0 and flip_test(one.sum(axis=1), keys).p_value < 0.05
    assert found / sets == pytest.approx(0.81, abs=0.06)


@pytest.mark.parametrize(("tags", "least"), [(1, 6), (10, 9)])
def test_no_fewer_clusters_are_planned_than_flips_can_decide(
    tags: int, least: int
) -> None:
    """Three clusters were planned, whose least p-value is .25."""
    first, _ = drawn(np.random.default_rng(1), 1, 200)
    rows = planned(first, detect=0.7, tags=tags).rows
    assert [row.clusters for row in rows if (row.clusters or 0) < least] == []
    real = [1.0 + value for value in np.random.default_rng(2).normal(size=600)]
    numbers = np.repeat(np.arange(100), SIZE).tolist()
    run = make_run(per_example={"m": real}, clusters=numbers, unit="", scale=1.0)
    rows = plan(run, detect=9.0, metric="m", tags=tags).rows
    assert {row.clusters for row in rows} == {least}


def test_impossible_correlations_and_differences_are_left_out_of_clusters() -> None:
    """Models of .80 and .50 cannot correlate by .90; a row said that they did."""
    first, _ = drawn(np.random.default_rng(1), 1, 200)
    found = planned(first, detect=0.3)
    assert found.rows[-1].disagreement == pytest.approx(0.3)
    assert [row.correlation for row in found.rows if (row.correlation or 0) > 0.5] == []
    assert any("cannot correlate by more" in text for text in found.assumptions)
    with pytest.raises(EvalkitError, match=r"no model differs from it by 0\.9"):
        planned(first, detect=0.9)


def test_as_many_clusters_as_now_find_what_needs_so_many() -> None:
    first, second = drawn(np.random.default_rng(5), 1, 40)
    [row] = planned(first, second, detect=0.2).rows
    assert row.detectable is not None
    [again] = planned(first, second, detect=row.detectable).rows
    assert again.clusters == pytest.approx(40, abs=4)
    few, others = drawn(np.random.default_rng(5), 1, 5)
    assert planned(few, others, detect=0.2).rows[0].detectable is None


@pytest.mark.parametrize("level", [0.05, 0.01, 1 / 32, 0.0001])
def test_the_least_units_have_a_p_value_below_the_level(level: float) -> None:
    units = least_units(level)
    keys = np.arange(units, dtype=np.uint64)
    assert 2.0 ** (1 - units) < level <= 2.0 ** (2 - units)
    assert flip_test(np.ones(units), keys).least == 2.0 ** (1 - units)
    steps = np.arange(1, 2 ** (units + 2)) / 2 ** (units + 1)
    assert level_of_flips(level, units + 2) == steps[steps < level].max()
    assert level_of_flips(level, 100) == level


def test_unequal_clusters_have_fewer_degrees() -> None:
    assert degrees_of(np.full(8, 3.0), 0.2, 20) == 19
    assert degrees_of(np.array([30.0, *[2.0] * 20]), 0.2, 20) < 12
