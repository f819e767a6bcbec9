"""Checks scores against thresholds: `--fail-under METRIC=VALUE`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import click

if TYPE_CHECKING:
    from evalkit.results import Result, Score

NOT_MET = 3
"""Exit code where a threshold is not met."""


class Threshold(NamedTuple):
    """The least that a score must be; the most, where lower is better."""

    metric: str
    value: float
    """In the unit that scores are stored in: proportions are 0 to 1."""
    is_percentage: bool
    """Whether it was given as `80%`, which only a proportion can be."""


def read_thresholds(given: Sequence[str]) -> list[Threshold]:
    """Read `METRIC=VALUE` options.

    Args:
        given: The options; a metric's name may hold `=` itself.

    Returns:
        The thresholds.

    Raises:
        UsageError: One is not of this form, or its value is no number.
    """
    return [_read(text) for text in given]


def _read(text: str) -> Threshold:
    metric, equals, number = text.rpartition("=")
    is_percentage = number.endswith("%")
    try:
        value = float(number.removesuffix("%"))
    except ValueError:
        value = math.nan
    if not equals or not metric or not math.isfinite(value):
        raise click.UsageError(
            f"--fail-under {text!r} is not of the form METRIC=VALUE, such as "
            "accuracy=0.8 or accuracy=80%."
        )
    return Threshold(metric, value / 100 if is_percentage else value, is_percentage)


def unmet(results: Sequence[Result], thresholds: Sequence[Threshold]) -> list[str]:
    """Say which thresholds are not met.

    Args:
        results: Results; those that were refused have no scores to check.
        thresholds: What their scores of the whole set must be.

    Returns:
        A sentence for each result and threshold that it does not meet. A score without
        a value meets none.

    Raises:
        UsageError: No result has the metric, or one was given in percent that is no
            proportion.
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
    if score.value is None:
        return f"has no value: {score.reason or 'it is not defined'}"
    if score.higher_is_better is False:
        is_met = score.value <= threshold.value
        side = "above"
    else:
        is_met = score.value >= threshold.value
        side = "under"
    return None if is_met else f"is {score.value!r}, {side} {threshold.value!r}"


def _whose(result: Result, results: Sequence[Result]) -> str:
    if len(results) == 1:
        return ""
    several = len({each.dataset for each in results}) > 1
    return f"{result.dataset}: {result.model}: " if several else f"{result.model}: "
