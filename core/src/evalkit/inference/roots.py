"""Roots of functions of one number."""

from __future__ import annotations

import math
from collections.abc import Callable


def find_root(function: Callable[[float], float], low: float, high: float) -> float:
    """Find where a function changes its sign, as exactly as floats can say.

    The method of Chandrupatla (1997): inverse quadratic interpolation where it surely
    comes nearer, bisection elsewhere; some ten calls for a smooth function.

    Args:
        function: Continuous, with values of opposite signs at both ends.
        low: One end.
        high: The other.

    Returns:
        A root, or a float beside it.
    """
    newest, other = low, high
    at_newest, at_other = function(low), function(high)
    if at_newest == 0:
        return low
    oldest, at_oldest = newest, at_newest
    share = 0.5
    while True:
        point = newest + share * (other - newest)
        at_point = function(point)
        oldest, at_oldest = newest, at_newest
        if (at_point > 0) != (at_newest > 0):
            oldest, at_oldest = other, at_other
            other, at_other = newest, at_newest
        newest, at_newest = point, at_point
        best, at_best = newest, at_newest
        if abs(at_other) < abs(at_newest):
            best, at_best = other, at_other
        tolerance = math.ulp(best) / abs(other - newest) if other != newest else 1.0
        if tolerance >= 0.5 or at_best == 0:
            return best
        share = _share(
            (newest, at_newest), (other, at_other), (oldest, at_oldest), tolerance
        )


def _share(
    newest: tuple[float, float],
    other: tuple[float, float],
    oldest: tuple[float, float],
    tolerance: float,
) -> float:
    """Say how far from the newest point to the other one the next is tried."""
    (a, at_a), (b, at_b), (c, at_c) = newest, other, oldest
    if at_c in (at_a, at_b) or c == b:
        return 0.5
    place = (a - b) / (c - b)
    height = (at_a - at_b) / (at_c - at_b)
    if not 1 - math.sqrt(1 - place) < height < math.sqrt(place):
        return 0.5
    share = at_a / (at_b - at_a) * at_c / (at_b - at_c)
    share += (c - a) / (b - a) * at_a / (at_c - at_a) * at_b / (at_c - at_b)
    return min(1 - tolerance, max(tolerance, share))
