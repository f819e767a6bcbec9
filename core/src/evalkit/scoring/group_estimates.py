"""Smoothed estimates of the scores of groups and of their variances.

A group without any error shows no spread, and a small one too little: taken at their
word, 12 equal groups of 12 are called different in one report of five. So

- a share p of n gets one right and one wrong example more where groups are compared
  (Agresti and Caffo 2000), and two examples of the mean share of all groups where they
  are averaged; in clusters n is the effective number of rows;
- counts of label pairs have score and variance of the smoothed counts that their
  replicates are drawn from; those of one gold label, whose score follows from a share,
  are compared with one right and one wrong example more;
- the variance of another bounded mean is drawn towards that of all groups with the
  weight of two examples, and so is that of any group without spread.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evalkit.inference.intervals import (
    LARGEST,
    SMALLEST,
    TOO_LARGE,
    TOO_SMALL,
    Floats,
    Integers,
    clustered_share,
)
from evalkit.scoring.evidence import Evidence, example_column, interval_kind
from evalkit.scoring.facet_groups import FacetGroups
from evalkit.scoring.group_intervals import GroupIntervals

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
    bias: float
    """How much higher the mean of the values is in samples than in truth."""
    bounds: tuple[float, float] | None
    """Least and greatest value; None where a side has none."""
    rarest: float
    """How many examples the rarest class of a group has, the median over the groups;
    infinite where classes are of no matter."""
    units: Integers
    """How many units each group has."""
    degrees: Floats
    """Degrees of freedom of the variances, fewer where clusters are unequal; 0 where
    there is no variance for want of units."""
    reasons: Sequence[str | None]
    """Why a group has no variance."""

    def only(self, places: Sequence[int]) -> GroupEstimates:
        """Return the estimates of some of the groups, by their place."""
        chosen = list(places)
        return self._replace(
            values=self.values[chosen],
            centres=self.centres[chosen],
            variances=self.variances[chosen],
            means=self.means[chosen],
            mean_variances=self.mean_variances[chosen],
            units=self.units[chosen],
            degrees=self.degrees[chosen],
            reasons=[self.reasons[place] for place in chosen],
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
    sample = _Sample(
        np.array(values),
        units,
        np.array([evidence.degrees(group) for group in facet.groups]),
        [few if count < 2 else None for count in units.tolist()],
    )
    shares = _shares(evidence, facet)
    if shares is not None:
        degrees = sample.degrees if shares.degrees is None else shares.degrees
        sample = sample._replace(degrees=degrees)
        return _of_shares(sample, shares.effective, evidence.clustered)
    if evidence.clustered and interval_kind(evidence.metric) == "multinomial":
        sample = sample._replace(degrees=_drawn_degrees(evidence, facet, sample))
    return _of_others(evidence, intervals, facet, sample)


def _drawn_degrees(evidence: Evidence, facet: FacetGroups, sample: _Sample) -> Floats:
    """Return degrees for rows of unequal clusters that are as alike as may be."""
    sizes = [evidence.cluster_sizes(group) for group in facet.groups]
    effective = [found.effective if found else 1.0 for found in sizes]
    degrees: Floats = np.minimum(
        sample.degrees, np.maximum(np.array(effective) - 1, 1.0)
    )
    return degrees


class _Sample(NamedTuple):
    """The groups as they are; arrays of shape (groups,)."""

    values: Floats
    units: Integers
    degrees: Floats
    reasons: list[str | None]
    """Why a group can have no variance."""


def _units(evidence: Evidence, group: int) -> int:
    count = evidence.n_clusters(group) if evidence.clustered else evidence.n[group]
    return int(count or 0)


class _Shares(NamedTuple):
    """What shares are worth; arrays of shape (groups,)."""

    effective: Floats
    """Effective number of rows."""
    degrees: Floats | None
    """Degrees of freedom, as those of the groups' own intervals; None without
    clusters."""


def _shares(evidence: Evidence, facet: FacetGroups) -> _Shares | None:
    """Say what the shares of groups are worth; None if they are no shares."""
    column = example_column(evidence.metric)
    if column is None or interval_kind(evidence.metric) != "wilson":
        return None
    effective = []
    for group in facet.groups:
        values, counts = evidence.values_of(group, column)
        if not np.isin(values, (0.0, 1.0)).all():
            return None
        effective.append(float(counts.sum()))
    if not evidence.clustered:
        return _Shares(np.array(effective), None)
    by_code = evidence.rows.distinct[column].to_numpy()
    degrees = [0.0] * len(effective)
    for place, group in enumerate(facet.groups):
        _, totals, sizes = evidence.unit_sums(group, by_code)
        if len(sizes) > 1:
            found = clustered_share(totals, sizes)
            effective[place], degrees[place] = found.effective, found.degrees
    return _Shares(np.array(effective), np.array(degrees))


def _of_shares(sample: _Sample, effective: Floats, clustered: bool) -> GroupEstimates:
    units = sample.units
    ones = sample.values * effective
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
        values=sample.values,
        centres=centres,
        variances=variances,
        means=means,
        mean_variances=mean_variances,
        bias=0.0,
        bounds=(0.0, 1.0),
        rarest=math.inf,
        units=units,
        degrees=sample.degrees,
        reasons=sample.reasons,
    )


def _of_others(
    evidence: Evidence, intervals: GroupIntervals, facet: FacetGroups, sample: _Sample
) -> GroupEstimates:
    own = _own_variances(evidence, intervals, facet, sample)
    units, bounds = sample.units, _bounds(evidence)
    # a mean of scores is rounded by their size, other scores by that of shares
    is_mean = example_column(evidence.metric) is not None
    size = min(1.0, float(np.abs(sample.values).max())) if is_mean else 1.0
    least = max(1e-15 * size, SMALLEST) ** 2 if size < 1 else 1e-30
    means, variances = _smoothed(own, sample, bounds, least)
    compared = np.where(own.is_drawn, own.compared, own.centres)
    compared_variances = np.where(own.is_drawn, own.compared_variances, variances)
    # a group of one label, predicted rightly throughout, shows nothing by itself
    variances = np.where(
        own.is_drawn & (variances <= least), compared_variances, variances
    )
    too_little = TOO_SMALL if 0 < size < SMALLEST else ALL_EQUAL
    reasons = [
        too_little if variance <= least else reason
        for reason, variance in zip(own.reasons, variances.tolist(), strict=True)
    ]
    return GroupEstimates(
        values=sample.values,
        centres=compared,
        variances=compared_variances,
        means=means,
        mean_variances=variances,
        bias=own.bias,
        bounds=bounds,
        rarest=own.rarest,
        units=units,
        degrees=sample.degrees,
        reasons=reasons,
    )


def _growth(evidence: Evidence, group: int) -> float:
    """Return the variance of a sample of clusters by that of its replicates."""
    sizes = evidence.cluster_sizes(group)
    if sizes is None:
        return 1.0
    effective = max(2.0, sizes.effective)
    return effective / (effective - 1)


class _OwnVariances(NamedTuple):
    """What each group says of its own variance; arrays of shape (groups,)."""

    centres: Floats
    variances: Floats
    """nan where there is none."""
    is_drawn: NDArray[np.bool_]
    """Whether they are those of replicates of smoothed counts."""
    compared: Floats
    """Scores by which groups with replicates are compared."""
    compared_variances: Floats
    bias: float
    rarest: float
    reasons: list[str | None]


def _own_variances(
    evidence: Evidence, intervals: GroupIntervals, facet: FacetGroups, sample: _Sample
) -> _OwnVariances:
    """Return the variances of replicates, or else the delta method's."""
    reasons = list(sample.reasons)
    centres, variances = sample.values.copy(), np.full(len(reasons), np.nan)
    is_drawn, shifts = np.zeros(len(reasons), dtype=bool), np.zeros(len(reasons))
    compared, compared_variances = centres.copy(), variances.copy()
    rarest = []
    for place, group in enumerate(facet.groups):
        if reasons[place]:
            continue
        drawn = intervals.drawn(group)
        if drawn is not None:
            is_drawn[place] = True
            centres[place], variances[place] = drawn.centre, drawn.variance
            growth = _growth(evidence, group)
            variances[place] *= growth
            compared[place] = drawn.compared
            compared_variances[place] = drawn.compared_variance * growth
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
    median = float(np.median(rarest)) if rarest else math.inf
    bias = float(shifts.mean())
    return _OwnVariances(
        *(centres, variances, is_drawn, compared, compared_variances),
        *(bias, median, reasons),
    )


def _smoothed(
    own: _OwnVariances,
    sample: _Sample,
    bounds: tuple[float, float] | None,
    least: float,
) -> tuple[Floats, Floats]:
    """Draw groups towards all of them, where their own variance may be too small.

    Returns:
        The means and the variances.
    """
    values, units, variances = sample.values, sample.units, own.variances
    if not np.isfinite(variances).any():
        return own.centres, variances
    pooled = _pool(values, variances, units, bounds)
    freedom = units - 1.0
    borrowed = freedom * variances * units + _BORROWED * pooled.spread
    borrowed /= (freedom + _BORROWED) * np.maximum(units, 1)
    is_smoothed = ~own.is_drawn & ((variances <= least) | (bounds is not None))
    drawn_in = (values * units + _BORROWED * pooled.mean) / (units + _BORROWED)
    return (
        np.where(is_smoothed, drawn_in, own.centres),
        np.where(is_smoothed, borrowed, variances),
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
    found = evidence.metric.bounds or (None, None)
    low, high = found
    if low is None or high is None or not math.isfinite(low) or not math.isfinite(high):
        return None
    if high - low > LARGEST:
        return None  # bounds so far away say nothing
    return float(low), float(high)
