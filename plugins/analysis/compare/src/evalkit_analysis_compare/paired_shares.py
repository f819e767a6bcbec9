"""Score interval of the difference of two shares on the same examples.

The normal interval of a paired difference takes its spread from the examples on which
the two disagree, so that it is far too narrow where they are few, and has no width
where there are none. The score interval asks which differences the data would not
reject, each with the spread that it implies itself (Tango 1998, Statistics in Medicine
17, 891-908).
"""

from __future__ import annotations

import math

from evalkit.scoring import Interval
from evalkit.statistics.intervals import N_IS_1, without_interval
from evalkit.statistics.student_t import normal_quantile


def tango_interval(
    only_first: int, only_second: int, n: int, confidence: float
) -> Interval:
    """Compute Tango's score interval of a difference of paired shares."""
    if n < 2:
        return without_interval(N_IS_1)
    quantile = normal_quantile(confidence)
    low, high = tango_bounds(only_first, only_second, n, quantile)
    return Interval(low, high, _error(only_first, only_second, n), "tango")


def tango_bounds(
    only_first: float, only_second: float, n: float, quantile: float
) -> tuple[float, float]:
    """Return the differences that the score statistic does not reject."""
    return (
        -_upper_bound(only_second, only_first, n, quantile),
        _upper_bound(only_first, only_second, n, quantile),
    )


def tango_score(
    only_first: float, only_second: float, n: float, difference: float
) -> float:
    """Return the score statistic of a hypothetical difference of paired shares.

    It is `(b - c - n d) / sqrt(n (2 q + d (1 - d)))`, where q is the probability of c
    that is most likely if the difference is d, the greater root of `2 n q² + (d (2 n -
    b + c) - b - c) q - c d (1 - d)`.
    """
    linear = difference * (2 * n - only_first + only_second) - only_first - only_second
    constant = only_second * difference * (1 - difference)
    root = math.sqrt(max(0.0, linear**2 + 8 * n * constant))
    share = (root - linear) / (4 * n)
    if linear > 0:
        # the same root, without the difference of two like numbers
        share = 2 * constant / (linear + root)
    variance = n * (2 * share + difference * (1 - difference))
    distance = only_first - only_second - n * difference
    if variance <= 0:
        return math.copysign(math.inf, distance) if distance else 0.0
    return distance / math.sqrt(variance)


def _upper_bound(
    only_first: float, only_second: float, n: float, quantile: float
) -> float:
    """Find the greatest difference that is not rejected, by bisection."""
    low, high = (only_first - only_second) / n, 1.0
    middle = (low + high) / 2
    while low < middle < high:
        if tango_score(only_first, only_second, n, middle) > -quantile:
            low = middle
        else:
            high = middle
        middle = (low + high) / 2
    return high


def _error(only_first: int, only_second: int, n: int) -> float:
    """Return the standard error of the mean of the examples' differences."""
    squares = only_first + only_second - (only_first - only_second) ** 2 / n
    return math.sqrt(max(0.0, squares) / (n * (n - 1)))
