"""Intervals of the mean difference of two scores of single examples."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from evalkit.inference.cluster_sizes import cluster_sums, degrees_of_freedom
from evalkit.inference.intervals import (
    Floats,
    Integers,
    clustered_mean_interval,
    weighted_mean_interval,
    without_interval,
)
from evalkit_analysis_compare.differences import Intervals
from evalkit_analysis_compare.effective_pairs import effective_interval, effective_pairs

FIRST_CONFIDENCE = 0.95
"""Confidence of the interval that the standard error is taken from."""


class Spread(NamedTuple):
    """The intervals of a mean difference, and what they rest on."""

    intervals: Intervals
    error: float | None
    degrees: float


def spread_of(
    differences: Floats, clusters: Integers | None, *, shares: bool
) -> Spread:
    """Return the intervals of a mean difference, with its error and their degrees.

    Args:
        differences: First score less the second of each row, of shape (n,).
        clusters: The cluster of each row, of shape (n,); None for independent rows.
        shares: Whether the scores lie between 0 and 1, and are meant as shares.

    Returns:
        Tango's intervals of the effective number of pairs for shares, else Student's;
        without bounds, and with the reason, where there are none.
    """
    n = len(differences)
    if n > 1 and shares:
        pairs = effective_pairs(differences, clusters)
        intervals = partial(effective_interval, pairs)
        if pairs is None:
            return Spread(intervals, None, 1.0)
        return Spread(intervals, pairs.error, pairs.degrees)
    means: Intervals
    if clusters is None:
        means = partial(weighted_mean_interval, differences, np.ones(n))
        degrees = max(1.0, n - 1.0)
    else:
        totals, sizes = cluster_sums(differences, clusters)
        means = partial(clustered_mean_interval, totals, sizes)
        degrees = degrees_of_freedom(sizes) if len(sizes) > 1 else 1.0
    shown = means(FIRST_CONFIDENCE)
    if shown.standard_error is not None:
        return Spread(means, shown.standard_error, degrees)
    if n > 1 and (differences == differences[0]).all():
        same = "zero" if differences[0] == 0 else "equal"
        shown = without_interval(f"all differences are {same}")
    return Spread(lambda _confidence: shown, None, degrees)
