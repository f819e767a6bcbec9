"""Intervals and bounds that are percentiles of replicates."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np

from evalkit.inference.intervals import Floats, Interval, wilson, without_interval
from evalkit.inference.student_t import normal_quantile, t_quantile

LEAST_IN_TAIL = 5
"""Replicates beyond each end of a percentile interval."""


def percentile_interval(
    replicates: Floats, requested: int, confidence: float, method: str
) -> Interval:
    """Compute the percentile interval of replicates (Efron 1979).

    Args:
        replicates: Values of the score, of shape (replicates,). Undefined ones are nan,
            or left out.
        requested: How many were drawn.
        confidence: Probability of the interval, such as 0.95.
        method: What the interval is called.

    Returns:
        The interval with the replicates' standard deviation as standard error; none
        where more than half of those drawn are undefined, where all are equal, or where
        fewer than `LEAST_IN_TAIL` of those drawn lie beyond each end.
    """
    tail = (1 - confidence) / 2
    if requested * tail < LEAST_IN_TAIL - 1e-9:
        return without_interval(
            f"{requested} bootstrap replicates are too few for this confidence"
        )
    defined = replicates[np.isfinite(replicates)]
    if len(defined) < requested / 2:
        return without_interval("the score is undefined in most bootstrap replicates")
    low, high = np.quantile(defined, [tail, 1 - tail])
    error = float(np.std(defined, ddof=1))
    if high - low <= 1e-15 * max(1.0, abs(float(low))):
        return without_interval("all bootstrap replicates are equal")
    return Interval(float(low), float(high), error, method)


def within_bounds(
    interval: Interval,
    value: float,
    bounds: tuple[float, float],
    units: float,
    confidence: float,
) -> Interval:
    """Widen the percentiles of a score between two bounds to Wilson's interval.

    Near a bound, samples differ less from each other than from the truth: the
    percentiles of an AUROC of .95 with 20 positives cover .87, and .94 together with
    Wilson's interval of as many zeros and ones as have the same standard error.

    Args:
        interval: Percentiles, with the standard error.
        value: The score.
        bounds: The least and the greatest possible one.
        units: How many examples or clusters were drawn.
        confidence: Probability of the interval, such as 0.95.

    Returns:
        The interval, which holds both.
    """
    low, high, error = interval.low, interval.high, interval.standard_error
    width = bounds[1] - bounds[0]
    share = (value - bounds[0]) / width
    if low is None or high is None or not error or not 0 < share < 1:
        return interval
    size = share * (1 - share) * (width / error) ** 2
    least, most = (
        bounds[0] + width * end
        for end in wilson(share, size, t_quantile(confidence, max(1.0, units - 1)))
    )
    return interval._replace(low=min(low, least), high=max(high, most))


def both_percentiles(
    replicates: Floats, centre: float, confidence: float
) -> tuple[float, float]:
    """Return bounds that hold percentiles and those corrected for bias.

    Args:
        replicates: Values of the score, of shape (replicates,), all defined.
        centre: The score that they were drawn around.
        confidence: Probability between the bounds.

    Returns:
        The bounds.
    """
    tail = (1 - confidence) / 2
    low, high = np.quantile(replicates, [tail, 1 - tail])
    corrected = corrected_bounds(replicates, centre, confidence)
    return min(float(low), corrected[0]), max(float(high), corrected[1])


def corrected_bounds(
    replicates: Floats, centre: float, confidence: float
) -> tuple[float, float]:
    """Return the percentiles of replicates, corrected for their bias (Efron 1981).

    Where the replicates lie lower than what they were drawn from, the score itself
    lies lower than the truth, so the percentiles are moved the other way, by twice the
    normal quantile of the share of replicates below the centre.

    Args:
        replicates: Values of the score, of shape (replicates,), all finite.
        centre: The score of that which the replicates were drawn from.
        confidence: Probability of the interval, such as 0.95.

    Returns:
        Lower and upper bound, each one of the replicates or between two of them.
    """
    normal = NormalDist()
    slack = 1e-12 * max(1.0, abs(centre))
    below = np.count_nonzero(replicates < centre - slack)
    equal = np.count_nonzero(np.abs(replicates - centre) <= slack)
    share = (float(below) + equal / 2 + 0.5) / (len(replicates) + 1)
    shift = 2 * normal.inv_cdf(share)
    quantile = normal_quantile(confidence)
    levels = [normal.cdf(shift - quantile), normal.cdf(shift + quantile)]
    low, high = np.quantile(replicates, levels)
    return float(low), float(high)
