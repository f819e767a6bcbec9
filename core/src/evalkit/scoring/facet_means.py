"""The interval of the mean of the scores of a facet's groups.

Groups that share no unit are independent, and their intervals are combined by MOVER.
Otherwise whole units are resampled; with very many rows their influences are added up.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from evalkit.scoring.evidence import Evidence
from evalkit.scoring.facet_groups import FacetGroups
from evalkit.scoring.finalization import finalize_replicates
from evalkit.scoring.group_intervals import EXTREMES, MANY_VALUES, NO_GRADIENT
from evalkit.scoring.group_replicates import (
    MOST_KEPT,
    MOST_RESAMPLED,
    REPLICATES,
    draw_units,
)
from evalkit.scoring.records import GroupScore, bootstrap_method
from evalkit.statistics.intervals import (
    ONE_CLUSTER,
    Interval,
    delta_interval,
    mean_of_intervals,
    without_interval,
)
from evalkit.statistics.resampling import (
    Keys,
    Weights,
    percentile_interval,
    poisson_weights,
)


def facet_mean_interval(
    evidence: Evidence, facet: FacetGroups, main: Mapping[int, GroupScore]
) -> Interval:
    """Compute the interval of the mean of groups' scores.

    Args:
        evidence: What the scores were computed from.
        facet: The groups.
        main: The main score of each group.

    Returns:
        The interval, or none with the reason.
    """
    values = [float(main[group].value or 0.0) for group in facet.groups]
    if facet.is_disjoint:
        return mean_of_intervals(values, [main[g].interval for g in facet.groups])
    if facet.n_clusters is not None and facet.n_clusters < 2:
        return without_interval(ONE_CLUSTER)
    rows = int(evidence.n[list(facet.groups)].sum())
    value = math.fsum(values) / len(values)
    if rows > MOST_RESAMPLED and evidence.has_gradients:
        return _by_influence(evidence, facet, value)
    if evidence.merges_by_extremes:
        return without_interval(EXTREMES)
    if rows > MOST_KEPT and not evidence.merges_by_sum:
        return without_interval(MANY_VALUES)
    return _resampled(evidence, facet)


class _SameDraws:
    """Draws each unit equally often in all groups, however few units a group has."""

    def __init__(self, keys: Keys) -> None:
        self._keys = keys

    def of(
        self, units: NDArray[np.int64], first: int, count: int, replicates: int
    ) -> Weights:
        return poisson_weights(self._keys[units], first, count)


def _resampled(evidence: Evidence, facet: FacetGroups) -> Interval:
    weights = _SameDraws(evidence.units.keys)
    parts = (
        (group, REPLICATES, draw_units(evidence, group, weights))
        for group in facet.groups
    )
    found = finalize_replicates(evidence.finalizer, parts)
    reason = next((each.reason for each in found.values() if each.reason), None)
    if reason:
        return without_interval(reason)
    means = np.mean([each.values_of("") for each in found.values()], axis=0)
    method = bootstrap_method(evidence.clustered)
    return percentile_interval(means, evidence.settings.confidence, method)


def _by_influence(evidence: Evidence, facet: FacetGroups, value: float) -> Interval:
    totals, weights = np.zeros(evidence.units.count), np.zeros(evidence.units.count)
    for group in facet.groups:
        found = evidence.influences(group)
        if found is None:
            return without_interval(NO_GRADIENT)
        totals[found.units] += found.totals / len(facet.groups)
        weights[found.units] += found.sizes / found.sizes.sum()
    present = weights > 0
    return delta_interval(
        value,
        totals[present],
        weights[present],
        evidence.settings.confidence,
        clustered=evidence.clustered,
    )
