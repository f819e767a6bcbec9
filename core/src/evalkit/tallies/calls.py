"""Calls the hooks of metrics that turn sums into scores, and checks their results."""

from __future__ import annotations

import math
from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np
import polars as pl

from evalkit.base.columns import named
from evalkit.base.failures import hook_failures
from evalkit.base.terms import MetricContext, NotScored
from evalkit.base.violations import shorten
from evalkit.errors import MetricError
from evalkit.plugins.bound import BoundMetric
from evalkit.tallies.patterns import Floats

EXAMPLES = "__examples"
"""Statistic that counts the examples of a metric written as `score_example`."""

BOUNDS_SLACK = 1e-9
"""How far beyond its bounds rounding may put a value."""

_SCORES = {
    "group": pl.Int64,
    "score": pl.String,
    "value": pl.Float64,
    "reason": pl.String,
    "flag": pl.String,
}


def call(metric: BoundMetric, hook: str, context: MetricContext, **offered: Any) -> Any:
    """Call a hook of a metric.

    Args:
        metric: The metric.
        hook: Name of the hook.
        context: What else the metric knows.
        **offered: The other arguments of the hook.

    Returns:
        What it returned, unchecked; also `NotScored` that was raised.

    Raises:
        MetricError: The metric failed.
    """
    try:
        return metric.call(hook, context=context, **offered)
    except NotScored as outcome:
        return outcome


def finalize_sums(
    metric: BoundMetric, sums: pl.DataFrame, context: MetricContext
) -> pl.DataFrame:
    """Turn sums into scores, whichever way the metric was written.

    Args:
        metric: A metric that is not a function of lists.
        sums: `group`, the keys and the merged columns.
        context: What else the metric knows.

    Returns:
        `group`, `score`, `value`, `reason` and `flag`.

    Raises:
        MetricError: The metric failed or returned something else.
    """
    if metric.example_hook is not None:
        value = pl.col("score") / pl.col(EXAMPLES)
        return _with_defaults(sums.select("group", value=value))
    if metric.has("example_statistics"):
        return _finalize_each(metric, sums, context)
    where = f"{metric.component.origin}: finalize"
    returned = call(metric, "finalize", context, sums=sums)
    if not isinstance(returned, pl.DataFrame):
        raise MetricError(
            f"{where} must return a polars DataFrame, returned "
            f"{type(returned).__name__}"
        )
    scores = _checked_scores(returned, where)
    if not scores["group"].is_in(sums["group"].unique().implode()).all():
        raise MetricError(f"{where}: 'group' must be one of the groups it was given")
    return scores


def finalize_counts(
    metric: BoundMetric, counts: Floats, cells: pl.DataFrame, context: MetricContext
) -> dict[str, Floats]:
    """Turn the counts of many samples into values.

    Args:
        metric: A metric that implements `finalize_counts`.
        counts: The counts, of shape (samples, cells).
        cells: The metric's keys, one row a cell.
        context: What else the metric knows.

    Returns:
        By score the values of the samples, nan where undefined.

    Raises:
        MetricError: The metric failed or returned something else.
    """
    read_only = counts.view()
    read_only.flags.writeable = False
    offered: dict[str, Any] = {"counts": read_only, "cells": cells}
    returned = call(metric, "finalize_counts", context, **offered)
    where = f"{metric.component.origin}: finalize_counts"
    if not isinstance(returned, Mapping):
        raise MetricError(
            f"{where} must return a mapping from score to array, returned "
            f"{type(returned).__name__}"
        )
    shape = (len(counts),)
    for score, values in returned.items():
        is_array = isinstance(values, np.ndarray) and values.dtype == np.float64
        if not isinstance(score, str) or not is_array or values.shape != shape:
            raise MetricError(
                f"{where}: the value of {shorten(score)} must be a numpy array of "
                f"floats of shape {shape}"
            )
    return dict(returned)


def _finalize_each(
    metric: BoundMetric, sums: pl.DataFrame, context: MetricContext
) -> pl.DataFrame:
    """Call a `finalize` that takes the sums of one group, for each of them."""
    where = f"{metric.component.origin}: finalize"
    rows: list[tuple[int, str, float | None, str | None, str | None]] = []
    for group, numbers in zip(
        sums["group"].to_list(), sums.drop("group").iter_rows(named=True), strict=True
    ):
        returned = call(metric, "finalize", context, sums=numbers)
        scores = returned if isinstance(returned, Mapping) else {"": returned}
        for score, value in scores.items():
            number = reason = None
            if isinstance(value, NotScored):
                reason = reason_of_group(metric, value)
            elif isinstance(value, Real):
                number = float(value)
            elif value is not None:
                raise MetricError(
                    f"{where}: its value must be a number, is {shorten(value)}"
                )
            rows.append((group, str(score), number, reason, None))
    return _checked_scores(pl.DataFrame(rows, schema=_SCORES, orient="row"), where)


def reason_of_group(metric: BoundMetric, outcome: NotScored) -> str:
    """Say why a metric did not score a whole group of examples."""
    return f"{metric.component.origin}: did not score them ({outcome.reason})"


def _checked_scores(returned: pl.DataFrame, where: str) -> pl.DataFrame:
    for name in ("group", "value"):
        if name not in returned.columns:
            raise MetricError(f"{where}: the column {name!r} is missing")
    dtype = returned["value"].dtype
    if not (dtype.is_numeric() or dtype in (pl.Boolean, pl.Null)):
        raise MetricError(f"{where}: the column 'value' must hold numbers")
    if not returned["group"].dtype.is_integer() or returned["group"].null_count():
        raise MetricError(f"{where}: the column 'group' must hold integers")
    for name in ("score", "reason", "flag"):
        if returned.schema.get(name) not in (None, pl.String, pl.Null):
            raise MetricError(f"{where}: the column {name!r} must hold texts")
    scores = _with_defaults(returned)
    if scores.select("group", "score").is_duplicated().any():
        raise MetricError(f"{where}: it gives a score of a group more than once")
    return scores


def _with_defaults(scores: pl.DataFrame) -> pl.DataFrame:
    """Return the columns of scores; a score without a name is the main one."""
    columns = [
        (named(name) if name in scores.columns else pl.lit(None)).cast(dtype)
        for name, dtype in _SCORES.items()
    ]
    aliased = [
        column.alias(name) for column, name in zip(columns, _SCORES, strict=True)
    ]
    return scores.select(aliased).with_columns(pl.col("score").fill_null(""))


def check_value(
    metric: BoundMetric, value: Any, step: str = ""
) -> tuple[float | None, str | None]:
    """Check a value that a metric gave.

    Args:
        metric: The metric, or one of its scores.
        value: A number, or None where it is undefined.
        step: What returned the score of an example; "" for the score of a group.

    Returns:
        The value as a float, and why it is None, which names the metric.

    Raises:
        MetricError: It is no number, or outside of the metric's bounds.
    """
    origin = metric.component.origin + (f": {step}" if step else "")
    if value is None:
        return None, f"{origin}: it is not defined for these examples"
    try:
        if isinstance(value, str | bytes):
            raise TypeError("a text is not taken for a number")
        number = float(value)
    except hook_failures() as error:  # an object's own __float__ may raise anything
        raise MetricError(
            f"{origin}: its value must be a number, is {shorten(value)}"
        ) from error
    if not math.isfinite(number):
        hint = "; return evalkit.NotScored(reason) where there is no score"
        return None, f"{origin}: it returned {number}{hint if step else ''}"
    low, high = metric.bounds or (None, None)
    if (low is not None and number < low - BOUNDS_SLACK) or (
        high is not None and number > high + BOUNDS_SLACK
    ):
        raise MetricError(
            f"{origin}: its value {number} is outside of its bounds {low} to {high}"
        )
    return number, None
