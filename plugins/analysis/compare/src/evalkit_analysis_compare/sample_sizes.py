"""How many examples a test needs to find a difference of some size.

Each function is about one two-sided test of a paired difference between two models,
whose level is already shared among the tests that are done (Bonferroni).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from evalkit.inference.intervals import Floats, Integers

MOST_UNITS = 10**12
"""More units are never looked for: so many stand for so many or more."""

_STEPS = 40
"""Halvings after which a difference is known to twelve digits."""

_MOST_SUMMED = 200
"""Unequal examples up to which the power of the exact test is summed."""


class Goal(NamedTuple):
    """What a test is to achieve."""

    difference: float
    """The difference that is to be found, above 0, in the unit that scores are in."""
    level: float
    """Probability of finding one where there is none, for this test alone."""
    power: float
    """Probability of finding it."""

    @property
    def quantiles(self) -> tuple[float, float]:
        """The normal quantiles of the level, two-sided, and of the power."""
        normal = NormalDist()
        return -normal.inv_cdf(self.level / 2), normal.inv_cdf(self.power)


def units_for(goal: Goal, variance: float) -> int:
    """Count the independent units that a t test of their mean difference needs.

    `(z_level + z_power)² variance / difference²` units would do if the variance were
    known; `z_level² / 2` more make up for its being estimated (Guenther 1981).

    Args:
        goal: What is to be achieved.
        variance: Of the difference of one unit, above 0.

    Returns:
        The number, at least 2 and at most `MOST_UNITS`.
    """
    level, power = goal.quantiles
    root = (level + power) * math.sqrt(variance) / goal.difference
    return _whole(root, level**2 / 2)


def unseen_units(level: float) -> float:
    """Return how many units may differ in another way where none is seen.

    Args:
        level: Probability that a sample has none of more, above 0 and below 1.

    Returns:
        3 at least, as by the rule of three at the level .05.
    """
    return max(3.0, -math.log(level))


def units_beyond_unseen(goal: Goal, variance: float) -> int:
    """Count the units whose mean difference unseen units of scores to 1 do not undo.

    Args:
        goal: What is to be achieved.
        variance: Of the difference of one unit, above 0.

    Returns:
        The least n with `unseen_units / n + z_power sqrt(variance / n)` below the
        difference, at most `MOST_UNITS`.
    """
    half = goal.quantiles[1] * math.sqrt(variance) / 2
    unseen = goal.difference * unseen_units(goal.level)
    return _whole((half + math.sqrt(half**2 + unseen)) / goal.difference, 0.0)


def pairs_for(goal: Goal, disagreement: float) -> int:
    """Count the examples that McNemar's exact test of two shares needs.

    The number of examples on which exactly one model is right is binomial, and given it
    so is the number on which that is the better one. The power is summed over both,
    where few such examples are enough; else the normal distribution is used, by which
    the test needs `n·difference - 1 = z_level √(n·disagreement) + z_power √(n
    (disagreement - difference²))` (Connor 1987, with Edwards's correction by 1 for
    whole numbers).

    Args:
        goal: What is to be achieved.
        disagreement: Share of the examples on which exactly one model is right; at
            least the difference.

    Returns:
        The number, at least 2 and at most `MOST_UNITS`.
    """
    level, power = goal.quantiles
    difference = goal.difference
    spread = max(0.0, disagreement - difference**2)
    errors = level * math.sqrt(disagreement) + power * math.sqrt(spread)
    root = (errors + math.sqrt(errors**2 + 4 * difference)) / (2 * difference)
    found = _whole(root, 0.0)
    expected = found * disagreement
    if expected > _MOST_SUMMED:
        return found
    # the normal distribution asks for too much where nearly all of them are one model's
    most = math.ceil(expected + 8 * math.sqrt(expected) + 8)
    rejected = _rejections(most, (1 + difference / disagreement) / 2, goal.level)
    low, high = 1, 2 * found
    while high - low > 1:
        middle = (low + high) // 2
        shares = _binomial(middle, most, disagreement)
        if float(shares @ rejected) < goal.power:
            low = middle
        else:
            high = middle
    return max(2, high)


def _rejections(most: int, winning: float, level: float) -> Floats:
    """Return the power of the exact test for each number of unequal examples to `most`.

    The better model is the one that is right with the probability `winning`.
    """
    trials = np.arange(most + 1)[:, None]
    counts = np.arange(most + 1)[None, :]
    others = np.maximum(trials - counts, 0)
    ways = _log_factorials(most)
    logs = ways[trials] - ways[counts] - ways[others]
    logs = np.where(counts <= trials, logs, -np.inf)
    fair = np.exp(logs - trials * math.log(2))
    lost = _times_log(counts, 1 - winning) + _times_log(others, winning)
    won = _times_log(counts, winning) + _times_log(others, 1 - winning)
    is_significant = 2 * np.cumsum(fair, axis=1) < level
    both = np.exp(logs + lost) + np.exp(logs + won)
    found: Floats = np.where(is_significant & (counts <= trials), both, 0.0).sum(axis=1)
    return found


def _binomial(n: int, most: int, share: float) -> Floats:
    """Return the probabilities of 0 to `most` of n, each with probability `share`."""
    counts = np.arange(most + 1)
    # beyond n there are none: any number will do
    left = np.maximum(n - np.arange(most), 1)
    others = np.maximum(n - counts, 0)
    logs = np.concatenate([[0.0], np.cumsum(np.log(left))]) - _log_factorials(most)
    logs += _times_log(counts, share) + _times_log(others, 1 - share)
    found: Floats = np.where(counts <= n, np.exp(np.minimum(logs, 0.0)), 0.0)
    return found


def _log_factorials(most: int) -> Floats:
    found: Floats = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, most + 1)))])
    return found


def _times_log(counts: Integers, share: float) -> Floats:
    """Return counts times the logarithm of a share, where 0 times anything is 0."""
    if share > 0:
        return counts.astype(np.float64) * math.log(share)
    return np.where(counts == 0, 0.0, -np.inf)


def detectable(needed: Callable[[float], int], units: int, most: float) -> float | None:
    """Find the least difference for which so many units are enough.

    Args:
        needed: Gives the units that a difference needs, fewer for a larger one.
        units: How many there are.
        most: The greatest difference that there can be.

    Returns:
        The difference; None where even the greatest needs more units.
    """
    if needed(most) > units:
        return None
    low, high = 0.0, most
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        if needed(middle) > units:
            low = middle
        else:
            high = middle
    return high


def _whole(root: float, more: float) -> int:
    """Return a square and some more, rounded up, within what is planned."""
    # the square of a number that is too large for it is an error
    if root > math.sqrt(MOST_UNITS):
        return MOST_UNITS
    return min(MOST_UNITS, max(2, math.ceil(root**2 + more)))
