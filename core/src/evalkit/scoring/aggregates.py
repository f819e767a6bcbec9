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

from evalkit.base.wording import count_of
from evalkit.scoring.evidence import Evidence
from evalkit.scoring.finalization import finalize_replicates
from evalkit.scoring.group_intervals import (
    EXTREMES,
    MANY_VALUES,
    MOST_KEPT,
    MOST_RESAMPLED,
    NO_GRADIENT,
    NO_INTERVAL,
    REPLICATES,
    GroupIntervals,
    draw_units,
)
from evalkit.scoring.numbering import Codes
from evalkit.scoring.records import AggregateScore, GroupScore, bootstrap_method
from evalkit.statistics.clusters import MOST_OF_ONE
from evalkit.statistics.facets import equal_tags_p, holm
from evalkit.statistics.intervals import (
    ONE_CLUSTER,
    Interval,
    delta_interval,
    mean_of_intervals,
    without_interval,
)
from evalkit.statistics.resampling import (
    Weights,
    generator,
    percentile_interval,
    poisson_weights,
)

DESCRIBED = "it is described, without an interval"
"""Reason why the worst group and the gap have no interval of their own."""

NOT_PER_EXAMPLE = "facets are tested by scores of examples, and this score has none"
MOST_CLUSTERED = 100_000
"""Examples in clusters up to which tags are permuted."""

MANY_CLUSTERED = f"more than {MOST_CLUSTERED:,} examples in clusters are not permuted"

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
    """Aggregate the main score over the groups of every facet and crossing."""
    main = {score.group: score for score in scores if score.score == ""}
    facets = [
        facet
        for name, numbers in evidence.facets.items()
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
    compared = facet_groups(evidence, name, numbers, main, evidence.settings.fewest)
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
    if evidence.clustered and facet.n > MOST_CLUSTERED:
        return MANY_CLUSTERED
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
    compared, tags = facet.compared, evidence.tags
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
    tags = evidence.tags
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


class FacetGroups(NamedTuple):
    """Some groups of a facet, and what examples they have together."""

    name: str
    groups: tuple[int, ...]
    left_out: int
    """How many groups of the facet are not among them."""
    n: int
    """How many distinct examples they have."""
    n_clusters: int | None
    is_disjoint: bool
    """Whether each unit (cluster, or else example) is in one of the groups."""
    has_disjoint_examples: bool
    """Whether each example is in one of the groups."""
    large_clusters: int = 0
    """How many of the groups have one cluster that their interval depends much on."""

    def flag(self, text: str | None = None, has_interval: bool = False) -> str | None:
        """Return what a reader should know, and how many groups are left out."""
        groups = count_of(self.left_out, "group")
        left_out = f"{groups} left out" if self.left_out else None
        warning = None
        if has_interval and self.large_clusters:
            warning = (
                f"in {self.large_clusters} of the {len(self.groups)} groups one "
                f"cluster has {100 * MOST_OF_ONE:g} % or more of the examples, and the "
                "interval may depend heavily on it"
            )
        return "; ".join(filter(None, [text, warning, left_out])) or None


def facet_groups(
    evidence: Evidence,
    name: str,
    numbers: Sequence[int],
    main: Mapping[int, GroupScore],
    fewest: int = 1,
) -> FacetGroups:
    """Choose the groups of a facet that have a value and enough examples."""
    chosen = tuple(
        number
        for number in numbers
        if number in main
        and main[number].value is not None
        and main[number].n >= fewest
    )
    n, clusters = evidence.count_together(chosen)
    has_disjoint_examples = int(evidence.n[list(chosen)].sum()) == n
    is_disjoint = has_disjoint_examples
    if clusters is not None:
        is_disjoint = sum(evidence.n_clusters(g) or 0 for g in chosen) == clusters
    left_out = len(numbers) - len(chosen)
    sizes = [main[number].cluster_sizes for number in chosen]
    large = sum(bool(found and found.warning) for found in sizes)
    return FacetGroups(
        *(name, chosen, left_out, n, clusters),
        *(is_disjoint, has_disjoint_examples, large),
    )


def facet_mean_interval(
    evidence: Evidence, facet: FacetGroups, main: Mapping[int, GroupScore]
) -> Interval:
    """Compute the interval of the mean of groups' scores."""
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


def _resampled(evidence: Evidence, facet: FacetGroups) -> Interval:
    keys = evidence.shared_keys

    def draw(units: Codes, first: int, count: int) -> Weights:
        """Draw each unit equally often in all groups, however few units one has."""
        return poisson_weights(keys[units], first, count)

    means = np.zeros(REPLICATES)
    for group in facet.groups:
        sums = draw_units(evidence, group, draw)
        drawn = finalize_replicates(evidence.finalizer, REPLICATES, sums)
        if drawn.reason:
            return without_interval(drawn.reason)
        means += drawn.values_of("") / len(facet.groups)
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
