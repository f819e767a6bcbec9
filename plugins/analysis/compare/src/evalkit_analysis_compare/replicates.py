"""Makes differences of what was drawn and swapped."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from evalkit.inference.intervals import Floats, Interval, without_interval
from evalkit.inference.percentiles import LEAST_IN_TAIL, percentile_interval
from evalkit.inference.student_t import normal_quantile, t_quantile
from evalkit.plugins.bound import BoundMetric
from evalkit_analysis_compare.differences import Difference
from evalkit_analysis_compare.power import detectable_difference, error_of_equal_models
from evalkit_analysis_compare.randomised_tests import Significance

_FEWEST_DEGREES = 2
"""Degrees of freedom where no unit differs, or one: chosen by simulation."""

_FIRST_CONFIDENCE = 0.9
"""Confidence of the interval that the standard error is taken from."""


class Replicates(NamedTuple):
    """Differences in replicates of a group."""

    draws: Floats | str
    """NaN where it is undefined; or why there are none."""
    method: str
    """Name of the way they were drawn."""
    units: float
    """Independent units: examples, or as many clusters of one size as would be as
    unequal (Kish 1965)."""
    differing: float
    """Units of which the models do not have the same answers, as far as is known;
    counted in the same way."""
    most: float = math.inf
    """How far apart two values of the metric can be at most."""
    value: float = 0.0
    """The observed difference."""
    reach: Callable[[float], tuple[float, float]] | None = None
    """How far below and above the difference its interval must reach, by confidence."""
    is_uneven: bool = False
    """Whether a few clusters have so many of the examples that no formula tells which
    difference would be found."""

    def interval(self, confidence: float) -> Interval:
        """Return the interval of a probability.

        The percentiles are moved away from the median, by the ratio of Student's
        quantile, with as many degrees of freedom as units differ, to the normal one.
        They are as narrow as if the spread were known, and few units that differ, or
        one large one among small ones, tell little of it. From where less than 5
        replicates lie beyond a percentile, the last that they carry is moved.
        """
        draws = self.draws
        if isinstance(draws, str):
            return without_interval(draws)
        carried = confidence
        if self.units > 1:
            carried = min(confidence, 1 - 2 * LEAST_IN_TAIL / max(1, len(draws)))
        found = percentile_interval(draws, len(draws), carried, self.method)
        if self.units <= 1:
            return found
        if found.low is None or found.high is None:
            return self._of_same_outputs(found, confidence)
        middle = float(np.nanmedian(draws))
        degrees = max(_FEWEST_DEGREES, min(self.differing, self.units - 1))
        growth = t_quantile(confidence, degrees) / normal_quantile(carried)
        if self.method.endswith("-clustered"):
            # replicates have the variance of a sample divided by the number of units
            growth *= math.sqrt(self.units / (self.units - 1))
        low = middle + growth * (found.low - middle)
        high = middle + growth * (found.high - middle)
        if self.reach is not None:
            below, above = self.reach(confidence)
            low, high = min(low, self.value - below), max(high, self.value + above)
        return found._replace(low=max(-self.most, low), high=min(self.most, high))

    def _of_same_outputs(self, found: Interval, confidence: float) -> Interval:
        """Return the interval of no difference in any replicate by its reach alone."""
        if self.reach is None or isinstance(self.draws, str) or np.any(self.draws):
            return found
        below, above = self.reach(confidence)
        if not math.isfinite(below + above):
            return found
        low, high = max(-self.most, -below), min(self.most, above)
        return Interval(low, high, None, self.method)


def most_apart(metric: BoundMetric) -> float:
    """Tell how far apart two values of a metric can be."""
    low, high = metric.bounds or (None, None)
    return math.inf if low is None or high is None else float(high) - float(low)


def replicated_difference(
    values: tuple[float, float],
    counts: tuple[int, int, int | None],
    replicates: Replicates,
    tested: Significance | str,
) -> Difference:
    """Make a difference of what was drawn and swapped."""
    error = replicates.interval(_FIRST_CONFIDENCE).standard_error
    found = None if isinstance(tested, str) else tested

    def detects(level: float) -> float | None:
        if not error or found is None or found.least >= level or replicates.units <= 1:
            return None
        if replicates.is_uneven:
            return None
        units = replicates.units
        equal = error_of_equal_models(error, values[0] - values[1], units)
        return detectable_difference(equal, level, max(1.0, units - 1))

    return Difference(
        *(*values, *counts, error),
        intervals=replicates.interval,
        detects=detects,
        tested=found,
        reason=tested if isinstance(tested, str) else None,
    )
