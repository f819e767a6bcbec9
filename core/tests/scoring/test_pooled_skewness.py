"""Tests of the worst group and the mean over groups of skewed scores."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from evalkit.inference.skewed_means import hall_bounds

from ..engine_tables import Mean, aggregate, main_score, make_groups, make_table, scored

TAGS = [[f"f:{'abcde'[number % 5]}"] for number in range(75)]


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
