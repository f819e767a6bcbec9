"""What the scores of a facet's groups amount to: their mean, the worst, the gap.

The group that looks worst was picked for it, and so was the largest difference. Both
are described, without an interval; whether the groups differ at all is a test of the
facet: the largest of all standardized differences (max-T, Westfall and Young 1993). Its
p-values are adjusted where several facets are tested (Holm 1979).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from evalkit.inference.intervals import without_interval
from evalkit.inference.largest_differences import PairDifferences, pair_differences
from evalkit.inference.multiplicity import holm
from evalkit.inference.seeds import generator
from evalkit.scoring.evidence import Evidence, interval_kind
from evalkit.scoring.facet_groups import FacetGroups, facet_groups
from evalkit.scoring.facet_means import FEWEST_OF_CLASS, TOO_NARROW, facet_mean_interval
from evalkit.scoring.group_covariance import group_covariance
from evalkit.scoring.group_estimates import GroupEstimates, estimate_groups
from evalkit.scoring.group_intervals import NO_INTERVAL, GroupIntervals
from evalkit.scoring.pooled_replicates import (
    hardly_have_rare_class,
    with_pooled_replicates,
)
from evalkit.scoring.records import AggregateScore, GroupScore

RARE_CLASS = (
    "its p-value may be too small: groups have fewer than 2 examples of a rare class "
    "on average"
)

MOST_GROUPS = 200
"""Maximum number of groups of a facet that are tested."""

DESCRIBED = "it is described, without an interval"
"""Reason why the worst group and the gap have no interval of their own."""


class _Facet(NamedTuple):
    """The groups of a facet, and those of them that are large enough to compare."""

    everyone: FacetGroups
    estimates: GroupEstimates
    compared: FacetGroups
    values: Sequence[float]
    """Scores of the groups that are compared."""
    p_value: float | str
    """Of the test that they are equal, or why there is none."""


def aggregate_scores(
    evidence: Evidence, intervals: GroupIntervals, scores: Sequence[GroupScore]
) -> list[AggregateScore]:
    """Aggregate the main score over the groups of every facet and crossing.

    Args:
        evidence: What the scores were computed from.
        intervals: Their intervals.
        scores: The scores of all groups.

    Returns:
        Mean, worst group and gap of every facet with two groups or more.
    """
    main = {score.group: score for score in scores if score.score == ""}
    facets = [
        facet
        for name, numbers in evidence.groups.facets.items()
        if (facet := _facet(evidence, intervals, name, numbers, main))
    ]
    p_values = {
        facet.everyone.name: facet.p_value
        for facet in facets
        if not isinstance(facet.p_value, str)
    }
    adjusted = p_values
    if evidence.settings.one_family:
        adjusted = dict(zip(p_values, holm([*p_values.values()]), strict=True))
    aggregates = []
    for facet in facets:
        aggregates.append(_macro(evidence, intervals, facet))
        if len(facet.compared.groups) < 2:
            continue
        worst = _worst(evidence, facet, main)
        aggregates += [worst] if worst else []
        p_adjusted = adjusted.get(facet.everyone.name)
        aggregates.append(_gap(evidence, intervals, facet, p_adjusted))
    return aggregates


def _facet(
    evidence: Evidence,
    intervals: GroupIntervals,
    name: str,
    numbers: Sequence[int],
    main: Mapping[int, GroupScore],
) -> _Facet | None:
    everyone = facet_groups(evidence, name, numbers, main)
    if len(everyone.groups) < 2:
        return None
    values = [float(main[group].value or 0.0) for group in everyone.groups]
    estimates = estimate_groups(evidence, intervals, everyone, values)
    fewest = evidence.settings.fewest
    compared = facet_groups(evidence, name, numbers, main, fewest)
    places = [everyone.groups.index(group) for group in compared.groups]
    p_value = _p_value(evidence, compared, estimates.only(places))
    chosen = [values[place] for place in places]
    return _Facet(everyone, estimates, compared, chosen, p_value)


def _p_value(
    evidence: Evidence, facet: FacetGroups, estimates: GroupEstimates
) -> float | str:
    """Test that the groups of a facet are equal; or say why they are not tested."""
    differences = _differences(evidence, facet, estimates)
    if isinstance(differences, str):
        return differences
    # smoothed scores may differ where those that are reported do not
    values = estimates.values
    return 1.0 if values.max() == values.min() else differences.p_value


def _differences(
    evidence: Evidence, facet: FacetGroups, estimates: GroupEstimates
) -> PairDifferences | str:
    if interval_kind(evidence.metric) == "none":
        return NO_INTERVAL
    if len(facet.groups) < 2:
        return "fewer than two groups are large enough"
    if len(facet.groups) > MOST_GROUPS:
        return f"more than {MOST_GROUPS} groups are not tested"
    if estimates.reason is not None:
        return estimates.reason
    covariance = group_covariance(evidence, facet, estimates)
    if isinstance(covariance, str):
        return covariance
    least = float(estimates.degrees.min())
    # groups of the same clusters differ by what each cluster says, as pairs do
    present = facet.n_clusters if evidence.clustered else facet.n
    is_apart = int(estimates.units.sum()) == present
    name = facet.name
    seed = generator(evidence.settings.seed, evidence.metric.name, "gap", name)
    found = pair_differences(
        estimates.centres, covariance, 2 * least if is_apart else least, seed
    )
    if not len(found.pairs[0]):
        return "the groups do not differ in their examples"
    return found


def _macro(
    evidence: Evidence, intervals: GroupIntervals, facet: _Facet
) -> AggregateScore:
    everyone, estimates = facet.everyone, facet.estimates
    values = estimates.values
    value = math.fsum(values) / len(values)
    if interval_kind(evidence.metric) == "none":
        interval = without_interval(NO_INTERVAL)
    else:
        pairs = [intervals.label_pairs(group) for group in everyone.groups]
        drawn = [found for found in pairs if found is not None]
        if len(drawn) == len(pairs):
            estimates = with_pooled_replicates(evidence, estimates, drawn)
        interval = facet_mean_interval(evidence, everyone, estimates)
    has_interval = interval.low is not None
    is_thin = estimates.rarest < FEWEST_OF_CLASS and has_interval
    return AggregateScore(
        f"macro:{everyone.name}",
        None,
        value,
        everyone.n,
        everyone.n_clusters,
        interval,
        flag=everyone.flag(TOO_NARROW if is_thin else None, has_interval=has_interval),
    )


def _worst(
    evidence: Evidence, facet: _Facet, main: Mapping[int, GroupScore]
) -> AggregateScore | None:
    direction = evidence.metric.higher_is_better
    if direction is None:
        return None
    sign = 1.0 if direction else -1.0
    compared, tags = facet.compared, evidence.groups.tags
    worst = min(
        (main[group] for group in compared.groups),
        key=lambda score: (sign * float(score.value or 0.0), str(tags[score.group])),
    )
    return AggregateScore(
        f"worst:{compared.name}",
        tags[worst.group],
        worst.value,
        worst.n,
        worst.n_clusters,
        without_interval(DESCRIBED),
        flag=compared.flag(),
    )


def _gap(
    evidence: Evidence,
    intervals: GroupIntervals,
    facet: _Facet,
    p_adjusted: float | None,
) -> AggregateScore:
    compared, values = facet.compared, np.array(facet.values)
    value = float(values.max() - values.min())
    tags = evidence.groups.tags
    high = tags[compared.groups[int(np.argmax(values))]]
    low = tags[compared.groups[int(np.argmin(values))]]
    text = f"from {low} to {high}" if value else "all groups have the same score"
    p_value, why = None, DESCRIBED
    if isinstance(facet.p_value, str):
        why = facet.p_value
    else:
        p_value = facet.p_value
        pairs = [intervals.label_pairs(group) for group in compared.groups]
        counted = [pair for pair in pairs if pair is not None]
        if len(counted) == len(pairs) and hardly_have_rare_class(counted):
            text = f"{text}; {RARE_CLASS}"
    return AggregateScore(
        f"gap:{compared.name}",
        None,
        value,
        compared.n,
        compared.n_clusters,
        without_interval(why),
        flag=compared.flag(text),
        p_value=p_value,
        p_adjusted=p_adjusted,
    )
