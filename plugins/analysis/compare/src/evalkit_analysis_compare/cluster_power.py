"""What the comparison of two models finds in clusters, by simulating it.

Formulas of a mean suppose many clusters of one size. With few, flips of their signs
have few p-values, of which 2 / 2^G is the least; a large one decides almost alone; and
where models seldom disagree most clusters say nothing. So sets of clusters are drawn
with the difference that is to be found, and each is put to the test and the interval
that `evalkit compare` decides by.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evalkit.inference.cluster_sizes import (
    cautious_degrees,
    degrees_of_freedom,
    variance_components,
)
from evalkit.inference.intervals import Floats
from evalkit.inference.student_t import t_quantile
from evalkit_analysis_compare.sample_sizes import Goal
from evalkit_analysis_compare.sign_tails import flip_p_values

MOST_SIMULATED = 100
"""Clusters beyond which a formula says how many are needed."""

_SETS = 1_000
"""Sets that are drawn to learn how many clusters are needed."""

FEWEST_SETS, MOST_SETS = 200, 400
"""Sets that are drawn for each difference that as many clusters as now may find."""

_CLUSTERS_OF_SETS = 20_000
"""Clusters in all of these sets, unless the sets are fewest or most."""

_MOST_TRIED = 6
"""Differences that are tried."""

_NEAR = 0.05
"""Distance from the power that is wanted, in normal quantiles, which is near enough."""

_FARTHEST = 0.02
"""What a power seen in a sample of sets is kept away from 0 and 1."""

_MOST_STEPS = 30
"""Units beyond which there are so many p-values that a level is what it is."""

_GRID = (0.0, 0.03, 0.1, 0.2, 0.4, 0.7, 1.0)
"""Correlations for which degrees of freedom are computed."""

_SEED = 20_261_122


class UnitModel(NamedTuple):
    """What clusters of differences between two models are drawn from."""

    sizes: Floats
    """Sizes that clusters have, of shape (clusters,)."""
    correlation: float
    """Of two examples of a cluster, 0 to 1."""
    disagreement: float | None
    """Share of the examples on which one model alone is right, or the mean size of the
    differences of other scores between 0 and 1; None for scores without bounds."""
    variance: float | None = None
    """Of an example's difference, which is normal; None where answers are right or
    wrong."""


class _Sets(NamedTuple):
    """Drawn sets of clusters, each array of shape (sets, clusters)."""

    sizes: Floats
    totals: Floats
    """Sums of the differences of a cluster's examples."""
    squares: Floats
    """Sums of their squares."""
    changes: Floats
    """Sums of their sizes."""

    def first(self, clusters: int) -> _Sets:
        """Return the same sets with their first clusters only."""
        kept = slice(None), slice(clusters)
        return _Sets(*(part[kept] for part in self))


def least_units(level: float) -> int:
    """Count the units that must differ for flips of signs to have a p-value below it.

    Args:
        level: Level of the test, above 0 and below 1.

    Returns:
        The least G for which 2 / 2^G, the least p-value, is below the level.
    """
    units = max(1, math.floor(1 - math.log2(level)))
    while 2.0 ** (1 - units) >= level:
        units += 1
    return units


def level_of_flips(level: float, units: int) -> float:
    """Return the level that flips of a few signs really have.

    Args:
        level: Level of the test.
        units: How many units differ; `least_units` or more.

    Returns:
        The greatest p-value of these flips that is below the level.
    """
    if units > _MOST_STEPS:
        return level
    steps = 1 << (units - 1)
    return (math.ceil(level * steps) - 1) / steps


def degrees_of(sizes: Floats, correlation: float, units: int) -> float:
    """Return the degrees of freedom of some clusters that have such sizes.

    Args:
        sizes: Sizes of clusters, of shape (clusters,).
        correlation: Of two examples of a cluster, 0 to 1.
        units: How many clusters there are to be.

    Returns:
        One less than the units; fewer where sizes are unequal.
    """
    if len(sizes) < 2 or (sizes == sizes[0]).all():
        return units - 1.0
    seen = cautious_degrees(sizes, correlation)
    return max(1.0, (units - 1) * seen / (len(sizes) - 1))


def clusters_for(model: UnitModel, goal: Goal, about: int) -> int:
    """Count the clusters with which a comparison finds a difference.

    Args:
        model: What clusters are drawn from.
        goal: What is to be achieved.
        about: The number by a formula, from which the search starts.

    Returns:
        The least number whose simulated power is that of the goal; that of the formula
        where this is more than `MOST_SIMULATED`.
    """
    low = max(2, least_units(goal.level)) - 1
    high = max(low + 1, about)
    if high > MOST_SIMULATED:
        return high
    drawn = _draw(model, goal.difference, high, _SETS)
    while _power(drawn, model, goal) < goal.power:
        low, high = high, high + max(4, high // 4)
        drawn = _draw(model, goal.difference, high, _SETS)
    while high - low > 1:
        middle = (low + high) // 2
        if _power(drawn.first(middle), model, goal) < goal.power:
            low = middle
        else:
            high = middle
    return high


def detectable_with(
    model_of: Callable[[float], UnitModel],
    goal: Goal,
    clusters: int | None,
    about: float,
    most: float,
    sets: int = MOST_SETS,
) -> float | None:
    """Find the least difference that so many clusters find.

    Powers that were seen are taken for normal probabilities of the difference, by which
    the next one is chosen.

    Args:
        model_of: Gives what clusters are drawn from where there is this difference.
        goal: Its level and power; its difference is not looked at.
        clusters: How many there are, whose sizes are drawn from those of the model;
            None for the model's clusters as they are.
        about: The difference by a formula, from which the search starts.
        most: The greatest difference that there can be.
        sets: How many sets are drawn for each difference that is tried; fewer of many
            clusters.

    Returns:
        The difference to some 3 %; None where even the greatest is found too seldom.
    """
    units = len(model_of(about).sizes) if clusters is None else clusters
    if units < least_units(goal.level):
        return None
    sets = min(sets, max(FEWEST_SETS, _CLUSTERS_OF_SETS // units))
    wanted = NormalDist().inv_cdf(goal.power)
    least = -goal.quantiles[0]
    below, above = (0.0, least), (math.inf, math.inf)
    tried = min(about, most)
    for _ in range(_MOST_TRIED):
        model = model_of(tried)
        drawn = _draw(model, tried, clusters, sets)
        power = _power(drawn, model, goal)
        seen = NormalDist().inv_cdf(min(max(power, _FARTHEST), 1 - _FARTHEST))
        if abs(seen - wanted) < _NEAR:
            break
        if seen < wanted:
            if tried >= most:
                return None
            below = (tried, seen)
        else:
            above = (tried, seen)
        if math.isinf(above[0]):
            slope = (below[1] - least) / below[0]
            tried = min(
                most, 2 * tried, tried + max(0.1 * tried, (wanted - seen) / slope)
            )
        else:
            share = (wanted - below[1]) / (above[1] - below[1])
            tried = below[0] + share * (above[0] - below[0])
    return tried


def _draw(
    model: UnitModel, difference: float, clusters: int | None, sets: int
) -> _Sets:
    random = np.random.default_rng(_SEED)
    if clusters is None:
        sizes = np.tile(model.sizes, (sets, 1))
    else:
        sizes = random.choice(model.sizes, (clusters, sets)).T
    if model.variance is None:
        return _right_or_wrong(random, model, difference, sizes)
    variance = model.variance * sizes * (1 + (sizes - 1) * model.correlation)
    noise = random.standard_normal(sizes.T.shape).T
    totals = difference * sizes + np.sqrt(variance) * noise
    within = model.variance * (1 - model.correlation) * (sizes - 1)
    squares = within + totals**2 / sizes
    return _Sets(sizes, totals, squares, sizes * (model.disagreement or 0.0))


def _right_or_wrong(
    random: np.random.Generator, model: UnitModel, difference: float, sizes: Floats
) -> _Sets:
    """Draw how often one model alone is right (Dirichlet-multinomial)."""
    unequal = model.disagreement or 0.0
    gain, loss = (unequal + difference) / 2, max(0.0, (unequal - difference) / 2)
    shares = np.array([gain, loss, max(0.0, 1 - gain - loss)])
    if 0 < model.correlation < 1:
        weights = random.standard_gamma(
            shares * (1 / model.correlation - 1), (*sizes.T.shape, 3)
        )
        # all three may be too small for a float
        weights[weights.sum(axis=2) == 0] = shares
        shares = weights / weights.sum(axis=2, keepdims=True)
    alike = model.correlation >= 1
    counts = random.multinomial(
        np.ones_like(sizes, dtype=np.int64).T if alike else sizes.T.astype(np.int64),
        shares,
    )
    factor = sizes if alike else np.ones_like(sizes)
    gains, losses = counts[..., 0].T * factor, counts[..., 1].T * factor
    return _Sets(sizes, gains - losses, gains + losses, gains + losses)


def _power(drawn: _Sets, model: UnitModel, goal: Goal) -> float:
    """Return the share of sets in which the better model is found to be better."""
    found = drawn.totals.sum(axis=1) > 0
    found &= _excludes_zero(drawn, model, goal.level)
    unit = 1.0 if model.variance is None else 0.0
    found[found] = flip_p_values(drawn.totals[found], unit) < goal.level
    return float(found.mean())


def _excludes_zero(drawn: _Sets, model: UnitModel, level: float) -> NDArray[np.bool_]:
    """Tell which intervals leave out zero: Tango's of effective pairs, or Student's."""
    sizes, totals = drawn.sizes, drawn.totals
    units = sizes.shape[1]
    n = sizes.sum(axis=1)
    mean = totals.sum(axis=1) / n
    residuals = totals - mean[:, None] * sizes
    variance = (residuals**2 / (1 - sizes / n[:, None])).sum(axis=1) / n**2
    if model.disagreement is None:
        degrees = degrees_of_freedom(model.sizes)
        is_far: NDArray[np.bool_] = (
            mean**2 > t_quantile(1 - level, degrees) ** 2 * variance
        )
        return is_far
    quantile = _quantiles(drawn, model, level)
    # as in effective_pairs; the interval has the variance of no difference
    unequal = drawn.changes.sum(axis=1) / n
    of_shares = np.maximum(unequal - mean**2, 0.0)
    least = of_shares if model.variance is None else model.variance
    variance = np.maximum(variance, least / n)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(of_shares > 0, n * variance / of_shares, n / units)
        weight = 1 / ((drawn.changes > 0).sum(axis=1) + 1)
        ratio = (1 - weight) * ratio + weight * np.maximum(n / units, ratio)
        reached = mean * np.sqrt(n / ratio)
    excludes: NDArray[np.bool_] = reached > quantile * np.sqrt(unequal)
    return excludes


def _quantiles(drawn: _Sets, model: UnitModel, level: float) -> Floats:
    """Return the quantile that each set's own correlation makes of its degrees."""
    between, within = variance_components(drawn.totals, drawn.squares, drawn.sizes)
    total = np.where(within > 0, between + within, 1.0)
    seen = np.where(within > 0, between / total, 1.0)
    units = drawn.sizes.shape[1]
    known = [
        t_quantile(1 - level, degrees_of(model.sizes, each, units)) for each in _GRID
    ]
    return np.interp(seen, _GRID, known)
