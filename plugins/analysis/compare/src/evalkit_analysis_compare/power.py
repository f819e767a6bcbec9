"""Sample sizes and detectable differences of a two-sided test of a mean difference.

One formula, with the variance V of the difference of one independent unit, for a
difference d and the quantiles a = z(1 - level / 2) and b = z(power) (Guenther 1981):

    units = (a + b)² V / d² + a² / 2

The first term supposes that the variance is known, the second adds what estimating it
costs. A level is already shared among the tests that are read together (Bonferroni).
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import NamedTuple

from evalkit.statistics.student_t import t_quantile

POWER = 0.8
"""Probability of finding a difference."""

MOST_UNITS = 10**12
"""Upper limit of a sample size; this value means "at least this many"."""


class Goal(NamedTuple):
    """What a test is to achieve."""

    difference: float
    """The difference to detect, above 0, as stored."""
    level: float
    """Level of this test, above 0 and below 1."""
    power: float
    """Probability of finding the difference, above the level."""


def units_needed(goal: Goal, variance: float) -> int:
    """Return the number of independent units that find a difference."""
    root = _quantiles(goal) * math.sqrt(variance) / goal.difference
    # the square of a larger number overflows
    if root > math.sqrt(MOST_UNITS):
        return MOST_UNITS
    units = math.ceil(root**2 + _estimated(goal.level))
    return min(MOST_UNITS, max(units, _fewest(goal.level)))


def difference_found(goal: Goal, variance: float, units: int) -> float | None:
    """Return the smallest difference that a number of units finds."""
    if units < _fewest(goal.level):
        return None
    return _quantiles(goal) * math.sqrt(variance / (units - _estimated(goal.level)))


def detectable_difference(error: float, level: float, degrees: float) -> float:
    """Return the difference that a test finds with 80 % power.

    It is `(t(1 - level / 2) + t(.8)) · error`, with Student's quantiles (Cohen 1988).
    """
    found = t_quantile(1 - level, degrees) + t_quantile(2 * POWER - 1, degrees)
    return error * found


def error_of_equal_models(error: float, difference: float, units: float) -> float:
    """Return the standard error of a difference if models were equally good.

    The values of units vary about the difference. Those of two models that are as
    unlike, but equally good, vary about 0: by the square of the difference more.
    """
    return math.sqrt(error**2 + difference**2 / units)


def _quantiles(goal: Goal) -> float:
    """Return the sum of the normal quantiles of the level and the power."""
    return NormalDist().inv_cdf(goal.power) - NormalDist().inv_cdf(goal.level / 2)


def _estimated(level: float) -> float:
    """Return the units that estimating the variance costs."""
    return NormalDist().inv_cdf(level / 2) ** 2 / 2


def _fewest(level: float) -> int:
    """Return the least number G of units with 2 / 2^G below the level."""
    return max(2, math.floor(1 - math.log2(level)) + 1)
