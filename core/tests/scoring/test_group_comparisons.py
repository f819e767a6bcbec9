"""Conclusions about the groups of facets hold as often as they promise."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from evalkit.scoring.records import MetricScores
from evalkit.statistics.facets import holm
from evalkit.statistics.intervals import Interval

from ..engine_tables import Mean, Share, aggregate, make_groups, make_table, scored


class BoundedMean(Mean):
    bounds = (0.0, 1.0)


def bounds_of(interval: Interval) -> tuple[float, float]:
    assert interval.low is not None
    assert interval.high is not None
    return interval.low, interval.high


def gaps(found: MetricScores) -> list[Any]:
    return [one for one in found.aggregates if one.kind.startswith("gap:")]


@pytest.mark.parametrize("is_shared", [False, True])
def test_a_perfect_group_in_clusters_does_not_cancel_the_test(is_shared: bool) -> None:
    clusters = np.repeat(np.arange(20), 10)
    place = np.arange(200) % 2 if is_shared else clusters % 2
    values = np.where(place == 0, 1.0, (clusters * 7 + np.arange(200)) % 10 == 0)
    tags = [[f"f:{'ab'[p]}"] for p in place]
    table = make_table(values.tolist(), clusters=clusters.tolist())
    gap = aggregate(scored(Share, table, make_groups(tags)), "gap:f")
    assert gap.value is not None
    assert gap.value > 0.8
    assert gap.p_value is not None
    assert gap.p_value < 0.001


def test_a_perfect_group_of_a_bounded_mean_does_not_cancel_the_test() -> None:
    random = np.random.default_rng(2)
    values = np.concatenate([np.ones(40), random.random(40)])
    tags = [["f:a"]] * 40 + [["f:b"]] * 40
    gap = aggregate(
        scored(BoundedMean, make_table(values.tolist()), make_groups(tags)), "gap:f"
    )
    assert gap.p_value is not None
    assert gap.p_value < 0.001
    all_right = make_table([1.0] * 80)
    none = aggregate(scored(BoundedMean, all_right, make_groups(tags)), "gap:f")
    assert none.p_value == 1.0


def eight_facets(seed: int) -> MetricScores:
    random = np.random.default_rng(seed)
    values = (random.random(240) < 0.7).astype(float)
    tags = [[f"f{f}:{random.integers(0, 4)}" for f in range(8)] for _ in values]
    return scored(Share, make_table(values.tolist()), make_groups(tags))


@pytest.mark.slow
def test_the_tests_of_several_facets_are_adjusted() -> None:
    """Eight facets of equal groups: one of three reports claimed a difference."""
    plain = adjusted = 0
    for seed in range(20):
        found = gaps(eight_facets(seed))
        p_values = [one.p_value for one in found]
        assert [one.p_adjusted for one in found] == holm(p_values)
        plain += min(p_values) < 0.05
        adjusted += min(one.p_adjusted for one in found) < 0.05
    assert plain >= 5
    assert adjusted <= 3


def test_a_single_facet_needs_no_adjustment() -> None:
    random = np.random.default_rng(3)
    values = (random.random(120) < 0.7).astype(float)
    tags = [[f"f:{i % 4}", "plain"] for i in range(120)]
    gap = aggregate(
        scored(Share, make_table(values.tolist()), make_groups(tags)), "gap:f"
    )
    assert gap.p_adjusted == gap.p_value


def covers(
    metric: Any, values: NDArray[np.float64], truth: float, sets: int, size: int
) -> float:
    """Give how often the mean over the groups of a facet is held."""
    groups = len(values) // sets // size
    tags = [
        [f"s{number // (groups * size)}:{number // size % groups}"]
        for number in range(len(values))
    ]
    found = scored(metric, make_table(values.tolist()), make_groups(tags))
    held = [
        bounds_of(one.interval)[0] <= truth <= bounds_of(one.interval)[1]
        for one in found.aggregates
        if one.kind.startswith("macro:")
    ]
    assert len(held) == sets
    return float(np.mean(held))


@pytest.mark.slow
def test_the_mean_over_small_groups_near_one_is_held() -> None:
    """Plain variances held .84 of 3 tags of 20 at .97."""
    random = np.random.default_rng(6)
    values = (random.random(150 * 60) < 0.97).astype(float)
    assert covers(Share, values, 0.97, 150, 20) >= 0.87
