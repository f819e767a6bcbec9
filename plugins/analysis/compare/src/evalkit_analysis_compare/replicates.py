"""The paired bootstrap: intervals and tests from differences in replicates."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from evalkit.scoring import Interval
from evalkit.statistics.clusters import Floats
from evalkit.statistics.intervals import without_interval
from evalkit.statistics.resampling import LEAST_IN_TAIL, percentile_interval
from evalkit.statistics.student_t import normal_quantile
from evalkit_analysis_compare.differences import Difference
from evalkit_analysis_compare.paired_tests import Significance
from evalkit_analysis_compare.power import detectable_difference, error_of_equal_models

SWAPS = 1_999
"""Random swaps of a test."""

_FIRST_CONFIDENCE = 0.9
"""Confidence of the interval that the standard error is taken from."""


class Replicates(NamedTuple):
    """Differences in replicates in which both models get the same units."""

    draws: Floats | str
    """NaN where it is undefined; or why there are none."""
    method: str
    units: float
    """Independent units: examples, or as many clusters of one size as would be as
    unequal (Kish 1965)."""
    is_uneven: bool = False
    """Whether a few clusters have so many of the examples that no formula tells which
    difference would be found."""

    def interval(self, confidence: float) -> Interval:
        """Return the percentiles of the replicates.

        Replicates carry no percentile with fewer than 5 of them beyond it, as levels
        that are adjusted for many comparisons ask for. Then the last that they carry
        is moved away from the median by the ratio of the normal quantiles.
        """
        if isinstance(self.draws, str):
            return without_interval(self.draws)
        carried = min(confidence, 1 - 2 * LEAST_IN_TAIL / max(1, len(self.draws)))
        found = percentile_interval(self.draws, carried, self.method)
        if found.low is None or found.high is None or carried == confidence:
            return found
        middle = float(np.nanmedian(self.draws))
        growth = normal_quantile(confidence) / normal_quantile(carried)
        low = middle + growth * (found.low - middle)
        return found._replace(low=low, high=middle + growth * (found.high - middle))

    def test(self) -> Significance | str:
        """Return the test that the difference is zero, by the share beyond zero."""
        if isinstance(self.draws, str):
            return self.draws
        defined = self.draws[np.isfinite(self.draws)]
        if len(defined) < len(self.draws) / 2 or not len(defined):
            return "the score is undefined in most bootstrap replicates"
        hits = min(int((defined <= 0).sum()), int((defined >= 0).sum()))
        p_value = min(1.0, 2 * (1 + hits) / (1 + len(defined)))
        return Significance(p_value, self.method, hits == 0)


def swap_test(swapped: Floats, value: float, differing: int) -> Significance | str:
    """Return the test that answers may be swapped (Noreen 1989)."""
    defined = np.abs(swapped[np.isfinite(swapped)])
    if len(defined) <= SWAPS / 2:
        return "the score is undefined in most swaps"
    hits = int((defined >= abs(value) * (1 - 1e-12)).sum())
    p_value = (1 + hits) / (1 + len(defined))
    return Significance(p_value, "swaps", hits == 0, min(1.0, 2.0 ** (1 - differing)))


def replicated_difference(
    values: tuple[float, float],
    counts: tuple[int, int, int | None],
    replicates: Replicates,
    tested: Significance | str,
) -> Difference:
    """Make a difference of its replicates and its test."""
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
