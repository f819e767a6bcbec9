"""The intervals of core from a score and a cluster a row, as tests have them."""

import math

import numpy as np

from evalkit.statistics import intervals
from evalkit.statistics.clusters import Floats, Integers, cluster_sums
from evalkit.statistics.intervals import (
    Interval,
    clustered_mean_interval,
    clustered_share_interval,
    share_interval,
)


def proportion_interval(
    scores: Floats, clusters: Integers | None, confidence: float
) -> Interval:
    """Compute Wilson's interval of a mean of zeros and ones.

    Args:
        scores: The zeros and ones, of shape (n,).
        clusters: The cluster of each, of shape (n,); None for independent rows.
        confidence: Probability of the interval, such as 0.95.

    Returns:
        The interval; none for n = 1 or fewer than two clusters.
    """
    if clusters is None:
        return share_interval(math.fsum(scores), len(scores), confidence)
    return clustered_share_interval(*cluster_sums(scores, clusters), confidence)


def mean_interval(
    scores: Floats, clusters: Integers | None, confidence: float
) -> Interval:
    """Compute Student's interval of a mean.

    Args:
        scores: The values, of shape (n,).
        clusters: The cluster of each, of shape (n,); None for independent rows.
        confidence: Probability of the interval, such as 0.95.

    Returns:
        The interval, not clipped to any bounds; none for n = 1, fewer than two
        clusters, or values that do not differ.
    """
    if clusters is None:
        return intervals.mean_interval(scores, np.ones(len(scores)), confidence)
    return clustered_mean_interval(*cluster_sums(scores, clusters), confidence)
