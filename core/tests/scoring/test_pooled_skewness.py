"""Tests of the worst group and the mean over groups of skewed scores."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from evalkit.inference.skewed_means import hall_bounds

from ..engine_tables import Mean, aggregate, main_score, make_groups, make_table, scored

TAGS = [[f"f:{'abcde'[number % 5]}"] for number in range(75)]


@pytest.mark.slow
def test_intervals_of_skewed_groups_hold_the_truth() -> None:
    """Without it the worst of five groups covers .78, and their mean .90."""
    random = np.random.default_rng(5)
    truth, sets = math.exp(0.5), 40
    held = {"worst:f": 0, "macro:f": 0}
    for _ in range(sets):
        values = np.exp(random.normal(size=75))
        found = scored(Mean, make_table(values), make_groups(TAGS))
        for kind in held:
            interval = aggregate(found, kind).interval
            held[kind] += interval.low <= truth <= interval.high
    assert held["worst:f"] > 0.95 * sets
    assert held["macro:f"] > 0.9 * sets


def test_hall_bounds_are_of_all_groups_together() -> None:
    values = np.exp(np.random.default_rng(2).normal(size=75))
    found = scored(Mean, make_table(values), make_groups(TAGS))
    groups = values.reshape(15, 5).T
    centred = groups - groups.mean(axis=1, keepdims=True)
    skewness = float(stats.skew(centred.ravel()))
    low, high = aggregate(found, "worst:f").interval[:2]
    worst = groups[groups.mean(axis=1).argmin()]
    error = stats.sem(worst)
    quantile = float(stats.t.isf((1 - 0.95 ** (1 / 5)) / 2, 14))
    least, most = hall_bounds(skewness / math.sqrt(15), quantile)
    assert high == pytest.approx(worst.mean() + most * error, rel=1e-9)
    assert low <= worst.mean() + least * error
    errors = stats.sem(groups, axis=1)
    mean = aggregate(found, "macro:f")
    share = np.sum(errors**3) / math.sqrt(15) / np.sum(errors**2) ** 1.5
    degrees = np.sum(errors**2) ** 2 / np.sum(errors**4 / 14)
    quantile = float(stats.t.isf(0.025, math.floor(degrees)))
    least, most = hall_bounds(skewness * share, quantile)
    total = math.sqrt(np.sum(errors**2)) / 5
    assert mean.interval.high == pytest.approx(groups.mean() + most * total, rel=1e-9)
    assert mean.interval.low == pytest.approx(
        groups.mean() - quantile * total, rel=1e-9
    )


def test_groups_without_skew_keep_students_intervals() -> None:
    values = np.random.default_rng(3).normal(size=75)
    found = scored(Mean, make_table(values), make_groups(TAGS))
    groups = values.reshape(15, 5).T
    worst = groups[groups.mean(axis=1).argmin()]
    half = stats.t.isf((1 - 0.95 ** (1 / 5)) / 2, 14) * stats.sem(worst)
    interval = aggregate(found, "worst:f").interval
    assert interval.low == pytest.approx(worst.mean() - half, rel=1e-9)
    assert interval.high == pytest.approx(worst.mean() + half, rel=1e-9)
    assert main_score(found).interval.method == "t"


@pytest.mark.parametrize("sizes", [(15, 150), (15, 30, 60, 100, 150)])
@pytest.mark.slow
def test_skewed_groups_of_unequal_size_are_seldom_called_different(
    sizes: tuple[int, ...],
) -> None:
    """With each group's own variance 10 to 13 % of reports on equal groups did."""
    random = np.random.default_rng(4)
    tags = [[f"f:{'abcde'[place]}"] for place, n in enumerate(sizes) for _ in range(n)]
    groups, sets = make_groups(tags), 60
    found = [
        aggregate(scored(Mean, make_table(values), groups), "gap:f")
        for values in np.exp(1.5 * random.normal(size=(sets, sum(sizes))))
    ]
    assert sum((gap.p_value or 0.0) < 0.05 for gap in found) <= 0.07 * sets
    assert sum((gap.interval.low or 0.0) <= 0 for gap in found) >= 0.93 * sets


def test_the_variance_of_skewed_groups_is_drawn_half_way_to_that_of_all() -> None:
    random = np.random.default_rng(8)
    parts = [np.exp(1.2 * random.normal(size=15)), np.exp(random.normal(size=150))]
    tags = [["f:a"]] * 15 + [["f:b"]] * 150
    found = scored(Mean, make_table(np.concatenate(parts)), make_groups(tags))
    own = np.array([stats.sem(part) ** 2 for part in parts])
    counts = np.array([15, 150])
    spread = (own * counts**2).sum() / counts.sum()
    wanted = np.maximum(own, (own + spread / counts) / 2).sum()
    error = aggregate(found, "gap:f").interval.standard_error
    assert error == pytest.approx(math.sqrt(wanted), rel=1e-9)
    even = [["f:a"]] * 80 + [["f:b"]] * 85  # the skewness of both nearly cancels out
    values = np.concatenate(parts)
    plain = aggregate(scored(Mean, make_table(values), make_groups(even)), "gap:f")
    own = np.array([stats.sem(part) ** 2 for part in (values[:80], values[80:])])
    assert plain.interval.standard_error == pytest.approx(math.sqrt(own.sum()))


@pytest.mark.slow
def test_the_worst_of_many_groups_has_the_spread_of_all() -> None:
    """By its own spread the worst of 20 groups of 12 covers .78."""
    random = np.random.default_rng(7)
    truth, sets = math.exp(1.5**2 / 2), 20
    tags = [[f"f:{number % 20}"] for number in range(240)]
    held = 0
    for _ in range(sets):
        values = np.exp(1.5 * random.normal(size=240))
        found = scored(Mean, make_table(values), make_groups(tags))
        interval = aggregate(found, "worst:f").interval
        held += interval.low <= truth <= interval.high
    assert held >= 0.95 * sets


def test_intervals_of_small_skewed_groups_hold_the_truth() -> None:
    """By their own examples they cover .79."""
    sigma = 1.5
    values = np.exp(sigma * np.random.default_rng(6).normal(size=1_600))
    tags = [[f"f{number // 200}:{number % 20}"] for number in range(1_600)]
    found = scored(Mean, make_table(values), make_groups(tags))
    truth = math.exp(sigma**2 / 2)
    held = [
        score.interval.low <= truth <= score.interval.high
        for score in found.scores
        if score.n == 10
    ]
    assert len(held) == 160
    assert np.mean(held) >= 0.93


def test_a_small_group_has_the_mean_skewness_of_the_groups_of_its_facet() -> None:
    values = np.exp(np.random.default_rng(2).normal(size=75))
    values[::5] *= 1_000  # one group's unit says nothing of the others
    found = scored(Mean, make_table(values), make_groups(TAGS))
    groups = values.reshape(15, 5).T
    skewness = float(stats.skew(groups, axis=1).mean())
    quantile = float(stats.t.isf(0.025, 14))
    _, most = hall_bounds(skewness / math.sqrt(15), quantile)
    small = [score for score in found.scores if score.n == 15]
    assert len(small) == 5
    reaches = [
        (score.interval.high - score.value) / score.interval.standard_error
        for score in small
    ]
    assert min(reaches) == pytest.approx(most, rel=1e-9)
