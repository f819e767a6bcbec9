"""What the scores of a facet's groups amount to: their mean, the worst, the gap.

The group that looks worst was picked for it, and so was the largest difference. Both
are described, without an interval. The test of the facet says whether its groups differ
at all; its p-values are adjusted where several facets are tested (Holm 1979).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from evalkit.scoring.evidence import Evidence
from evalkit.scoring.facet_groups import FacetGroups, facet_groups
from evalkit.scoring.facet_means import facet_mean_interval
from evalkit.scoring.group_intervals import NO_INTERVAL, GroupIntervals
from evalkit.scoring.records import AggregateScore, GroupScore
from evalkit.statistics.facets import equal_tags_p
from evalkit.statistics.intervals import without_interval
from evalkit.statistics.multiplicity import holm
from evalkit.statistics.resampling import generator

DESCRIBED = "it is described, without an interval"
"""Reason why the worst group and the gap have no interval of their own."""

NOT_PER_EXAMPLE = "facets are tested by scores of examples, and this score has none"
OVERLAPPING = "examples have several tags of the facet, so that it is not tested"


class _Facet(NamedTuple):
    """The groups of a facet, and those of them that are large enough to compare."""

    everyone: FacetGroups
    compared: FacetGroups
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
        aggregates.append(_macro(evidence, facet.everyone, main))
        if len(facet.compared.groups) < 2:
            continue
        worst = _worst(evidence, facet, main)
        aggregates += [worst] if worst else []
        p_adjusted = adjusted.get(facet.everyone.name)
        aggregates.append(_gap(evidence, facet, main, p_adjusted))
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
    fewest = evidence.settings.fewest
    compared = facet_groups(evidence, name, numbers, main, fewest)
    return _Facet(everyone, compared, _p_value(evidence, intervals, compared, main))


def _p_value(
    evidence: Evidence,
    intervals: GroupIntervals,
    facet: FacetGroups,
    main: Mapping[int, GroupScore],
) -> float | str:
    """Test that the groups of a facet are equal; or say why they are not tested."""
    if evidence.metric.interval_kind == "none":
        return NO_INTERVAL
    if len(facet.groups) < 2:
        return "fewer than two groups are large enough"
    values = [(group, float(main[group].value or 0.0)) for group in facet.groups]
    column = evidence.metric.example_column
    if column is None or not all(intervals.is_mean(*each) for each in values):
        return NOT_PER_EXAMPLE
    if not (facet.has_disjoint_examples and evidence.rows.is_single):
        return OVERLAPPING
    clusters = None
    parts = [evidence.cells_of(group) for group in facet.groups]
    if evidence.clustered:
        members = [evidence.members_of(group) for group in facet.groups]
        parts = [(each.code, np.ones(len(each.code), np.int64)) for each in members]
        positions = np.concatenate([each.position for each in members])
        clusters = evidence.units.codes[positions]
    codes, times = map(np.concatenate, zip(*parts, strict=True))
    return equal_tags_p(
        evidence.rows.distinct[column].to_numpy()[codes],
        np.arange(len(parts)).repeat([len(codes) for codes, _ in parts]),
        times,
        clusters,
        generator(evidence.settings.seed, evidence.metric.name, "gap", facet.name),
    )


def _macro(
    evidence: Evidence, facet: FacetGroups, main: Mapping[int, GroupScore]
) -> AggregateScore:
    values = [float(main[group].value or 0.0) for group in facet.groups]
    if evidence.metric.interval_kind == "none":
        interval = without_interval(NO_INTERVAL)
    else:
        interval = facet_mean_interval(evidence, facet, main)
    return AggregateScore(
        f"macro:{facet.name}",
        None,
        math.fsum(values) / len(values),
        facet.n,
        facet.n_clusters,
        interval,
        flag=facet.flag(
            "; ".join(interval.flags) or None, has_interval=interval.low is not None
        ),
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
    facet: _Facet,
    main: Mapping[int, GroupScore],
    p_adjusted: float | None,
) -> AggregateScore:
    compared = facet.compared
    values = np.array([float(main[group].value or 0.0) for group in compared.groups])
    value = float(values.max() - values.min())
    tags = evidence.groups.tags
    high = tags[compared.groups[int(np.argmax(values))]]
    low = tags[compared.groups[int(np.argmin(values))]]
    text = f"from {low} to {high}" if value else "all groups have the same score"
    is_tested = not isinstance(facet.p_value, str)
    return AggregateScore(
        f"gap:{compared.name}",
        None,
        value,
        compared.n,
        compared.n_clusters,
        without_interval(DESCRIBED if is_tested else str(facet.p_value)),
        flag=compared.flag(text),
        p_value=None if isinstance(facet.p_value, str) else facet.p_value,
        p_adjusted=p_adjusted,
    )
