"""Score interval of a difference of scores between 0 and 1, also in clusters.

Rows whose scores are shares, or that stand in clusters, count as the number of
independent pairs of zeros and ones that would tell as much; these have the interval of
`paired_shares`. Student's interval of the same differences misses the truth where few
rows differ: with 2 % of 100 rows it covers .77 for .95.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from evalkit.inference.cluster_sizes import (
    cautious_degrees,
    cluster_sums,
    clustered_error,
    intraclass_correlation,
)
from evalkit.inference.intervals import (
    ONE_CLUSTER,
    Floats,
    Integers,
    Interval,
    without_interval,
)
from evalkit.inference.student_t import t_quantile
from evalkit_analysis_compare.paired_shares import tango_bounds, tango_interval


class EffectivePairs(NamedTuple):
    """Pairs of zeros and ones that would tell as much as the rows do."""

    only_first: float
    """How many only the first is right on; not a whole number."""
    only_second: float
    n: float
    degrees: float
    """Degrees of freedom of the error: n - 1 of rows, fewer of unequal clusters."""
    error: float
    """Standard error of the mean difference, at least that without clusters."""
    method: str


def effective_pairs(
    differences: Floats, clusters: Integers | None
) -> EffectivePairs | None:
    """Count differences of scores between 0 and 1 as pairs of zeros and ones.

    Their effective number is n over the ratio of the differences' variance to that of
    zeros and ones with the same mean gain and loss. In clusters the variance and its
    degrees of freedom are those of `evalkit.inference.cluster_sizes`, which heed their
    sizes: with `t(G - 1)` and the plain cluster-robust variance the interval covers .7
    for .95 where one cluster holds half of the rows. The ratio says little where few
    units differ, so it is drawn, with the weight of one unit, towards the worst:
    differences of a whole 1 in clusters whose rows are all alike.

    Args:
        differences: First score less the second of each row, -1 to 1, of shape (n,).
        clusters: The cluster of each row, of shape (n,); None for independent rows.

    Returns:
        The pairs; None for n = 1 or a single cluster.
    """
    n = len(differences)
    if clusters is None:
        units, differing = n, int(np.count_nonzero(differences))
    else:
        totals, sizes = cluster_sums(differences, clusters)
        units = len(sizes)
        changes, _ = cluster_sums(np.abs(differences), clusters)
        differing = int(np.count_nonzero(changes))
    if units < 2:
        return None
    mean = math.fsum(differences) / n
    variance = math.fsum((differences - mean) ** 2) / (n - 1) / n
    degrees = float(units - 1)
    if clusters is not None:
        error = clustered_error(totals - mean * sizes, sizes)
        variance = max(variance, error**2)
        squares, _ = cluster_sums(differences**2, clusters)
        correlation = intraclass_correlation(totals, squares, sizes)
        degrees = cautious_degrees(sizes, correlation)
    gain = math.fsum(np.maximum(differences, 0.0)) / n
    loss = math.fsum(np.maximum(-differences, 0.0)) / n
    of_shares = gain + loss - (gain - loss) ** 2
    worst = n / units
    ratio = n * variance / of_shares if of_shares > 0 else worst
    weight = 1 / (differing + 1)
    effective = n / ((1 - weight) * ratio + weight * max(worst, ratio))
    return EffectivePairs(
        gain * effective,
        loss * effective,
        effective,
        degrees,
        math.sqrt(variance),
        "tango-effective" if clusters is None else "tango-clustered",
    )


def effective_interval(pairs: EffectivePairs | None, confidence: float) -> Interval:
    """Compute Tango's interval of the effective number of pairs.

    Args:
        pairs: The pairs.
        confidence: Probability of the interval, above 0 and below 1.

    Returns:
        The interval, within -1 to 1, with Student's quantile; none without pairs.
    """
    if pairs is None:
        return without_interval(ONE_CLUSTER)
    quantile = t_quantile(confidence, pairs.degrees)
    low, high = tango_bounds(pairs.only_first, pairs.only_second, pairs.n, quantile)
    return Interval(low, high, pairs.error, pairs.method)


def share_difference_interval(
    differences: Floats, clusters: Integers | None, confidence: float
) -> Interval:
    """Compute the interval of a mean difference of scores between 0 and 1.

    Args:
        differences: The differences, -1 to 1, of shape (n,).
        clusters: The cluster of each, of shape (n,); None for independent rows.
        confidence: Probability of the interval.

    Returns:
        Tango's interval (1998) where rows are independent and all differences whole,
        else that of as many independent rows as tell as much; none for n = 1 or a
        single cluster.
    """
    is_whole = bool(np.isin(differences, (-1.0, 0.0, 1.0)).all())
    if clusters is not None or (not is_whole and len(differences) > 1):
        pairs = effective_pairs(differences, clusters)
        return effective_interval(pairs, confidence)
    losses, gains = int((differences > 0).sum()), int((differences < 0).sum())
    return tango_interval(losses, gains, len(differences), confidence)


def share_reach(
    differences: Floats, clusters: Integers | None, confidence: float
) -> tuple[float, float]:
    """Return how far the interval of a mean difference reaches from the mean.

    Replicates of label pairs are too much alike where few answers differ: with 1 % of
    200 they cover .85. So an interval of theirs reaches as far as that of the share of
    right answers.

    Args:
        differences: The differences, -1 to 1, of shape (n,).
        clusters: The cluster of each, of shape (n,); None for independent rows.
        confidence: Probability of the interval.

    Returns:
        How far below and how far above; infinite for n = 1 or a single cluster.
    """
    interval = share_difference_interval(differences, clusters, confidence)
    if interval.low is None or interval.high is None:
        return math.inf, math.inf
    mean = math.fsum(differences) / len(differences)
    return mean - interval.low, interval.high - mean
