"""Calls a metric's hooks and checks what they return."""

from __future__ import annotations

import math
from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np
import polars as pl

from evalkit.base.failures import hook_failures
from evalkit.base.terms import MetricContext, NotScored
from evalkit.base.violations import shorten
from evalkit.errors import MetricError
from evalkit.parallel.workers import Workers
from evalkit.plugins.bound import BoundMetric
from evalkit.scoring.batch_statistics import RESERVED as RESERVED
from evalkit.scoring.batch_statistics import batch_statistics
from evalkit.scoring.batches import AdvanceRows, GrowingSizes, compute_batches
from evalkit.scoring.outcomes import (
    FailureLimit,
    Outcomes,
    join_batches,
    reason_of_group,
    split_outcomes,
)
from evalkit.scoring.table import ScoringTable
from evalkit.statistics.clusters import Floats

BATCH_ROWS = 32_768
"""The most rows that `statistics` gets at once."""

BOUNDS_SLACK = 1e-9
"""How far beyond its bounds rounding may put a value."""


def compute_statistics(
    metric: BoundMetric,
    table: ScoringTable,
    workers: Workers | None = None,
    advance: AdvanceRows | None = None,
) -> Outcomes:
    """Get the statistics of all examples, batch by batch.

    Args:
        metric: A metric that implements `statistics`.
        table: What is scored.
        workers: Processes that help where that pays; the result is the same.
        advance: Told after every batch how many rows it had.

    Returns:
        `position`, the metric's keys, and its number columns; and the examples that it
        did not score.

    Raises:
        MetricError: The metric failed or returned something else; it names the first
            example for which it fails by itself, if there is one.
    """
    sizes = GrowingSizes(min(metric.batch_rows or BATCH_ROWS, BATCH_ROWS))
    limit = FailureLimit(metric, table.size)
    parts = compute_batches(
        metric, table, batch_statistics, sizes, workers, advance, limit.add
    )
    with metric.guard("joining the batches of statistics"):
        joined = join_batches(parts)
    limit.refuse_nothing(joined)
    return split_outcomes(joined)


def value_columns(metric: BoundMetric, statistics: pl.DataFrame) -> list[str]:
    """Return the columns of statistics that merge."""
    keys = (*metric.keys, *RESERVED)
    return [name for name in statistics.columns if name not in keys]


def call_finalize(
    metric: BoundMetric, sums: pl.DataFrame, context: MetricContext
) -> pl.DataFrame:
    """Turn sums into scores.

    Args:
        metric: A metric that implements `finalize`.
        sums: Sums by group and key.
        context: The metric's context.

    Returns:
        `group`, `score`, `value`, `reason` and `flag`.

    Raises:
        MetricError: The metric failed or returned something else.
    """
    where = f"{metric.component.origin}: finalize"
    if metric.has("example_statistics"):
        return _finalize_each(metric, sums, context, where)
    returned = metric.call("finalize", sums=sums, context=context)
    if not isinstance(returned, pl.DataFrame):
        raise MetricError(
            f"{where} must return a polars DataFrame, returned "
            f"{type(returned).__name__}"
        )
    scores = _check_scores(returned, where)
    if not scores["group"].is_in(sums["group"].unique().implode()).all():
        raise MetricError(f"{where}: 'group' must be one of the groups it was given")
    return scores


def finalize_counts(
    metric: BoundMetric, counts: Floats, cells: pl.DataFrame, context: MetricContext
) -> Mapping[str, Floats]:
    """Turn the counts of many samples into values.

    Args:
        metric: A metric that implements `finalize_counts`.
        counts: The counts, of shape (samples, cells).
        cells: The metric's keys, one row a cell.
        context: The metric's context.

    Returns:
        By score the values of the samples, nan where undefined.

    Raises:
        MetricError: The metric failed or returned something else.
    """
    kept = counts.view()
    kept.flags.writeable = False
    returned = metric.call("finalize_counts", counts=kept, cells=cells, context=context)
    where = f"{metric.component.origin}: finalize_counts"
    if not isinstance(returned, Mapping):
        raise MetricError(
            f"{where} must return a mapping from score to array, returned "
            f"{type(returned).__name__}"
        )
    wanted = (len(counts),)
    found: dict[str, Floats] = {}
    for score, values in returned.items():
        is_array = isinstance(values, np.ndarray) and values.dtype == np.float64
        if not isinstance(score, str) or not is_array or values.shape != wanted:
            raise MetricError(
                f"{where}: the value of {shorten(score)} must be a numpy array of "
                f"floats of shape {wanted}"
            )
        found[score] = values
    return found


def _finalize_each(
    metric: BoundMetric, sums: pl.DataFrame, context: MetricContext, where: str
) -> pl.DataFrame:
    """Call a `finalize` that takes the sums of one group, for each of them."""
    rows: list[tuple[int, str, float | None, str | None]] = []
    groups = sums["group"].to_list()
    for group, numbers in zip(
        groups, sums.drop("group").iter_rows(named=True), strict=True
    ):
        returned = metric.call("finalize", sums=numbers, context=context)
        parts = returned if isinstance(returned, Mapping) else {"": returned}
        for part, value in parts.items():
            number = reason = None
            if isinstance(value, NotScored):
                reason = reason_of_group(metric, value)
            elif isinstance(value, Real):
                number = float(value)
            elif value is not None:
                raise MetricError(
                    f"{where}: its value must be a number, is {shorten(value)}"
                )
            rows.append((group, str(part), number, reason))
    schema = {
        "group": pl.Int64,
        "score": pl.String,
        "value": pl.Float64,
        "reason": pl.String,
    }
    return _check_scores(pl.DataFrame(rows, schema=schema, orient="row"), where)


def _check_scores(returned: pl.DataFrame, where: str) -> pl.DataFrame:
    for name in ("group", "value"):
        if name not in returned.columns:
            raise MetricError(f"{where}: the column {name!r} is missing")
    value = returned["value"].dtype
    if not (value.is_numeric() or value in (pl.Boolean, pl.Null)):
        raise MetricError(f"{where}: the column 'value' must hold numbers")
    if not returned["group"].dtype.is_integer() or returned["group"].null_count():
        raise MetricError(f"{where}: the column 'group' must hold integers")
    texts = [name for name in ("score", "reason", "flag") if name in returned.columns]
    for name in texts:
        if returned[name].dtype not in (pl.String, pl.Null):
            raise MetricError(f"{where}: the column {name!r} must hold texts")
    defaults: dict[str, pl.Expr] = {
        "score": pl.lit("").alias("score"),
        "reason": pl.lit(None, dtype=pl.String).alias("reason"),
        "flag": pl.lit(None, dtype=pl.String).alias("flag"),
    }
    scores = returned.with_columns(
        [expr for name, expr in defaults.items() if name not in returned.columns]
    ).select(
        pl.col("group").cast(pl.Int64),
        pl.col("score").cast(pl.String).fill_null(""),
        pl.col("value").cast(pl.Float64),
        pl.col("reason").cast(pl.String),
        pl.col("flag").cast(pl.String),
    )
    if scores.select("group", "score").is_duplicated().any():
        raise MetricError(f"{where}: it gives a score of a group more than once")
    return scores


def checked_value(
    metric: BoundMetric, value: Any, step: str = ""
) -> tuple[float | None, str | None]:
    """Check a value that a metric gave.

    Args:
        metric: The metric.
        value: A number, or None where it is undefined.
        step: What gave it, where an error should say that.

    Returns:
        The value as a float, and why it is None, which names the metric.

    Raises:
        MetricError: It is no number, or outside of the metric's bounds.
    """
    where = f"{metric.component.origin}: " + (f"{step}: " if step else "")
    if value is None:
        return None, f"{where}it is not defined for these examples"
    try:
        if isinstance(value, str | bytes):
            raise TypeError("a text is not taken for a number")
        number = float(value)
    except hook_failures() as error:  # an object's own __float__ may raise anything
        raise MetricError(
            f"{where}its value must be a number, is {shorten(value)}"
        ) from error
    if not math.isfinite(number):
        is_of_one = " for the example " in step
        hint = "; return evalkit.NotScored(reason) where there is no score"
        return None, f"{where}it returned {number}{hint if is_of_one else ''}"
    low, high = metric.bounds or (None, None)
    if (low is not None and number < low - BOUNDS_SLACK) or (
        high is not None and number > high + BOUNDS_SLACK
    ):
        raise MetricError(
            f"{where}its value {number} is outside of its bounds {low} to {high}"
        )
    return number, None
