"""Checks scores against thresholds: `--fail-under METRIC=VALUE[@BOUND]`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import click

if TYPE_CHECKING:
    from evalkit import Result, Score

NOT_MET = 3
"""Exit code where a threshold is not met."""


BOUNDS = {"lower": "ci_low", "upper": "ci_high"}
"""The bounds of an interval that a threshold may be about, by their names."""


class Threshold(NamedTuple):
    """The least that a score must be; the most, where lower is better."""

    metric: str
    value: float
    """In the unit that scores are stored in: proportions are 0 to 1."""
    is_percentage: bool
    """Whether it was given as `80%`, which only a proportion can be."""
    bound: str | None = None
    """`lower` or `upper` where not the score but this bound of its interval counts."""


def read_thresholds(given: Sequence[str]) -> list[Threshold]:
    """Read `METRIC=VALUE` options, where `@lower` or `@upper` may follow.

    Args:
        given: The options; a metric's name may hold `=` itself.

    Returns:
        The thresholds.

    Raises:
        UsageError: One is not of this form, or its value is no number.
    """
    return [_read(text) for text in given]


def _read(text: str) -> Threshold:
    metric, equals, given = text.rpartition("=")
    number, at, bound = given.partition("@")
    is_percentage = number.endswith("%")
    try:
        value = float(number.removesuffix("%"))
    except ValueError:
        value = math.nan
    is_bound = bound in BOUNDS or not at
    if not equals or not metric or not math.isfinite(value) or not is_bound:
        raise click.UsageError(
            f"--fail-under {text!r} is not of the form METRIC=VALUE, such as "
            "accuracy=0.8 or accuracy=80%, or accuracy=0.8@lower (or @upper) for a "
            "bound of its interval."
        )
    value = value / 100 if is_percentage else value
    return Threshold(metric, value, is_percentage, bound or None)


def unmet(results: Sequence[Result], thresholds: Sequence[Threshold]) -> list[str]:
    """Say which thresholds are not met.

    Args:
        results: Results; those that were refused have no scores to check.
        thresholds: What their scores of the whole set must be.

    Returns:
        A sentence for each result and threshold that it does not meet. A score without
        a value meets none, and one without an interval none that is about a bound.

    Raises:
        UsageError: No result has the metric, one was given in percent that is no
            proportion, or a proportion's is above 1.
    """
    scored = [result for result in results if result.status != "refused"]
    lines = []
    for threshold in thresholds:
        having = [result for result in scored if threshold.metric in result]
        if scored and not having:
            known = dict.fromkeys(name for result in scored for name in result.metrics)
            raise click.UsageError(
                f"--fail-under names {threshold.metric!r}, of which there is no score; "
                f"there are: {', '.join(known) or 'none'}."
            )
        for result in having:
            why = _why_not_met(result[threshold.metric], threshold)
            if why is not None:
                lines.append(f"{_whose(result, results)}{threshold.metric} {why}")
    return lines


def _why_not_met(score: Score, threshold: Threshold) -> str | None:
    is_proportion = score.unit == "%" and score.scale == 100
    if threshold.is_percentage and not is_proportion:
        raise click.UsageError(
            f"--fail-under {threshold.metric}: the score is no proportion; give the "
            f"threshold in its own unit{f' ({score.unit})' if score.unit else ''}, "
            "without %."
        )
    if is_proportion and threshold.value > 1:
        raise click.UsageError(_beyond(threshold))
    if score.value is None:
        return f"has no value: {score.reason or 'it is not defined'}"
    found, what = score.value, "is"
    if threshold.bound is not None:
        bound: float | None = getattr(score, BOUNDS[threshold.bound])
        if bound is None:
            return (
                f"has no {threshold.bound} bound: it has no interval: "
                f"{score.reason or score.ci_method}"
            )
        found, what = bound, f"has the {threshold.bound} bound"
    if score.higher_is_better is False:
        is_met = found <= threshold.value
        side = "above"
    else:
        is_met = found >= threshold.value
        side = "under"
    return None if is_met else f"{what} {found!r}, {side} {threshold.value!r}"


def _beyond(threshold: Threshold) -> str:
    """Say that no proportion can be above a threshold, and which one may be meant."""
    start = f"--fail-under {threshold.metric}: "
    if threshold.is_percentage:
        return f"{start}no proportion is above 100%."
    return (
        f"{start}proportions are stored as 0 to 1, and {threshold.value:g} is above; "
        f"give {threshold.value:g}% or {threshold.value / 100:g}."
    )


def _whose(result: Result, results: Sequence[Result]) -> str:
    if len(results) == 1:
        return ""
    several = len({each.dataset for each in results}) > 1
    return f"{result.dataset}: {result.model}: " if several else f"{result.model}: "
