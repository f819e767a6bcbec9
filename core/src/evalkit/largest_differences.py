"""The largest difference between groups: its interval, and the test that all are equal.

The largest of all standardised differences is drawn under the hypothesis that there is
none (max-T, Westfall and Young 1993).
"""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np

from evalkit.intervals import Floats, Interval, without_interval
from evalkit.statistics_rows import Codes
from evalkit.student_t import normal_quantile, outside_probability, t_quantile

DRAWS = 10_000
"""Draws of the largest standardised difference."""

_LEAST_TAIL = 1e-300


def max_t_gap(
    values: Floats,
    covariance: Floats,
    gap: float,
    confidence: float,
    units: int,
    random: np.random.Generator,
) -> tuple[Interval, float]:
    """Compute the interval of the largest difference between groups, and a test.

    The differences of all pairs are standardised; the distribution of the largest is
    drawn under the hypothesis that all groups are equal. With that quantile the
    intervals of all pairs hold at once, and the gap lies between the largest lower and
    the largest upper bound.

    Args:
        values: Scores of the groups, of shape (groups,).
        covariance: Their covariance, of shape (groups, groups).
        gap: The largest difference as it is reported.
        confidence: Probability of the interval.
        units: Units of the smallest group, for Student's quantile.
        random: Where the draws come from.

    Returns:
        The interval, not below 0, and the p-value of the test that all are equal.
    """
    variances = np.diag(covariance)
    squares = variances[:, None] + variances[None, :] - 2 * covariance
    errors = np.sqrt(np.maximum(squares, 0))
    first, second = _pairs(errors)
    if not len(first):
        return without_interval("the groups do not differ in their examples"), 1.0
    largest = _largest_differences(covariance, errors, first, second, random)
    differences = np.abs(values[first] - values[second])
    pair_errors = errors[first, second]
    observed = float((differences / pair_errors).max())
    as_normal = _normal_equivalent(observed, units)
    p_value = (1 + int((largest >= as_normal - 1e-12).sum())) / (1 + DRAWS)
    normal = float(np.quantile(largest, confidence))
    quantile = _student_quantile(normal, units)
    low = max(0.0, float((differences - quantile * pair_errors).max()))
    high = float((differences + quantile * pair_errors).max())
    widest = int(np.argmax(differences))
    error = float(pair_errors[widest])
    return Interval(min(low, gap), max(high, gap), error, "max-t"), p_value


def _pairs(errors: Floats) -> tuple[Codes, Codes]:
    first, second = np.triu_indices(len(errors), 1)
    known = errors[first, second] > 0
    return first[known], second[known]


def _largest_differences(
    covariance: Floats,
    errors: Floats,
    first: Codes,
    second: Codes,
    random: np.random.Generator,
) -> Floats:
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, 0))
    drawn = random.standard_normal((DRAWS, len(values))) @ root.T
    largest = np.zeros(DRAWS)
    for group in np.unique(first):
        others = second[first == group]
        differences = np.abs(drawn[:, group, None] - drawn[:, others])
        np.maximum(
            largest, (differences / errors[group, others]).max(axis=1), out=largest
        )
    return largest


def _student_quantile(normal: float, units: int) -> float:
    """Give Student's quantile of the probability that a normal one stands for."""
    inside = math.erf(normal / math.sqrt(2))
    if not 0 < inside < 1 - 1e-12:
        return normal
    return t_quantile(inside, _degrees(units)) * normal / normal_quantile(inside)


def _normal_equivalent(t: float, units: int) -> float:
    """Give the normal quantile of the probability that one of Student's stands for."""
    outside = outside_probability(t, _degrees(units))
    return -NormalDist().inv_cdf(outside / 2) if outside > _LEAST_TAIL else t


def _degrees(units: int) -> int:
    """Give the degrees of freedom of a difference between two groups."""
    return max(1, 2 * (units - 1))
