"""Exact intervals of shares, which hold at levels near 1 where Wilson's do not.

The upper bound of Wilson's interval of a share near 1 is too low in the far tail. So
the worst of several groups, whose level is near 1, has the interval of Clopper and
Pearson (1934); clusters count as Korn and Graubard (1998) say.
"""

from __future__ import annotations

import math

from evalkit.inference.intervals import (
    N_IS_1,
    ONE_CLUSTER,
    Floats,
    Interval,
    clustered_share,
    without_interval,
)
from evalkit.inference.roots import find_root
from evalkit.inference.student_t import incomplete_beta, normal_quantile, t_quantile


def exact_share_interval(ones: float, n: int, confidence: float) -> Interval:
    """Compute the exact interval of a share (Clopper and Pearson 1934).

    It covers at least as often as it says, also at levels near 1, where the upper bound
    of Wilson's interval of a share near 1 is too low: at a level of .996, as the worst
    of 12 groups needs, it misses .95 with n = 40 in 1 % of cases and not in 0.2 %.

    Args:
        ones: How many of n.
        n: How many there are.
        confidence: Probability of the interval, such as 0.95.

    Returns:
        The interval; none for n = 1.
    """
    if n < 2:
        return without_interval(N_IS_1)
    share = ones / n
    low, high = clopper_pearson(share, n, confidence)
    return Interval(low, high, math.sqrt(share * (1 - share) / n), "exact")


def exact_clustered_share_interval(
    totals: Floats, sizes: Floats, confidence: float
) -> Interval:
    """Compute the exact interval of a share of rows in clusters.

    That of as many independent rows as tell as much, fewer by the square of the ratio
    of the normal and Student's quantile (Korn and Graubard 1998).

    Args:
        totals: How many rows of each cluster are ones, of shape (clusters,).
        sizes: How many rows each cluster has, of shape (clusters,).
        confidence: Probability of the interval, such as 0.95.

    Returns:
        The interval; none for n = 1 or fewer than two clusters.
    """
    if sizes.sum() < 2:
        return without_interval(N_IS_1)
    if len(sizes) < 2:
        return without_interval(ONE_CLUSTER)
    found = clustered_share(totals, sizes)
    ratio = normal_quantile(confidence) / t_quantile(confidence, found.degrees)
    low, high = clopper_pearson(found.share, found.effective * ratio**2, confidence)
    return Interval(low, high, found.error, "exact-clustered")


def clopper_pearson(share: float, n: float, confidence: float) -> tuple[float, float]:
    """Compute the exact interval of a proportion.

    Args:
        share: The proportion, 0 to 1.
        n: The (effective) number of trials, above 0.
        confidence: Probability of the interval, such as 0.95.

    Returns:
        Lower and upper bound, within 0 to 1: quantiles of beta distributions.
    """
    tail = (1 - confidence) / 2
    return (
        _exact_bound(share, n, tail),
        1 - _exact_bound(1 - share, n, tail),
    )


def _exact_bound(share: float, n: float, tail: float) -> float:
    """Find the proportion at which so high a share has this probability."""
    ones = share * n
    if ones <= 0:
        return 0.0

    def above(bound: float) -> float:
        if bound in (0.0, 1.0):
            return bound - tail
        return incomplete_beta(bound, 1 - bound, ones, n - ones + 1) - tail

    return find_root(above, 0.0, 1.0)
