"""Smoothed estimates of the scores of groups and of their variances.

A group without any error shows no spread, and a small one too little: taken at their
word, 12 equal groups of 12 are called different in one report of five. So

- a share p of n gets one right and one wrong example more where groups are compared
  (Agresti and Caffo 2000), and two examples of the mean share of all groups where they
  are averaged; in clusters n is the effective number of rows;
- counts of label pairs have score and variance of the smoothed counts that their
  replicates are drawn from;
- the variance of another bounded mean is drawn towards that of all groups with the
  weight of two examples, and so is that of any group without spread.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from evalkit.evidence import Evidence, example_column, interval_kind
from evalkit.facet_groups import FacetGroups
from evalkit.group_intervals import GroupIntervals
from evalkit.intervals import (
    LARGEST,
    SMALLEST,
    TOO_LARGE,
    TOO_SMALL,
    Floats,
    Integers,
    clustered_share,
)

ONE_EXAMPLE = "n of a group is 1"
ONE_CLUSTER = "all examples of a group are in one cluster"
NO_GRADIENT = "the score is no smooth function of sums"
ALL_EQUAL = "all scores of a group are equal"

_BORROWED = 2
"""Examples that the estimate of a group borrows from the others."""


class GroupEstimates(NamedTuple):
    """What is estimated of each group; arrays of shape (groups,)."""

    values: Floats
    """The scores as reported."""
    centres: Floats
    """Scores by which groups are compared."""
    variances: Floats
    """Variances of the centres; nan where there is none."""
    means: Floats
    """Scores drawn towards those of all groups, for a variance that is not too small
    near a bound."""
    mean_variances: Floats
    """Variances of the values; nan where there is none."""
    noise: Floats
    """Variances of the values if all groups varied alike; nan where there is none. A
    group's own would be least where it was lucky, and so be taken for the surest."""
    bias: float
    """How much higher the mean of the values is in samples than in truth."""
    bounds: tuple[float, float] | None
    """Least and greatest value; None where a side has none."""
    rarest: float
    """How many examples the rarest class of a group has, the median over the groups;
    infinite where classes are of no matter."""
    units: Integers
    """How many units each group has."""
    reasons: Sequence[str | None]
    """Why a group has no variance."""

    def only(self, places: Sequence[int]) -> GroupEstimates:
        """Give the estimates of some of the groups, by their place."""
        chosen = list(places)
        return GroupEstimates(
            self.values[chosen],
            self.centres[chosen],
            self.variances[chosen],
            self.means[chosen],
            self.mean_variances[chosen],
            self.noise[chosen],
            self.bias,
            self.bounds,
            self.rarest,
            self.units[chosen],
            [self.reasons[place] for place in chosen],
        )

    @property
    def reason(self) -> str | None:
        """Why one of the groups has no variance."""
        return next(filter(None, self.reasons), None)


def estimate_groups(
    evidence: Evidence,
    intervals: GroupIntervals,
    facet: FacetGroups,
    values: Sequence[float],
) -> GroupEstimates:
    """Estimate the scores of groups and their variances.

    Args:
        evidence: What the scores were computed from.
        intervals: Their intervals.
        facet: The groups.
        values: Their scores.

    Returns:
        The estimates.
    """
    units = np.array([_units(evidence, group) for group in facet.groups])
    few = ONE_CLUSTER if evidence.clustered else ONE_EXAMPLE
    reasons = [few if count < 2 else None for count in units.tolist()]
    scores = np.array(values)
    shares = _shares(evidence, facet)
    if shares is not None:
        return _of_shares(scores, shares, units, reasons, evidence.clustered)
    return _of_others(evidence, intervals, facet, scores, units, reasons)


def _units(evidence: Evidence, group: int) -> int:
    count = evidence.n_clusters(group) if evidence.clustered else evidence.n[group]
    return int(count or 0)


def _shares(evidence: Evidence, facet: FacetGroups) -> Floats | None:
    """Give the effective number of rows of each group; None if they are no shares."""
    column = example_column(evidence.metric)
    if column is None or interval_kind(evidence.metric) != "wilson":
        return None
    effective = []
    for group in facet.groups:
        values, counts = evidence.values_of(group, column)
        if not np.isin(values, (0.0, 1.0)).all():
            return None
        effective.append(float(counts.sum()))
    if evidence.clustered:
        by_code = evidence.rows.distinct[column].to_numpy()
        for place, group in enumerate(facet.groups):
            _, totals, sizes = evidence.unit_sums(group, by_code)
            if len(sizes) > 1:
                effective[place] = clustered_share(totals, sizes).effective
    return np.array(effective)


def _of_shares(
    values: Floats,
    effective: Floats,
    units: Integers,
    reasons: Sequence[str | None],
    clustered: bool,
) -> GroupEstimates:
    ones = values * effective
    centres = (ones + 1) / (effective + 2)
    variances = centres * (1 - centres) / (effective + 2)
    pooled = (ones.sum() + 1) / (effective.sum() + 2)
    means = (ones + _BORROWED * pooled) / (effective + _BORROWED)
    mean_variances = means * (1 - means) / effective
    if clustered:
        mean_variances *= units / np.maximum(units - 1, 1)
        variances = np.where(units < 2, np.nan, variances)
        mean_variances = np.where(units < 2, np.nan, mean_variances)
    return GroupEstimates(
        values,
        centres,
        variances,
        means,
        mean_variances,
        pooled * (1 - pooled) / effective,
        0.0,
        (0.0, 1.0),
        math.inf,
        units,
        reasons,
    )


def _of_others(
    evidence: Evidence,
    intervals: GroupIntervals,
    facet: FacetGroups,
    values: Floats,
    units: Integers,
    reasons: list[str | None],
) -> GroupEstimates:
    centres, variances = values.copy(), np.full(len(values), np.nan)
    is_drawn = np.zeros(len(values), dtype=bool)
    shifts = np.zeros(len(values))
    rarest = []
    for place, group in enumerate(facet.groups):
        if reasons[place]:
            continue
        drawn = intervals.drawn(group)
        if drawn is not None:
            is_drawn[place] = True
            centres[place], variances[place] = drawn.centre, drawn.variance
            shifts[place] = drawn.mean - drawn.centre
            rarest.append(drawn.rarest)
            continue
        variance = evidence.variance(group)
        if variance is None:
            reasons[place] = NO_GRADIENT
        elif not variance <= LARGEST**2:
            reasons[place] = TOO_LARGE
        else:
            variances[place] = variance
    # a mean of scores is rounded by their size, other scores by that of shares
    is_mean = example_column(evidence.metric) is not None
    size = min(1.0, float(np.abs(values).max())) if is_mean else 1.0
    least = max(1e-15 * size, SMALLEST) ** 2 if size < 1 else 1e-30
    known, bounds = np.isfinite(variances), _bounds(evidence)
    means = centres
    if known.any():
        pooled = _pool(values, variances, units, bounds)
        freedom, own = units - 1.0, variances * units
        borrowed = freedom * own + _BORROWED * pooled.spread
        borrowed /= (freedom + _BORROWED) * np.maximum(units, 1)
        is_smoothed = ~is_drawn & ((variances <= least) | (bounds is not None))
        variances = np.where(is_smoothed, borrowed, variances)
        drawn_in = (values * units + _BORROWED * pooled.mean) / (units + _BORROWED)
        means = np.where(is_smoothed, drawn_in, centres)
    reasons = [
        (TOO_SMALL if 0 < size < SMALLEST else ALL_EQUAL)
        if variance <= least
        else reason
        for reason, variance in zip(reasons, variances.tolist(), strict=True)
    ]
    alike = float((variances * units)[known].mean()) if known.any() else np.nan
    return GroupEstimates(
        values,
        centres,
        variances,
        means,
        variances,
        np.where(known, alike / np.maximum(units, 1), np.nan),
        float(shifts.mean()),
        bounds,
        float(np.median(rarest)) if rarest else math.inf,
        units,
        reasons,
    )


class _Pooled(NamedTuple):
    """What all groups say together."""

    mean: float
    spread: float
    """Variance of a single unit."""


def _pool(
    values: Floats,
    variances: Floats,
    units: Integers,
    bounds: tuple[float, float] | None,
) -> _Pooled:
    """Pool groups; near a bound as if one unit more were at each end."""
    known = np.isfinite(variances)
    freedom, counts = units[known] - 1.0, units[known].astype(np.float64)
    total = float(counts.sum())
    spread = float((variances[known] * counts * freedom).sum() / freedom.sum())
    mean = float((values[known] * counts).sum()) / total
    if bounds is None:
        return _Pooled(mean, spread)
    low, width = bounds[0], bounds[1] - bounds[0]
    share = min(max((mean - low) / width, 0.0), 1.0)
    most = share * (1 - share) * width**2
    ratio = spread / most if most > 0 else 1.0
    # a ratio says little where nearly all units are at a bound: so it is drawn to 1
    weight = 1 - 4 * share * (1 - share)
    ratio = (total * ratio + weight) / (total + weight)
    smoothed = (share * total + 1) / (total + 2)
    own = ratio * smoothed * (1 - smoothed) * width**2
    return _Pooled(low + width * smoothed, max(own, spread))


def _bounds(evidence: Evidence) -> tuple[float, float] | None:
    found = evidence.metric.attributes.get("bounds") or (None, None)
    low, high = found
    if low is None or high is None or not math.isfinite(low) or not math.isfinite(high):
        return None
    if high - low > LARGEST:
        return None  # bounds so far away say nothing
    return float(low), float(high)
