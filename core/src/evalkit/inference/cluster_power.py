"""How many clusters the comparison of two models needs, by simulating it.

Formulas of a mean suppose many clusters. With few, flips of their signs have few
p-values, of which 2 / 2^G is the least, and where models seldom disagree most clusters
say nothing. So sets of right and wrong answers are drawn with the difference that is to
be found, and each is put to the test and the interval that `evalkit compare` decides
by.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evalkit.inference.cluster_sizes import cautious_degrees
from evalkit.inference.intervals import Floats, Integers
from evalkit.inference.sample_sizes import Goal
from evalkit.inference.student_t import normal_quantile, t_quantile

MOST_SIMULATED = 100
"""Clusters beyond which a formula says how many are needed."""

_SETS = 1_000
"""Sets that are drawn to learn how many clusters are needed."""

_SETS_NOW = 400
"""Sets that are drawn for each difference that as many clusters as now could find."""

_HALVINGS = 6
"""Halvings of the range in which such a difference is sought."""

_MOST_LISTED = 11
"""Clusters up to which all flips are listed."""

_FLIPS = 500
"""Random flips of more clusters, at levels that so many can decide."""

_LEAST_FLIPPED = 5e-4
"""Level below which the sum of random flips is taken for normal."""

_FLIPS_OF_LEVEL = 20
"""Flips beyond the level that are to be expected, where there are not too many."""

_MOST_STEPS = 30
"""Units beyond which there are so many p-values that a level is what it is."""

_SEED = 20_261_122


class UnitModel(NamedTuple):
    """What clusters of differences between two models are drawn from."""

    sizes: Floats
    """Sizes that clusters have, of shape (clusters,)."""
    correlation: float
    """Of two examples of a cluster, 0 to 1."""
    disagreement: float
    """Share of the examples on which one model alone is right."""


class _Sets(NamedTuple):
    """Drawn sets of clusters, each array of shape (sets, clusters)."""

    sizes: Floats
    totals: Floats
    """Sums of the differences of a cluster's examples."""
    changes: Floats
    """How many of its examples one model alone is right on."""

    def first(self, clusters: int) -> _Sets:
        """Give the same sets with their first clusters only."""
        kept = slice(None), slice(clusters)
        return _Sets(self.sizes[kept], self.totals[kept], self.changes[kept])


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
    """Give the level that flips of a few signs really have.

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
    """Give the degrees of freedom of some clusters that have such sizes.

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
    clusters: int,
    about: float,
    most: float,
) -> float | None:
    """Find the least difference that so many clusters find.

    Args:
        model_of: Gives what clusters are drawn from where there is this difference.
        goal: Its level and power; its difference is not looked at.
        clusters: How many there are, `MOST_SIMULATED` at most.
        about: The difference by a formula, near which it is sought.
        most: The greatest difference that there can be.

    Returns:
        The difference to some 1 %; None where even the greatest is found too seldom.
    """

    def is_found(difference: float) -> bool:
        model = model_of(difference)
        drawn = _draw(model, difference, clusters, _SETS_NOW)
        return _power(drawn, model, goal) >= goal.power

    if clusters < least_units(goal.level):
        return None
    low, high = min(about, most) / 2, min(2 * about, most)
    while not is_found(high):
        if high >= most:
            return None
        low, high = high, min(2 * high, most)
    for _ in range(_HALVINGS):
        middle = math.sqrt(low * high)
        if is_found(middle):
            high = middle
        else:
            low = middle
    return high


def _draw(model: UnitModel, difference: float, clusters: int, sets: int) -> _Sets:
    random = np.random.default_rng(_SEED)
    sizes = random.choice(model.sizes, (clusters, sets)).T
    unequal = model.disagreement
    gain, loss = (unequal + difference) / 2, max(0.0, (unequal - difference) / 2)
    shares = np.array([gain, loss, max(0.0, 1 - gain - loss)])
    if 0 < model.correlation < 1:
        weights = random.standard_gamma(
            shares * (1 / model.correlation - 1), (clusters, sets, 3)
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
    return _Sets(sizes, gains - losses, gains + losses)


def _power(drawn: _Sets, model: UnitModel, goal: Goal) -> float:
    """Give the share of sets in which the better model is found to be better."""
    found = drawn.totals.sum(axis=1) > 0
    found &= _excludes_zero(drawn, model, goal.level)
    found[found] = _p_values(drawn.totals[found], goal.level) < goal.level
    return float(found.mean())


def _excludes_zero(drawn: _Sets, model: UnitModel, level: float) -> NDArray[np.bool_]:
    """Tell which intervals leave out zero: Tango's of effective pairs."""
    sizes, totals = drawn.sizes, drawn.totals
    units = sizes.shape[1]
    n = sizes.sum(axis=1)
    mean = totals.sum(axis=1) / n
    residuals = totals - mean[:, None] * sizes
    variance = (residuals**2 / (1 - sizes / n[:, None])).sum(axis=1) / n**2
    quantile = t_quantile(1 - level, degrees_of(model.sizes, model.correlation, units))
    # as in effective_pairs; the interval has the variance of no difference
    unequal = drawn.changes.sum(axis=1) / n
    of_shares = np.maximum(unequal - mean**2, 0.0)
    variance = np.maximum(variance, of_shares / n)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(of_shares > 0, n * variance / of_shares, n / units)
        weight = 1 / ((drawn.changes > 0).sum(axis=1) + 1)
        ratio = (1 - weight) * ratio + weight * np.maximum(n / units, ratio)
        reached = mean * np.sqrt(n / ratio)
    excludes: NDArray[np.bool_] = reached > quantile * np.sqrt(unequal)
    return excludes


def _p_values(totals: Floats, level: float) -> Floats:
    """Give the p-values of flips of signs, of sums of shape (sets, clusters)."""
    observed = np.abs(totals.sum(axis=1))
    units = totals.shape[1]
    if units > _MOST_LISTED and level < _LEAST_FLIPPED:
        reached = observed / np.sqrt((totals**2).sum(axis=1))
        is_below = reached > normal_quantile(1 - level)
        floor = 2.0 ** (1.0 - (totals != 0).sum(axis=1))
        return np.where(is_below, np.maximum(floor, level / 2), 1.0)
    flips = _flips(units, level)
    values = totals.astype(np.float32)
    hits = np.empty(len(totals), dtype=np.int64)
    for start in range(0, len(totals), 500):
        part = slice(start, start + 500)
        least = (observed[part] * (1 - 1e-5)).astype(np.float32)
        hits[part] = (np.abs(flips @ values[part].T) >= least).sum(axis=0)
    found: Floats = hits / len(flips)
    return found


def _flips(units: int, level: float) -> Floats:
    """Give signs of shape (flips, units), of which the first is that of no flip."""
    if units <= _MOST_LISTED:
        # the other half are these with all signs turned
        codes: Integers = np.arange(2 ** (units - 1))[:, None]
        flipped = codes >> np.arange(units) & 1
    else:
        count = max(_FLIPS, math.ceil(_FLIPS_OF_LEVEL / level))
        flipped = np.random.default_rng(_SEED).integers(0, 2, (count, units))
        flipped[0] = 0
    return (1 - 2 * flipped).astype(np.float32)
