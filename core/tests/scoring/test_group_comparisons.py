"""Conclusions about the groups of facets hold as often as they promise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from evalkit.inference import largest_differences
from evalkit.inference.intervals import Interval
from evalkit.inference.multiplicity import holm
from evalkit.scoring import group_replicates
from evalkit.scoring.records import MetricScores

from ..engine_tables import (
    Mean,
    Share,
    aggregate,
    make_groups,
    make_table,
    scored,
)


class BoundedMean(Mean):
    bounds = (0.0, 1.0)


def bounds_of(interval: Interval) -> tuple[float, float]:
    assert interval.low is not None
    assert interval.high is not None
    return interval.low, interval.high


def gaps(found: MetricScores) -> list[Any]:
    return [one for one in found.aggregates if one.kind.startswith("gap:")]


def facets_of_labels(
    size: int, sets: int, seed: int
) -> tuple[list[str], list[str], list[list[str]]]:
    random = np.random.default_rng(seed)
    count = sets * 10 * size
    gold = random.integers(0, 3, count)
    wrong = (gold + random.integers(1, 3, count)) % 3
    said = np.where(random.random(count) < 0.72, gold, wrong)
    tags = [
        [f"s{number // (10 * size)}:{number // size % 10}"] for number in range(count)
    ]
    return ["xyz"[c] for c in said], ["xyz"[c] for c in gold], tags


@pytest.mark.slow
def test_equal_groups_of_few_labels_are_seldom_called_different(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With errors by the delta method, 10 groups of 12 are in one report of five."""
    monkeypatch.setattr(largest_differences, "DRAWS", 2_000)
    monkeypatch.setattr(group_replicates, "REPLICATES", 200)
    said, gold, tags = facets_of_labels(12, 60, 1)
    found = scored("macro-f1", make_table(said, gold), make_groups(tags))
    found_p = [one.p_value for one in gaps(found)]
    assert None not in found_p
    assert np.mean(np.array(found_p) < 0.05) <= 0.1


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
    assert gap.p_value < 1e-6
    all_right = make_table([1.0] * 80)
    none = aggregate(scored(BoundedMean, all_right, make_groups(tags)), "gap:f")
    assert none.p_value == 1.0


def eight_facets(seed: int) -> MetricScores:
    random = np.random.default_rng(seed)
    values = (random.random(240) < 0.7).astype(float)
    tags = [[f"f{f}:{random.integers(0, 4)}" for f in range(8)] for _ in values]
    return scored(Share, make_table(values.tolist()), make_groups(tags))


@pytest.mark.slow
def test_the_tests_of_several_facets_are_adjusted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Eight facets of equal groups: one of three reports claimed a difference."""
    plain = adjusted = 0
    monkeypatch.setattr(largest_differences, "DRAWS", 2_000)
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


# the mean over groups ------------------------------------------------------------


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
def test_the_mean_over_small_groups_near_one_is_held(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Plain variances held .84 of 3 tags of 20 at .97, smoothed ones .96."""
    monkeypatch.setattr(largest_differences, "DRAWS", 200)
    random = np.random.default_rng(6)
    values = (random.random(150 * 60) < 0.97).astype(float)
    assert covers(Share, values, 0.97, 150, 20) >= 0.91
    scores = np.where(random.random(150 * 60) < 0.95, 1.0, random.random(150 * 60))
    assert covers(BoundedMean, scores, 0.975, 150, 20) >= 0.91


def test_the_mean_over_groups_is_wilsons_with_the_degrees_of_satterthwaite() -> None:
    sizes, right = [10, 40, 30], [10, 31, 12]
    values = [float(i < r) for r, n in zip(right, sizes, strict=True) for i in range(n)]
    tags = [[f"f:{t}"] for t, n in zip("abc", sizes, strict=True) for _ in range(n)]
    found = aggregate(scored(Share, make_table(values), make_groups(tags)), "macro:f")
    pooled = (sum(right) + 1) / (sum(sizes) + 2)
    smoothed = [(r + 2 * pooled) / (n + 2) for r, n in zip(right, sizes, strict=True)]
    variances = [p * (1 - p) / n for p, n in zip(smoothed, sizes, strict=True)]
    degrees = sum(variances) ** 2 / sum(
        v**2 / (n - 1) for v, n in zip(variances, sizes, strict=True)
    )
    error = sum(variances) ** 0.5 / 3
    assert found.interval.standard_error == pytest.approx(error)
    mean = np.mean(smoothed)
    effective = mean * (1 - mean) / error**2
    t = stats.t.isf(0.025, int(degrees))
    # Wilson's bounds are where the value is t standard errors away
    for bound in bounds_of(found.interval):
        assert abs(float(found.value or 0.0) - bound) == pytest.approx(
            t * (bound * (1 - bound) / effective) ** 0.5, rel=1e-6
        )
    assert found.interval.method == "wilson-facet"


def test_the_mean_over_perfect_groups_has_an_interval_inside_the_bounds() -> None:
    tags = [[f"f:{i % 4}"] for i in range(40)]
    for metric in (Share, BoundedMean):
        found = aggregate(
            scored(metric, make_table([1.0] * 40), make_groups(tags)), "macro:f"
        )
        low, high = bounds_of(found.interval)
        assert high == 1.0
        assert 0.8 < low < 0.98
