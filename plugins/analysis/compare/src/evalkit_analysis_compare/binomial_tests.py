"""McNemar's test: do two models differ in how often only one of them is right?"""

from __future__ import annotations

import math
from typing import NamedTuple

_MOST_EXACT = 1_000
"""Trials up to which probabilities are computed with whole numbers."""

_FEWEST_FOR_SERIES = 16
"""Counts from which Stirling's series is exact to the last digit of a float."""


class McNemar(NamedTuple):
    """Both versions of the test's p-value, two-sided, 0 to 1."""

    exact: float
    mid: float
    """The exact one without half of what was observed on either side (Lancaster)."""


def mcnemar(only_first: int, only_second: int) -> McNemar:
    """Test whether two models are equally often right where they disagree.

    The exact p-value is `min(1, 2 P(X <= min(b, c)))` for X binomial with b + c trials
    of probability 1/2 (McNemar 1947); the mid-p-value is `2 P(X <= min(b, c)) -
    P(X = min(b, c))` (Fagerland, Lydersen and Laake 2013).

    Args:
        only_first: b, the examples that only the first is right on.
        only_second: c, those that only the second is right on.

    Returns:
        The p-values; both are 1 where there are no such examples.
    """
    fewer, trials = min(only_first, only_second), only_first + only_second
    if only_first == only_second:
        return McNemar(1.0, 1.0)
    if trials <= _MOST_EXACT:
        at, below = _exact(fewer, trials)
    else:
        at = _at(fewer, trials)
        below = at * _sum_of_ratios(fewer, trials)
    return McNemar(min(1.0, 2 * (at + below)), min(1.0, at + 2 * below))


def _exact(count: int, trials: int) -> tuple[float, float]:
    """Return the probabilities of a count and of fewer; division rounds correctly."""
    ways, below = 1, 0
    for number in range(count):
        below += ways
        ways = ways * (trials - number) // (number + 1)
    return ways / 2**trials, below / 2**trials


def _at(count: int, trials: int) -> float:
    """Return the probability of a count by the saddle-point expansion (Loader 2000).

    Logarithms of factorials would lose digits, since they nearly cancel.
    """
    if count == 0:
        return math.ldexp(1.0, -trials)
    other = trials - count
    exponent = (
        _stirling_error(trials)
        - _stirling_error(count)
        - _stirling_error(other)
        - _deviance(count, trials / 2)
        - _deviance(other, trials / 2)
    )
    return math.exp(exponent) * math.sqrt(trials / (2 * math.pi * count * other))


def _stirling_error(number: int) -> float:
    """Return the logarithm of n! less that of Stirling's formula."""
    if number < _FEWEST_FOR_SERIES:
        stirling = (number + 0.5) * math.log(number) - number
        return math.lgamma(number + 1) - stirling - 0.5 * math.log(2 * math.pi)
    square = number * number
    series = 1 / 1188 / square
    series = (1 / 1680 - series) / square
    series = (1 / 1260 - series) / square
    series = (1 / 360 - series) / square
    return (1 / 12 - series) / number


def _deviance(count: float, expected: float) -> float:
    """Return `count log(count / expected) - count + expected` without cancelling."""
    ratio = (count - expected) / expected
    if abs(ratio) >= 0.1:
        return count * math.log(count / expected) - count + expected
    # log(count / expected) = 2 artanh(v), as a series
    share = (count - expected) / (count + expected)
    total = (count - expected) * share
    term = 2 * count * share
    before, odd = math.nan, 1
    while total != before:
        before, odd = total, odd + 2
        term *= share * share
        total += term / odd
    return total


def _sum_of_ratios(count: int, trials: int) -> float:
    """Return the probability of fewer than a count, in multiples of the count's."""
    total, ratio = 0.0, 1.0
    for number in range(count, 0, -1):
        ratio *= number / (trials - number + 1)
        total += ratio
        if ratio < 1e-18 * total:
            break
    return total
