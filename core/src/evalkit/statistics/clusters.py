"""Standard errors of values in clusters, and their degrees of freedom.

The cluster-robust standard error is CR2, the bias-reduced linearization of Bell and
McCaffrey (2002), which for a mean divides each cluster's residual by sqrt(1 - its share
of the rows). The degrees of freedom are Satterthwaite's, which for a mean are a formula
of the sizes (Pustejovsky and Tipton 2018). With G clusters of one size they are a
factor G / (G - 1), and G - 1.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evalkit.statistics.student_t import outside_probability

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


def sum_or_infinity(values: Floats) -> float:
    """Add up numbers exactly; infinite where the sum is beyond what a float holds."""
    try:
        return math.fsum(values)
    except (OverflowError, ValueError):  # also infinities of both signs
        return math.inf


def cluster_sums(scores: Floats, clusters: Integers) -> tuple[Floats, Floats]:
    """Sum scores by cluster, and count them.

    Sums and sizes are in the order of the clusters' numbers.
    """
    _, membership, sizes = np.unique(clusters, return_inverse=True, return_counts=True)
    totals = np.bincount(membership, weights=scores, minlength=len(sizes))
    return totals.astype(np.float64), sizes.astype(np.float64)


def clustered_error(residuals: Floats, sizes: Floats) -> float:
    """Compute the standard error of a mean of rows in clusters (CR2).

    A residual is the sum of a cluster's rows less the mean. The error is infinite where
    the squares are too large to add up.
    """
    return adjusted_root(residuals, sizes) / float(sizes.sum())


def adjusted_root(
    residuals: Floats, sizes: Floats, times: Floats | float = 1.0
) -> float:
    """Return sqrt(sum of residual^2 / (1 - share of the rows)).

    There is one residual of each cluster.
    """
    rest = 1 - sizes / (sizes * times).sum()
    with np.errstate(over="ignore", invalid="ignore"):
        squares = times * (residuals**2 / rest)
    if not np.isfinite(squares).all():
        return math.inf
    return math.sqrt(sum_or_infinity(squares))


def degrees_of_freedom(sizes: Floats, correlation: float = 0.0) -> float:
    """Compute Satterthwaite's degrees of freedom of `clustered_error`.

    Two rows of a cluster are taken to correlate by `correlation`, 0 to 1. The result is
    between 1 and G - 1; the latter where all clusters are of one size.
    """
    n = float(sizes.sum())
    share = sizes / n
    own = (1 - correlation) * share / n + correlation * share**2
    total = float(own.sum())
    # residuals, divided by sqrt(1 - share), have the covariance
    # a_c a_d (own_c [c = d] - share_d own_c - share_c own_d + share_c share_d total)
    scale = 1 / np.sqrt(1 - share)
    a, b = scale * share, scale * own
    diagonal = scale**2 * (own - 2 * share * own + share**2 * total)
    apart = total * a * a - 2 * a * b
    aa, bb, ab = float(a @ a), float(b @ b), float(a @ b)
    squares = 2 * aa * bb + 2 * ab**2 + (total * aa) ** 2 - 4 * total * aa * ab
    squares += float((diagonal**2 - apart**2).sum())
    return min(max(1.0, float(diagonal.sum()) ** 2 / squares), len(sizes) - 1.0)


def cautious_degrees(sizes: Floats, correlation: float) -> float:
    """Compute degrees of freedom for scores that lie close to a bound.

    The harmonic mean of those of independent rows and of rows that correlate as they
    were seen to. (Chosen by simulation: the former alone cover .90 for a share of .9 in
    100 clusters of lognormal sizes, the latter 1.00 where one cluster is half.)
    """
    plain, seen = degrees_of_freedom(sizes), degrees_of_freedom(sizes, correlation)
    return 2 / (1 / plain + 1 / seen)


def intraclass_correlation(totals: Floats, squares: Floats, sizes: Floats) -> float:
    """Estimate what two rows of a cluster correlate by, 0 to 1 (Donner 1986).

    It is 1 where nothing differs within clusters, or where none has two rows. `squares`
    are the sums of the squared values of each cluster.
    """
    between, within = variance_components(totals, squares, sizes)
    return float(between / (between + within)) if within else 1.0


def variance_components(
    totals: Floats, squares: Floats, sizes: Floats
) -> tuple[Floats, Floats]:
    """Split the variance of rows into that between clusters and that within them.

    By an analysis of variance (Donner 1986) along the last axis. That within clusters
    is 0 where nothing differs there, or where none has two rows.
    """
    n, count = sizes.sum(axis=-1), sizes.shape[-1]
    means = totals / sizes
    mean = totals.sum(axis=-1) / n
    between = (sizes * (means - mean[..., None]) ** 2).sum(axis=-1) / (count - 1)
    within = np.maximum(squares - totals * means, 0.0).sum(axis=-1)
    is_alike = (n <= count) | (within <= 1e-12 * squares.sum(axis=-1))
    within = np.where(is_alike, 0.0, within / np.maximum(n - count, 1))
    typical = (n - (sizes**2).sum(axis=-1) / n) / (count - 1)
    return np.maximum(0.0, (between - within) / typical), within


def effective_number(weights: Floats) -> float:
    """Return how many equal weights would be as unequal: (Σ weight)² / Σ weight².

    It is between 1 and their number (Kish 1965).
    """
    return float(weights.sum() ** 2 / (weights**2).sum())


MOST_OF_ONE = 0.2
"""Share of the rows in one cluster from which a score is flagged, unless it is less
than twice the mean share."""

FEW_UNITS = 10
"""Effective number of units below which a score is flagged."""


class ClusterSizes(NamedTuple):
    """How unequal clusters are."""

    clusters: int
    largest: float
    """Share of all rows that the largest has."""
    effective: float
    """Number of clusters of one size that are as unequal: see `effective_number`."""

    @property
    def warning(self) -> str | None:
        """Flag of an interval that rests on one or a few clusters."""
        if self.largest >= max(MOST_OF_ONE, 2 / self.clusters):
            return (
                f"one cluster has {100 * MOST_OF_ONE:g} % or more of the examples, and "
                "the interval depends heavily on it"
            )
        if self.effective < FEW_UNITS:
            return (
                f"the clusters are worth fewer than {FEW_UNITS} of one size, so the "
                "interval may be too narrow"
            )
        return None


def describe_sizes(sizes: Floats) -> ClusterSizes:
    """Describe how unequal clusters are, of which there is at least one."""
    largest = float(sizes.max() / sizes.sum())
    return ClusterSizes(len(sizes), largest, effective_number(sizes))


def sizes_go_with_scores(totals: Floats, sizes: Floats) -> bool:
    """Tell whether larger clusters have other scores, by Pearson's test at .01."""
    count = len(sizes)
    means = totals / sizes
    means /= max(float(np.abs(means).max()), 1e-300)
    if count < FEW_UNITS or np.ptp(sizes) == 0 or not 0 < np.ptp(means) < math.inf:
        return False
    correlation = float(np.corrcoef(sizes, means)[0, 1])
    rest = max(1 - correlation**2, 1e-300)
    statistic = abs(correlation) * math.sqrt((count - 2) / rest)
    return outside_probability(statistic, count - 2) < 0.01
