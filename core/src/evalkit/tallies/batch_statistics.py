"""Calls `statistics` for a batch, and finds the answers for which it fails."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import polars as pl

from evalkit.base.columns import all_named, unnamed
from evalkit.base.failures import described, located
from evalkit.errors import MetricError
from evalkit.plugins.bound import BoundMetric
from evalkit.scoring.table import ScoringTable
from evalkit.tallies.outcomes import (
    FAILED,
    NOT_SCORED,
    FailureLimit,
    outcome_rows,
)

RESERVED = (
    *("position", "group", "unit", "cell", "replicate"),
    *("example", "replication"),
)
"""Names of columns that statistics may not have, because core adds them."""

REASONS = "not_scored"
"""Column of statistics that says why an example is not scored."""

_COLUMN_NOT_FOUND = re.compile(r'(?:unable to find column )?"(.*?)"')


class _Failure(NamedTuple):
    """Why the statistics of a batch cannot be used."""

    text: str
    """What follows the metric's name and the word statistics."""
    cause: BaseException | None = None


def batch_statistics(
    metric: BoundMetric, batch: pl.DataFrame, table: ScoringTable, limit: FailureLimit
) -> pl.DataFrame:
    """Return the rows of statistics of a batch.

    Args:
        metric: A metric that implements `statistics`.
        batch: `position`, `prediction`, `target` and the metric's columns.
        table: What the batch is of.
        limit: Counts the failures.

    Returns:
        `position`, the keys and the numbers; `OUTCOME` and `REASON` of answers that
        are not scored. One for which the metric fails by itself is `FAILED`.

    Raises:
        MetricError: The metric fails whatever it gets, or for too many answers.
    """
    rows = _attempt(metric, batch, table)
    if isinstance(rows, pl.DataFrame):
        return rows
    origin = metric.component.origin
    without_any = _attempt(metric, batch.clear(), table)
    if isinstance(without_any, _Failure) and without_any.text == rows.text:
        raise MetricError(f"{origin}: statistics{rows.text}") from rows.cause
    return pl.concat(_halved(metric, batch, table, rows, limit), how="diagonal_relaxed")


def _halved(
    metric: BoundMetric,
    batch: pl.DataFrame,
    table: ScoringTable,
    failure: _Failure,
    limit: FailureLimit,
) -> Iterator[pl.DataFrame]:
    """Score the halves of a batch that failed, down to single answers."""
    if batch.height == 1:
        position = batch["position"]
        uid = table.ids[int(position[0])]
        text = f"{failure.text} (the example {uid!r})"
        if failure.cause is not None:
            text = f" failed for the example {uid!r} with {located(failure.cause)}"
            metric.computed.setdefault("cause", failure.cause)
        reason = f"{metric.component.origin}: statistics{text}"
        rows = outcome_rows(position, FAILED, reason)
        limit.add(rows)
        yield rows
        return
    middle = batch.height // 2
    for half in (batch.head(middle), batch.slice(middle)):
        rows_or_failure = _attempt(metric, half, table)
        if isinstance(rows_or_failure, pl.DataFrame):
            yield rows_or_failure
        else:
            yield from _halved(metric, half, table, rows_or_failure, limit)


def _attempt(
    metric: BoundMetric, batch: pl.DataFrame, table: ScoringTable
) -> pl.DataFrame | _Failure:
    offered = batch.drop("position")
    try:
        returned = metric.call("statistics", context=table.context, batch=offered)
    except MetricError as failure:
        error = failure.__cause__
        if error is None or isinstance(error, MetricError):
            raise
        _refuse_absent_column(metric, error, batch, table)
        return _Failure(f" failed with {located(error)}", error)
    if text := _shape_problem(metric, returned, batch):
        return _Failure(f": {text}")
    scored: pl.DataFrame = returned
    if REASONS in returned.columns:
        scored = returned.filter(pl.col(REASONS).is_null())
    for text, is_wrong in _broken_rules(metric, scored):
        if is_wrong:
            return _Failure(f": {text}")
    positions = batch["position"]
    numbers = all_named(_number_names(metric, returned)).cast(pl.Float64)
    position = positions.gather(scored["row"]).cast(pl.UInt32).alias("position")
    rows = scored.select(position, all_named(metric.keys), numbers)
    if scored.height == returned.height:
        return rows
    left = returned.filter(pl.col(REASONS).is_not_null())
    without = outcome_rows(positions.gather(left["row"]), NOT_SCORED, left[REASONS])
    return pl.concat([rows, without], how="diagonal")


def _refuse_absent_column(
    metric: BoundMetric, error: BaseException, batch: pl.DataFrame, table: ScoringTable
) -> None:
    """Name the column that a metric reads and does not declare, if that is it."""
    name: object = None
    if isinstance(error, pl.exceptions.ColumnNotFoundError):
        match = _COLUMN_NOT_FOUND.match(str(error))
        name = match[1] if match else None
    elif isinstance(error, KeyError) and error.args:
        name = error.args[0] if error.args[0] in table.frame.columns else None
    if name is None or name in batch.columns:
        return
    found = described(error).partition("; valid columns")[0]
    raise MetricError(
        f"{metric.component.origin}: statistics asks for the column {name!r}, which "
        f"its batch does not have: name it in the metric's `columns` ({found})"
    ) from error


def _shape_problem(
    metric: BoundMetric, returned: object, batch: pl.DataFrame
) -> str | None:
    """Say what is wrong with the columns of statistics."""
    if not isinstance(returned, pl.DataFrame):
        name = type(returned).__name__
        return f"it must return a polars DataFrame, got {name}"
    per_example = [metric.per_example] if metric.per_example else []
    expected = ["row", *metric.keys, *per_example]
    absent = [name for name in expected if name not in returned.columns]
    if absent:
        return f"the column {absent[0]!r} is missing"
    if reserved := [name for name in RESERVED if name in returned.columns]:
        return f"the name {reserved[0]!r} is reserved"
    names = _number_names(metric, returned)
    if not names:
        return "there is no column of numbers"
    for name in names:
        dtype = returned[name].dtype
        if not (dtype.is_numeric() or dtype == pl.Boolean):
            return f"the column {name!r} must hold numbers"
    return _row_problem(returned, batch)


def _row_problem(returned: pl.DataFrame, batch: pl.DataFrame) -> str | None:
    """Say what is wrong with the columns that name rows and reasons."""
    row = returned["row"]
    if not row.dtype.is_integer():
        return "the column 'row' must hold integers"
    row = row.cast(pl.Int64, strict=False)
    if not row.is_between(0, batch.height - 1).fill_null(value=False).all():
        return "'row' must be a position in the batch"
    if returned.schema.get(REASONS) not in (None, pl.String, pl.Null):
        return f"the column {REASONS!r} must hold texts"
    if REASONS in returned.columns:
        unscored = row.filter(returned[REASONS].is_not_null())
        if (row.is_duplicated() & row.is_in(unscored.implode())).any():
            return "an example that is not scored has another row"
    return None


def _broken_rules(
    metric: BoundMetric, scored: pl.DataFrame
) -> Iterator[tuple[str, bool]]:
    """Return each rule about values, and whether a row breaks it."""
    per_example = metric.per_example
    if per_example:
        yield (
            f"an example has several rows, but one score ({per_example!r})",
            scored["row"].n_unique() < scored.height,
        )
    for name in _number_names(metric, scored):
        values = unnamed(scored[name])
        yield f"the column {name!r} must not hold nulls", values.null_count() > 0
        if not values.dtype.is_float():
            continue
        if name == per_example:
            text = f"the score {name!r} of an example is not finite"
            yield text, not values.is_finite().all()
        else:
            yield f"the column {name!r} must not hold NaN", values.is_nan().any()


def _number_names(metric: BoundMetric, returned: pl.DataFrame) -> list[str]:
    others = ("row", REASONS, *metric.keys)
    return sorted(name for name in returned.columns if name not in others)
