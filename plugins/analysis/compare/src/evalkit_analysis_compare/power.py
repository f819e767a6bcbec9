"""Which true differences a comparison would find, at the level that it tests at.

Pure functions of variances, counts and levels, also for planning data sets.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from evalkit.inference.intervals import Floats
from evalkit.inference.student_t import normal_quantile, t_quantile

POWER = 0.8
"""Probability with which a difference is to be found."""

_MOST_EXACT = 1_500
"""Disagreements up to which binomial probabilities are summed."""

_SPREAD = 4.0
"""Standard deviations to either side within which disagreements are looked at."""

_MOST_POINTS = 40
"""Numbers of disagreements that are looked at."""

_STEPS = 15
"""Halvings of the range in which a difference is searched."""


def detectable_difference(
    error: float, level: float, degrees: float = math.inf, power: float = POWER
) -> float:
    """Return the difference of means that a two-sided test would find.

    It is `(t(1 - level / 2) + t(power))` standard errors, with Student's quantiles
    (Cohen 1988).

    Args:
        error: Standard error of the difference.
        level: Level of the test, after any adjustment; above 0 and below 1.
        degrees: Degrees of freedom of the error, at least 1: one less than there are
            independent units, or fewer; infinite for normal quantiles.
        power: Probability with which it is to be found, above 0.5 and below 1.

    Returns:
        The difference, in the unit of the error.
    """
    inner = 2 * power - 1
    if math.isinf(degrees):
        return error * (normal_quantile(1 - level) + normal_quantile(inner))
    return error * (t_quantile(1 - level, degrees) + t_quantile(inner, degrees))


def error_of_equal_models(error: float, difference: float, units: float) -> float:
    """Return the standard error of a difference if models were equally good.

    The values of units vary about the difference. Two models that are as unlike, but
    equally good, have values that vary about 0: by the square of the difference more.
    Where one model is nearly always right and the other nearly always wrong, that is
    almost all.

    Args:
        error: Standard error of the observed difference.
        difference: The observed difference.
        units: How many independent units it is of.

    Returns:
        sqrt(error² + difference² / units).
    """
    return math.sqrt(error**2 + difference**2 / units)


def detectable_share_difference(
    disagreements: float, n: int, level: float, power: float = POWER
) -> float | None:
    """Return the difference of paired shares that the exact McNemar test would find.

    Two models that differ by more than they were seen to disagree are taken to
    disagree that much, all in one direction.

    Args:
        disagreements: On how many examples one is right and the other is not.
        n: How many examples there are.
        level: Level of the test, after any adjustment; above 0 and below 1.
        power: Probability with which it is to be found, above 0.5 and below 1.

    Returns:
        The smallest such difference, 0 to 1; None where not even 1 would be found.
    """
    if share_power(1.0, 1.0, n, level) < power:
        return None
    low, high = 0.0, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        share = max(disagreements / n, middle)
        if share_power(middle, share, n, level) < power:
            low = middle
        else:
            high = middle
    return high


def share_power(difference: float, disagreement: float, n: int, level: float) -> float:
    """Return the power of the exact McNemar test.

    The number of disagreements is binomial; given it, the number of those on which the
    better one is right is binomial too, and the test's critical number is a whole one
    (Lachin 1992).

    Args:
        difference: The true difference of the shares, 0 to 1.
        disagreement: The true share of examples on which only one is right, at least
            the difference and at most 1.
        n: How many examples there are.
        level: Level of the test, above 0 and below 1.

    Returns:
        The probability that the p-value is below the level and the better one is found
        to be better.
    """
    if disagreement <= 0:
        return 0.0
    trials, weights = _disagreements(n, disagreement)
    worse = min(1.0, max(0.0, (1 - difference / disagreement) / 2))
    if trials[-1] > _MOST_EXACT:
        found = _about_below(_about_critical(trials, level), trials, worse)
    else:
        critical = _critical(tuple(int(number) for number in trials), level)
        found = _below(critical, trials, worse)
    return float(weights @ found)


def _disagreements(n: int, share: float) -> tuple[NDArray[np.int64], Floats]:
    """Return likely numbers of disagreements, with their weights."""
    mean, deviation = n * share, math.sqrt(n * share * (1 - share))
    low = max(0, math.floor(mean - _SPREAD * deviation) - 1)
    high = min(n, math.ceil(mean + _SPREAD * deviation) + 1)
    step = max(1, math.ceil((high - low + 1) / _MOST_POINTS))
    trials = np.arange(low, high + 1, step)
    if share >= 1:
        return trials, (trials == n).astype(np.float64)
    logs = [
        math.lgamma(n + 1)
        - math.lgamma(number + 1)
        - math.lgamma(n - number + 1)
        + number * math.log(share)
        + (n - number) * math.log1p(-share)
        for number in trials.tolist()
    ]
    weights = np.exp(np.array(logs) - max(logs))
    return trials, weights / weights.sum()


@lru_cache(maxsize=1)
def _log_factorials() -> Floats:
    logs = np.log(np.arange(1, _MOST_EXACT + 1))
    return np.concatenate([[0.0], np.cumsum(logs)]).astype(np.float64)


def _log_chances(trials: NDArray[np.int64], width: int, chance: float) -> Floats:
    """Return log binomial probabilities, of shape (trials, 0 to width - 1)."""
    logs = _log_factorials()
    counts = np.arange(width)
    rest = trials[:, None] - counts
    ways = logs[trials][:, None] - logs[counts] - logs[np.maximum(rest, 0)]
    found = ways + counts * math.log(chance) + rest * math.log1p(-chance)
    return np.where(rest >= 0, found, -np.inf)


@lru_cache(maxsize=4096)
def _critical(trials: tuple[int, ...], level: float) -> NDArray[np.int64]:
    """Return the greatest rarer count that is significant; -1 where none is."""
    numbers = np.array(trials)
    below = np.cumsum(np.exp(_log_chances(numbers, trials[-1] // 2 + 1, 0.5)), axis=1)
    critical: NDArray[np.int64] = (2 * below < level).sum(axis=1) - 1
    return critical


def _below(
    critical: NDArray[np.int64], trials: NDArray[np.int64], chance: float
) -> Floats:
    """Return the probability of at most the critical count."""
    if chance <= 0:
        return (critical >= 0).astype(np.float64)
    width = max(1, int(critical.max()) + 1)
    chances = np.exp(_log_chances(trials, width, chance))
    kept = np.where(np.arange(width) <= critical[:, None], chances, 0.0)
    total: Floats = kept.sum(axis=1)
    return total


def _about_critical(trials: NDArray[np.int64], level: float) -> Floats:
    """Return the critical counts of many trials by the normal limit."""
    half = normal_quantile(1 - level) * np.sqrt(trials) / 2
    critical: Floats = np.floor(trials / 2 - half - 0.5)
    return critical


def _about_below(critical: Floats, trials: NDArray[np.int64], chance: float) -> Floats:
    """Return the probability of at most the critical count by the normal limit."""
    deviation = np.sqrt(np.maximum(1e-12, trials * chance * (1 - chance)))
    z = (critical + 0.5 - trials * chance) / deviation
    chances = [math.erfc(-value / math.sqrt(2)) / 2 for value in z.tolist()]
    return np.array(chances)
