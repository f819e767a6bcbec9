"""Bins of confidences, of which reports and metrics show how often they are right."""

from __future__ import annotations

import numpy as np

from evalkit.statistics.clusters import Floats, Integers

CONFIDENCE_BINS = 15
"""How many bins there are unless something else is asked for (Guo et al. 2017)."""


def confidence_edges(bins: int = CONFIDENCE_BINS) -> Floats:
    """Return the edges of bins of equal width from 0 to 1, one more than bins."""
    edges: Floats = np.arange(bins + 1) / bins
    return edges


def confidence_bins(confidences: Floats, bins: int = CONFIDENCE_BINS) -> Integers:
    """Return the number of the bin of each confidence.

    A bin holds its lower edge and not its upper one, but for the last, which holds 1.

    Args:
        confidences: Numbers from 0 to 1.
        bins: How many bins of equal width there are.

    Returns:
        Numbers from 0.
    """
    # compared with the edges, as a product such as .29 x 100 would be rounded down
    place = np.searchsorted(confidence_edges(bins), confidences, side="right") - 1
    return np.clip(place, 0, bins - 1).astype(np.int64)
