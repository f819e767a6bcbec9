"""Turns what metrics computed, and a data set gives itself, into score records."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, NamedTuple

import polars as pl
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from evalkit.base.violations import describe, from_pydantic, shorten
from evalkit.errors import MetricError
from evalkit.plugins.bound import BoundDataset, BoundMetric
from evalkit.runs.score_columns import Score, plain_number
from evalkit.scoring.grouping import WHOLE, Groups
from evalkit.scoring.records import (
    AggregateScore,
    GroupScore,
    MetricScores,
    checked_value,
)
from evalkit.statistics.intervals import Interval, without_interval


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


METHOD = "data-set"
"""Names the method of intervals that a data set computes itself."""

_NO_INTERVAL = "the data set computes no interval"


class OwnScore(BaseModel):
    """One score as `evaluate` of a data set may return it."""

    model_config = ConfigDict(extra="forbid")

    value: Any
    """The value; None where it is not defined."""
    tag: str | None = None
    """The tag whose examples it is about; None for the whole set."""
    n: Annotated[int, Field(ge=0)] | None = None
    """How many examples it was computed from; by default all that it is about."""
    ci_low: Any = None
    ci_high: Any = None
    reason: str | None = None
    """Why there is no value, or else no interval."""
    unit: str = ""
    scale: float = 1.0
    higher_is_better: bool | None = None


def own_scores(
    dataset: BoundDataset, frame: pl.DataFrame, groups: Groups
) -> list[MetricScores]:
    """Ask a data set that scores itself, and record what it returns.

    The scores are named `<dataset>#<name>`; those that are read alike are together.
    """
    name = dataset.name
    found: dict[BoundMetric, list[GroupScore]] = {}
    metrics: dict[tuple[str, float, bool | None], BoundMetric] = {}
    try:
        for key, given in _returned(dataset, frame):
            shown = given.unit, given.scale, given.higher_is_better
            metric = metrics.setdefault(shown, dataset.as_metric(*shown))
            score = _score(dataset, metric, key, given, frame, groups)
            found.setdefault(metric, []).append(score)
    except MetricError as error:
        plain = dataset.as_metric("", 1.0, None)
        return [MetricScores(name, plain, [], None, str(error), error)]
    return [MetricScores(name, metric, own, None) for metric, own in found.items()]


def _returned(
    dataset: BoundDataset, frame: pl.DataFrame
) -> Iterator[tuple[str, OwnScore]]:
    """Return what `evaluate` gives under each name, one score after the other."""
    values = dataset.evaluate(frame)
    origin = dataset.component.origin
    if not isinstance(values, Mapping):
        raise MetricError(
            f"{origin}: evaluate must return a dict of values, returned "
            f"{shorten(values)}"
        )
    if not values:
        raise MetricError(f"{origin}: evaluate returned no score")
    seen: set[tuple[str, str | None]] = set()
    for key, value in values.items():
        for each in value if isinstance(value, list | tuple) else [value]:
            score = _read(origin, key, each)
            if (str(key), score.tag) in seen:
                raise MetricError(
                    f"{origin}: evaluate: {shorten(key)}: two scores are of "
                    f"{'the whole set' if score.tag is None else repr(score.tag)}"
                )
            seen.add((str(key), score.tag))
            yield str(key), score


def _read(origin: str, key: Any, value: Any) -> OwnScore:
    if not isinstance(value, Mapping):
        return OwnScore(value=value)
    try:
        return OwnScore.model_validate(dict(value))
    except ValidationError as error:
        raise MetricError(
            f"{origin}: evaluate: {shorten(key)}: {describe(from_pydantic(error))}"
        ) from error


def _score(
    dataset: BoundDataset,
    metric: BoundMetric,
    key: str,
    given: OwnScore,
    frame: pl.DataFrame,
    groups: Groups,
) -> GroupScore:
    step = f"evaluate: {shorten(key)}"
    value, undefined = checked_value(metric, given.value, step)
    group, n = WHOLE, frame.height
    if given.tag is not None:
        n = int(frame["tags"].list.contains(given.tag).sum())
        if not n:
            raise MetricError(
                f"{dataset.component.origin}: {step}: no scored example has the tag "
                f"{given.tag!r}"
            )
        group = groups.tags.index(given.tag)
    return GroupScore(
        key,
        group,
        value,
        n if given.n is None else given.n,
        None,
        _interval(metric, step, given, has_value=value is not None),
        (given.reason or undefined) if value is None else None,
    )


def _interval(
    metric: BoundMetric, step: str, given: OwnScore, *, has_value: bool
) -> Interval:
    bounds = given.ci_low, given.ci_high
    if bounds == (None, None):
        return without_interval(given.reason or _NO_INTERVAL)
    low, high = (checked_value(metric, bound, step)[0] for bound in bounds)
    if low is None or high is None or low > high or not has_value:
        raise MetricError(
            f"{metric.component.origin}: {step}: an interval needs a value and both "
            f"bounds in order, found ci_low {shorten(given.ci_low)} and ci_high "
            f"{shorten(given.ci_high)}"
        )
    return Interval(low, high, method=METHOD)
