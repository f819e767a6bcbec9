"""Worlds of means: near a bound, with a long tail, and in clusters of unequal size."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np
import polars as pl
from simulated_sets import (
    Floats,
    Integers,
    Outcomes,
    Random,
    RealMean,
    Sample,
    ScoreMean,
    set_outcomes,
)

Simulate = Callable[[Random, int, int], Mapping[str, Outcomes]]
Draw = Callable[[Random, int], Floats]
"""Draws that many scores."""


def scores(draw: Draw, truth: float) -> Simulate:
    """Make a world of scores from 0 to 1."""
    return _world(ScoreMean, draw, truth)


def lognormal(sigma: float) -> Simulate:
    """Make a world of lognormal values, of which 1 is the median."""

    def draw(random: Random, count: int) -> Floats:
        return np.exp(sigma * random.normal(size=count))

    return _world(RealMean, draw, math.exp(sigma**2 / 2))


def _world(metric: type[ScoreMean], draw: Draw, truth: float) -> Simulate:
    def simulate(random: Random, sets: int, n: int) -> Mapping[str, Outcomes]:
        values = pl.Series(draw(random, sets * n))
        sample = Sample(values, values, np.repeat(np.arange(sets), n))
        return {"": set_outcomes(metric, sample, truth)}

    return simulate


def f1(right: float) -> Simulate:
    """Make a world of answers that are right, or share some words with what is."""

    def draw(random: Random, count: int) -> Floats:
        is_right = random.random(count) < right
        return np.where(is_right, 1.0, random.beta(2, 2, count))

    return scores(draw, right + (1 - right) / 2)


def _averages(random: Random, count: int) -> Floats:
    return random.binomial(5, random.beta(0.1, 9.9, count)) / 5


def _pass_at_3(random: Random, count: int) -> Floats:
    wrong = 10 - random.binomial(10, random.beta(3, 0.2, count))
    failed: Floats = wrong * (wrong - 1) * (wrong - 2) / (10 * 9 * 8)
    return 1 - failed


def _true_pass_at_3() -> float:
    """Give 1 - E[(1 - p)^3] of p from Beta(3, .2)."""
    failed = math.prod((0.2 + k) / (3.2 + k) for k in range(3))
    return 1 - failed


AVERAGES = scores(_averages, 0.01)
PASS_AT_3 = scores(_pass_at_3, _true_pass_at_3())


def half_in_one(random: Random, count: int) -> Integers:
    """Give one cluster as many examples as all others have, which have 10."""
    return np.array([10 * (count - 1)] + [10] * (count - 1))


def zipf(random: Random, count: int) -> Integers:
    """Give the c-th cluster 300 / c examples."""
    return np.round(300 / np.arange(1, count + 1)).astype(np.int64)


def lognormal_sizes(random: Random, count: int) -> Integers:
    """Draw sizes of clusters whose logarithms vary by 1."""
    return np.ceil(np.exp(random.normal(2, 1, count))).astype(np.int64)


def unequal_means(
    sizes: Callable[[Random, int], Integers], correlation: float, sigma: float = 0.0
) -> Simulate:
    """Make a world of normal values in clusters, or of lognormal ones."""

    def simulate(random: Random, sets: int, count: int) -> Mapping[str, Outcomes]:
        numbers, clusters = _in_clusters(sizes, random, sets, count)
        shared = random.normal(0, math.sqrt(correlation), sets * count)
        own = random.normal(0, math.sqrt(1 - correlation), len(clusters))
        values = shared[clusters] + own
        if sigma:
            values = np.exp(sigma * values)
        truth = math.exp(sigma**2 / 2) if sigma else 0.0
        series = pl.Series(values)
        sample = Sample(series, series, numbers, clusters=clusters)
        return {"": set_outcomes(RealMean, sample, truth)}

    return simulate


def unequal_scores(
    sizes: Callable[[Random, int], Integers],
    share: float,
    correlation: float,
    partial: bool = False,
) -> Simulate:
    """Make a world of zeros and ones in clusters, or of ones and scores between."""
    spread = 1 / correlation - 1

    def simulate(random: Random, sets: int, count: int) -> Mapping[str, Outcomes]:
        numbers, clusters = _in_clusters(sizes, random, sets, count)
        rates = random.beta(share * spread, (1 - share) * spread, sets * count)
        is_right = random.random(len(clusters)) < rates[clusters]
        if not partial:
            said = pl.Series(np.where(is_right, "yes", "no"))
            gold = pl.repeat("yes", len(said), eager=True)
            sample = Sample(said, gold, numbers, clusters=clusters)
            return {"": set_outcomes("accuracy", sample, share)}
        values = np.where(is_right, 1.0, random.beta(2, 2, len(clusters)))
        series = pl.Series(values)
        sample = Sample(series, series, numbers, clusters=clusters)
        return {"": set_outcomes(ScoreMean, sample, share + (1 - share) / 2)}

    return simulate


def _in_clusters(
    sizes: Callable[[Random, int], Integers], random: Random, sets: int, count: int
) -> tuple[Integers, Integers]:
    """Give the set and the cluster of each example."""
    drawn = np.concatenate([sizes(random, count) for _ in range(sets)])
    clusters = np.repeat(np.arange(sets * count), drawn)
    return clusters // count, clusters
