"""Confidence intervals of means and proportions, plain and clustered.

The standard error of a mean over clusters c of rows i is
`sqrt(G/(G-1) * sum_c (sum_{i in c} (s_i - mean))^2) / n`, the cluster-robust one of
Liang and Zeger (1986), with t(G-1). A proportion uses Wilson's interval (1927); with
clusters its sample size is n divided by the design effect, (clustered SE / plain SE)^2,
and its quantile t(G-1), after Korn and Graubard (1998).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evalkit.student_t import normal_quantile, t_quantile

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class Interval(NamedTuple):
    """An interval with its standard error, or the reason why there is none."""

    low: float | None = None
    high: float | None = None
    standard_error: float | None = None
    method: str = "none"
    reason: str | None = None


def without_interval(reason: str) -> Interval:
    """Give an interval that is none, with the reason."""
    return Interval(reason=reason)


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
    n = len(scores)
    if n < 2:
        return without_interval("n is 1")
    share = math.fsum(scores) / n
    plain = math.sqrt(share * (1 - share) / n)
    if clusters is None:
        low, high = wilson(share, n, normal_quantile(confidence))
        return Interval(low, high, plain, "wilson")
    count, error = _clustered_error(scores, clusters, share)
    if count < 2:
        return without_interval("all examples are in one cluster")
    effective = n / _design_effect(scores, clusters, count, share, error)
    quantile = t_quantile(confidence, count - 1)
    low, high = wilson(share, effective, quantile)
    return Interval(low, high, max(error, plain), "wilson-clustered")


def _design_effect(
    scores: Floats, clusters: Integers, count: int, share: float, error: float
) -> float:
    """Give the factor by which clusters shrink the sample, at least 1.

    The estimate says little where few clusters hold the rarer outcome: with none there
    is no spread to see, with one it is close to 1 whatever the truth. So it is drawn
    towards the mean size of a cluster, which is the effect of clusters whose rows are
    all alike, with the weight of one cluster. (Chosen by simulation: without it the
    interval of a share of .98 in 30 clusters of 10 covers .89, with it .98.)
    """
    rarer = scores == (0.0 if share > 0.5 else 1.0)
    seen = len(np.unique(clusters[rarer]))
    extreme = len(scores) / count
    spread = share * (1 - share)
    estimate = len(scores) * error**2 / spread if seen else extreme
    return (seen * max(1.0, estimate) + max(extreme, estimate)) / (seen + 1)


def wilson(share: float, n: float, quantile: float) -> tuple[float, float]:
    """Compute Wilson's score interval of a proportion.

    Args:
        share: The proportion, 0 to 1.
        n: The (effective) number of trials.
        quantile: Two-sided quantile, 1.96 for 95 %.

    Returns:
        Lower and upper bound, within 0 to 1.
    """
    square = quantile**2
    centre = (share + square / (2 * n)) / (1 + square / n)
    half = (
        quantile
        / (1 + square / n)
        * math.sqrt(share * (1 - share) / n + square / (4 * n**2))
    )
    low = 0.0 if share == 0 else max(0.0, centre - half)
    high = 1.0 if share == 1 else min(1.0, centre + half)
    return low, high


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
    n = len(scores)
    if n < 2:
        return without_interval("n is 1")
    mean = math.fsum(scores) / n
    groups = np.arange(n) if clusters is None else clusters
    count, error = _clustered_error(scores, groups, mean)
    if count < 2:
        return without_interval("all examples are in one cluster")
    if not math.isfinite(error):
        return without_interval("the values are too large for an interval")
    if error <= 1e-15 * max(1.0, abs(mean)):
        return without_interval("all values are equal")
    half = t_quantile(confidence, count - 1) * error
    method = "t" if clusters is None else "t-clustered"
    return Interval(mean - half, mean + half, error, method)


def _clustered_error(
    scores: Floats, clusters: Integers, mean: float
) -> tuple[int, float]:
    _, membership = np.unique(clusters, return_inverse=True)
    residuals = np.bincount(membership, weights=scores - mean)
    count = len(residuals)
    if count < 2:
        return count, 0.0
    with np.errstate(over="ignore"):
        squares = residuals**2
    total = math.fsum(squares) if np.isfinite(squares).all() else math.inf
    return count, math.sqrt(count / (count - 1) * total) / len(scores)


def percentile_interval(
    replicates: Floats, confidence: float, clustered: bool = False
) -> Interval:
    """Compute the percentile interval of bootstrap replicates (Efron 1979).

    Args:
        replicates: Values of the score, of shape (replicates,), all finite.
        confidence: Probability of the interval, such as 0.95.
        clustered: Whether whole clusters were drawn.

    Returns:
        The interval with the replicates' standard deviation as standard error; none
        where all replicates are equal.
    """
    tail = (1 - confidence) / 2
    low, high = np.quantile(replicates, [tail, 1 - tail])
    error = float(np.std(replicates, ddof=1))
    if high - low <= 1e-15 * max(1.0, abs(float(low))):
        return without_interval("all bootstrap replicates are equal")
    method = "bootstrap-clustered" if clustered else "bootstrap"
    return Interval(float(low), float(high), error, method)
