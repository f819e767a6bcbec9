"""Axes of interval plots: from where to where, and which ticks."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

_MOST_TICKS = 6
_STEPS = (1, 2, 2.5, 5, 10)
_SPARE = 0.04
"""Room at both ends, as a share of the axis, so that marks are not cut."""


class Axis(NamedTuple):
    """An axis in stored values; it is drawn in percent of a width."""

    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]
    """Where each is, as stored, and what it says."""

    def place(self, value: float) -> float:
        """Return where a value is, in percent of the width."""
        return round(100 * (value - self.low) / (self.high - self.low), 3)


def make_axis(
    values: Iterable[float],
    scale: float = 1.0,
    include: Iterable[float] = (),
    limits: tuple[float, float] = (-math.inf, math.inf),
) -> Axis:
    """Make an axis that holds values."""
    shown = [scale * value for value in (*values, *include) if math.isfinite(value)]
    low, high = (min(shown), max(shown)) if shown else (0.0, scale)
    if high <= low:
        spare = abs(scale) / 100
        least, greatest = sorted(scale * limit for limit in limits)
        low = max(low - spare, min(low, least))
        high = min(high + spare, max(high, greatest))
    step = _step(high - low)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    places = max(0, -math.floor(math.log10(step) + 1e-9))
    places += (step * 10**places) % 1 > 1e-9
    ticks = tuple(
        (number * step / scale, f"{number * step:z.{places}f}")
        for number in range(first, last + 1)
    )
    spare = _SPARE * (last - first) * step
    return Axis((first * step - spare) / scale, (last * step + spare) / scale, ticks)


def _step(span: float) -> float:
    rough = span / _MOST_TICKS
    size = 10 ** math.floor(math.log10(rough))
    return float(
        next(step * size for step in _STEPS if step * size >= rough * (1 - 1e-9))
    )
