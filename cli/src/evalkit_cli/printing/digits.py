"""How many digits of a number are printed: as many as its interval leaves to tell.

A score is printed to the second significant digit of half its interval: 65.9 where that
is 7.9 points wide, 65.93 where it is 0.79; a percentage without an interval as one of
50 % from so many examples. The bounds of an interval that was drawn move
with the seed, and are printed to the first digit that does so only by little.
"""

from __future__ import annotations

import math
from statistics import NormalDist

USUAL = 2
"""The most decimals of a percentage, and those of another value without an interval."""

MOST = 6
"""The most decimals of a value in another unit."""

_PERCENT = 100
"""Scale of what is stored as 0 to 1 and shown as a percentage."""

_NORMAL = NormalDist()


def _share_of_percentile(draws: int) -> float:
    """Return the standard error of an outer percentile of draws, by half the interval.

    That of a sample quantile (Stuart and Ord 1994, section 10.10), here the 2.5th of
    normal draws. In intervals of another probability it is nearly the same share: .041
    of 1 000 draws at 90 %, .043 at 95 %, .060 at 99 %.
    """
    quantile = _NORMAL.inv_cdf(0.975)
    return math.sqrt(0.025 * 0.975 / draws) / _NORMAL.pdf(quantile) / quantile


def half_width(
    low: float | None, high: float | None, n: int, scale: float
) -> float | None:
    """Return half the width of an interval as it is shown."""
    if low is not None and high is not None:
        return abs(scale) * (high - low) / 2
    return 0.98 * _PERCENT / math.sqrt(max(n, 1)) if scale == _PERCENT else None


def decimals(half_width: float | None, scale: float) -> int:
    """Say to how many decimals a score is printed."""
    if half_width is None or not 0 < half_width < math.inf:
        return USUAL
    most = USUAL if scale == _PERCENT else MOST
    return min(max(0, 1 - math.floor(math.log10(half_width))), most)


def bound_decimals(half_width: float, scale: float, method: str) -> int:
    """Say to how many decimals the bounds of an interval are printed."""
    from evalkit.reporting import DRAWS_BY_METHOD  # imports numpy

    most = decimals(half_width, scale)
    draws = min((n for word, n in DRAWS_BY_METHOD.items() if word in method), default=0)
    if draws == 0 or half_width <= 0:
        return most
    error = half_width * _share_of_percentile(draws)
    return min(most, max(0, math.floor(-math.log10(error))))


def show_bounds(
    low: float, high: float, value: float | None, places: int, sign: str = ""
) -> str:
    """Return an interval as it is printed."""
    while value is not None and places < USUAL and low <= value <= high:
        if round(low, places) <= value <= round(high, places):
            break
        places += 1
    # exactly zero has no sign: the interval holds it
    shown = [f"{end:{sign if end else ''}z.{places}f}" for end in (low, high)]
    return f"[{shown[0]}, {shown[1]}]"
