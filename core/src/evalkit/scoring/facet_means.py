"""The interval of the mean of the scores of a facet's groups.

Its variance is the sum of the groups' smoothed variances, its degrees of freedom those
of Satterthwaite (1946), and a score with bounds has Wilson's interval of as many
examples as tell as much. Adding up plain variances covered 84 to 91 % with small groups
near 1, where half of them show no error.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from evalkit.inference.cluster_sizes import effective_number, sum_or_infinity
from evalkit.inference.intervals import TOO_LARGE, Interval, wilson, without_interval
from evalkit.inference.student_t import t_quantile
from evalkit.scoring.evidence import Evidence
from evalkit.scoring.facet_groups import FacetGroups
from evalkit.scoring.group_estimates import NO_GRADIENT, GroupEstimates

FEWEST_OF_CLASS = 3
"""Examples that the rarest class of a tag should have for the interval to hold."""

TOO_NARROW = (
    f"its interval may be too narrow: most groups have fewer than {FEWEST_OF_CLASS} "
    "examples of a class"
)


class _Spread(NamedTuple):
    variance: float
    degrees: float


def facet_mean_interval(
    evidence: Evidence, facet: FacetGroups, estimates: GroupEstimates
) -> Interval:
    """Compute the interval of the mean of groups' scores.

    Args:
        evidence: What the scores were computed from.
        facet: The groups.
        estimates: What is estimated of each.

    Returns:
        The interval, or none with the reason.
    """
    if estimates.reason is not None:
        return without_interval(estimates.reason)
    found = _spread(evidence, facet, estimates)
    if isinstance(found, str):
        return without_interval(found)
    value = math.fsum(estimates.values) / len(estimates.values)
    error = math.sqrt(found.variance)
    if not math.isfinite(error):
        return without_interval(TOO_LARGE)
    if error <= 1e-15 * abs(value):
        return without_interval("all values are equal")
    degrees = max(1, math.floor(found.degrees))
    quantile = t_quantile(evidence.settings.confidence, degrees)
    suffix = "-clustered" if evidence.clustered else ""
    # a sample's mean over classes is lower than the truth, and its samples' lower again
    centre = value - estimates.bias
    if estimates.bounds is None:
        low, high = centre - quantile * error, centre + quantile * error
        return Interval(low, high, error, f"t-facet{suffix}")
    low, high = _bounded(centre, estimates, error, quantile, estimates.bounds)
    return Interval(min(low, value), max(high, value), error, f"wilson-facet{suffix}")


def _bounded(
    centre: float,
    estimates: GroupEstimates,
    error: float,
    quantile: float,
    bounds: tuple[float, float],
) -> tuple[float, float]:
    least, greatest = bounds
    width = greatest - least
    smoothed = (math.fsum(estimates.means) / len(estimates.means) - least) / width
    smoothed = min(max(smoothed, 0.0), 1.0)
    effective = max(smoothed * (1 - smoothed) * (width / error) ** 2, 1e-9)
    share = min(max((centre - least) / width, 0.0), 1.0)
    low, high = wilson(share, effective, quantile)
    return least + width * low, least + width * high


def _spread(
    evidence: Evidence, facet: FacetGroups, estimates: GroupEstimates
) -> _Spread | str:
    variances, units = estimates.mean_variances, estimates.units
    squares = variances**2 / estimates.degrees
    apart = math.fsum(variances) / len(variances) ** 2
    degrees = math.fsum(variances) ** 2 / math.fsum(squares)
    if facet.is_disjoint or not math.isfinite(apart) or apart == 0:
        return _Spread(apart, degrees)
    shared = _shared(evidence, facet)
    if isinstance(shared, str):
        return shared
    if int(units.sum()) > shared.present:
        degrees = min(shared.effective, shared.present) - 1
    # what groups share is scaled as their own variances were
    return _Spread(apart * shared.ratio, degrees)


class _Shared(NamedTuple):
    """What units that are in several groups do to a mean over the groups."""

    ratio: float
    """Its variance by that of groups that share nothing."""
    present: int
    """How many units there are."""
    effective: float
    """How many equal units would vary as much."""


def _shared(evidence: Evidence, facet: FacetGroups) -> _Shared | str:
    totals, weights = np.zeros(evidence.units.count), np.zeros(evidence.units.count)
    apart = 0.0
    for group in facet.groups:
        found = evidence.influences(group)
        if found is None:
            return NO_GRADIENT
        totals[found.units] += found.totals
        weights[found.units] += found.sizes / found.sizes.sum()
        # exactly, as units are in the order of rows
        apart += sum_or_infinity(found.totals**2)
    # what a unit adds to the variance, if its examples are alike
    squares = weights**2
    return _Shared(
        sum_or_infinity(totals**2) / apart if apart > 0 else 1.0,
        int(np.count_nonzero(weights)),
        effective_number(squares),
    )
