"""Turns what the metrics computed into score records."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from evalkit.plugins.bound import BoundMetric
from evalkit.runs.score_columns import Score, plain_number
from evalkit.scoring.grouping import Groups
from evalkit.scoring.records import AggregateScore, GroupScore, MetricScores


def headline_name(scored: Sequence[MetricScores]) -> str | None:
    """Return the name of the main score: the first metric's own; None without one."""
    if not scored or not any(score.score == "" for score in scored[0].scores):
        return None
    return scored[0].full_name("")


def bounds_of(
    metrics: Sequence[BoundMetric],
) -> dict[str, tuple[float | None, float | None]]:
    """Return the least and greatest value of metrics that have bounds, by name."""
    found = {}
    for metric in (part for each in metrics for part in each.parts()):
        low, high = metric.bounds or (None, None)
        bounds = (_finite(low), _finite(high))
        if bounds != (None, None):
            found[metric.name] = bounds
    return found


def _finite(bound: float | None) -> float | None:
    return bound if bound is not None and math.isfinite(bound) else None


class GroupSizes(NamedTuple):
    """Names and sizes of groups whose members are not known."""

    tags: Sequence[str | None]
    sizes: Sequence[int]


def to_scores(
    scored: Sequence[MetricScores], groups: Groups | GroupSizes, split: str
) -> list[Score]:
    """Make the records of all scores and aggregates of metrics."""
    return [
        record
        for metric in scored
        for record in (
            *(_to_score(metric, score, groups, split) for score in metric.scores),
            *(_to_aggregate(metric, found, split) for found in metric.aggregates),
        )
    ]


def _to_score(
    scored: MetricScores, found: GroupScore, groups: Groups | GroupSizes, split: str
) -> Score:
    size = groups.sizes[found.group]
    coverage = found.n / size if size else None
    bound_low, bound_high = found.bounds or (None, None)
    clusters = found.cluster_sizes
    name, tag = scored.full_name(found.score), groups.tags[found.group]
    shown = shown_as(scored.metric.score_of(found.score))
    return group_record(found, name, tag, split, shown)._replace(
        coverage=coverage if found.coverage is None else found.coverage,
        bound_low=bound_low,
        bound_high=bound_high,
        replications=found.replications,
        stddev_within=found.stddev_within,
        stddev_replications=found.stddev_replications,
        largest_cluster=clusters and clusters.largest,
        effective_clusters=clusters and clusters.effective,
    )


def _to_aggregate(scored: MetricScores, found: AggregateScore, split: str) -> Score:
    record = _record(
        found, scored.full_name(""), found.tag, split, shown_as(scored.metric)
    )
    return record._replace(
        aggregate=found.kind, p_value=found.p_value, p_adjusted=found.p_adjusted
    )


class Shown(NamedTuple):
    """How a score is read."""

    unit: str
    scale: float
    higher_is_better: bool | None


def shown_as(metric: BoundMetric) -> Shown:
    """Say how the scores of a metric are read."""
    return Shown(metric.unit, metric.scale, metric.higher_is_better)


def group_record(
    found: GroupScore, name: str, tag: str | None, split: str, shown: Shown
) -> Score:
    """Make the record of a score of one group.

    It lacks what only scores of all data have: bounds, replications, sizes of clusters.
    """
    mean, stddev, low, high = found.spread or (None,) * 4
    return _record(found, name, tag, split, shown)._replace(
        coverage=found.coverage, mean=mean, stddev=stddev, min=low, max=high
    )


def _record(
    found: GroupScore | AggregateScore,
    name: str,
    tag: str | None,
    split: str,
    shown: Shown,
) -> Score:
    """Make what groups and aggregates have in common."""
    return Score(
        metric=name,
        split=split,
        tag=tag,
        perturbation=None,
        computed_on="all",
        value=found.value,
        se=plain_number(found.interval.standard_error),
        ci_low=plain_number(found.interval.low),
        ci_high=plain_number(found.interval.high),
        ci_method=found.interval.method,
        n=found.n,
        n_clusters=found.n_clusters,
        coverage=None,
        unit=shown.unit,
        scale=shown.scale,
        higher_is_better=shown.higher_is_better,
        reason=found.reason or found.interval.reason,
        flag=found.flag,
        bound_low=None,
        bound_high=None,
        mean=None,
        stddev=None,
        min=None,
        max=None,
    )
