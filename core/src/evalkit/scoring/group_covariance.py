"""The covariance of the scores of groups that share examples or clusters."""

from __future__ import annotations

import numpy as np

from evalkit.inference.intervals import Floats
from evalkit.scoring.evidence import Evidence
from evalkit.scoring.facet_groups import FacetGroups
from evalkit.scoring.group_estimates import NO_GRADIENT, GroupEstimates

MOST_ENTRIES = 50_000_000
"""Units times groups that are held at a time."""

_LEAST_CORRELATION = 1e-12
"""Correlations below it are rounding."""


def group_covariance(
    evidence: Evidence, facet: FacetGroups, estimates: GroupEstimates
) -> Floats | str:
    """Return the covariance of groups' scores.

    Correlations are those of the influences of the units that groups share; variances
    are the smoothed ones.

    Args:
        evidence: What the scores were computed from.
        facet: The groups.
        estimates: What is estimated of each; all have a variance.

    Returns:
        Of shape (groups, groups), or (groups,) where the groups share nothing; or why
        there is none.
    """
    if facet.is_disjoint:
        return estimates.variances
    count = len(facet.groups)
    if evidence.units.count * count > MOST_ENTRIES:
        return "the facet is too large to be tested"
    influences = np.zeros((evidence.units.count, count))
    for place, group in enumerate(facet.groups):
        found = evidence.influences(group)
        if found is None:
            return NO_GRADIENT
        influences[found.units, place] = found.totals
    with np.errstate(over="ignore", invalid="ignore"):
        product = influences.T @ influences
    lengths = np.sqrt(np.diag(product))
    with np.errstate(divide="ignore", invalid="ignore"):
        inverse = np.where(lengths > 1e-15 * min(1.0, lengths.max()), 1 / lengths, 0.0)
        correlation = product * np.outer(inverse, inverse)
    np.fill_diagonal(correlation, 1.0)
    if np.abs(correlation - np.eye(count)).max() < _LEAST_CORRELATION:
        return estimates.variances
    errors = np.sqrt(estimates.variances)
    covariance: Floats = correlation * np.outer(errors, errors)
    return covariance
