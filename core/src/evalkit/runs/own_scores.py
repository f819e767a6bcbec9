"""Scores that a data set gives itself, as it returns them and as they are recorded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import polars as pl
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from evalkit.base.violations import describe, from_pydantic, shorten
from evalkit.errors import MetricError
from evalkit.plugins.bound import BoundDataset, BoundMetric
from evalkit.scoring.grouping import WHOLE, Groups
from evalkit.scoring.outcomes import checked_value
from evalkit.scoring.records import GroupScore, MetricScores
from evalkit.statistics.intervals import Interval, without_interval

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
