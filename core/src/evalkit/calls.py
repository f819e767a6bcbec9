"""Calls a metric's hooks and checks what they return."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import polars as pl

from evalkit.errors import MetricError
from evalkit.metrics import MetricContext
from evalkit.registry import Bound

BATCH_ROWS = 65_536

RESERVED = ("position", "group", "unit", "cell", "replicate")
"""Names that a metric's statistics may not have, because core adds these columns."""

HOOK_FAILURES = (Exception, SystemExit, pl.exceptions.PanicException)
"""What a hook may raise that is its own failure; an interrupt by the user is none."""


class ScoringTable(NamedTuple):
    """What metrics score."""

    frame: pl.DataFrame
    """Columns `position`, `prediction` (null where there is none), `target`, and
    those that metrics may ask for; only examples that count."""
    ids: Sequence[str]
    """Ids of all examples, by position."""
    clusters: pl.Series | None
    """Cluster of every example, by position."""
    context: MetricContext

    def without_prediction(self) -> int:
        """Count the examples whose prediction is null."""
        return self.frame["prediction"].null_count()


def failure(metric: Bound, step: str, error: BaseException) -> MetricError:
    """Wrap an exception of a metric.

    Args:
        metric: The metric.
        step: What it was doing.
        error: What it raised.

    Returns:
        An error that names the metric; chain it with `from`.
    """
    text = f": {error}" if str(error) else ""
    return MetricError(
        f"{metric.component.origin}: {step} failed with {type(error).__name__}{text}"
    )


def call(metric: Bound, step: str, function: Callable[[], Any]) -> Any:
    """Call into a metric and wrap whatever it raises.

    Args:
        metric: The metric.
        step: What it is doing.
        function: The call.

    Returns:
        What the call returned.

    Raises:
        MetricError: The call raised.
    """
    try:
        return function()
    except MetricError:
        raise
    except HOOK_FAILURES as error:
        raise failure(metric, step, error) from error


def compute_statistics(metric: Bound, table: ScoringTable) -> pl.DataFrame:
    """Get the statistics of all examples, batch by batch.

    Args:
        metric: A metric that implements `statistics`.
        table: What is scored.

    Returns:
        The metric's keys and columns, with `position` instead of `row`.

    Raises:
        MetricError: The metric failed or returned something else.
    """
    columns = [*metric.attributes["columns"]]
    parts = []
    for batch in table.frame.iter_slices(BATCH_ROWS):
        offered = batch.select("prediction", "target", *columns)
        hook = partial(metric.hooks.statistics, batch=offered, context=table.context)
        returned = call(metric, "statistics", hook)
        checked = _check_statistics(metric, returned, batch.height)
        parts.append(_replace_row(checked, batch["position"]))
    joined: pl.DataFrame = call(
        metric, "joining the batches of statistics", lambda: pl.concat(parts)
    )
    return joined


def _replace_row(statistics: pl.DataFrame, positions: pl.Series) -> pl.DataFrame:
    return statistics.with_columns(
        positions.gather(statistics["row"]).alias("position")
    ).drop("row")


def _check_statistics(metric: Bound, returned: Any, rows: int) -> pl.DataFrame:
    where = f"{metric.component.origin}: statistics"
    if not isinstance(returned, pl.DataFrame):
        raise MetricError(
            f"{where} must return a polars DataFrame, returned "
            f"{type(returned).__name__}"
        )
    keys = list(metric.attributes["keys"])
    per_example = metric.attributes["per_example"]
    wanted = ["row", *keys, *([per_example] if per_example else [])]
    missing = [name for name in wanted if name not in returned.columns]
    if missing:
        raise MetricError(f"{where}: the column {missing[0]!r} is missing")
    if not returned["row"].dtype.is_integer():
        raise MetricError(f"{where}: the column 'row' must hold integers")
    if not returned["row"].is_between(0, rows - 1).fill_null(False).all():
        raise MetricError(f"{where}: 'row' must be a position in the batch")
    if per_example and returned["row"].is_duplicated().any():
        raise MetricError(
            f"{where}: an example has several rows, but one score ({per_example!r})"
        )
    # sorted, because the columns of all batches must be in one order
    values = sorted(name for name in returned.columns if name not in ("row", *keys))
    _check_columns(returned, values, where)
    if per_example and not returned[per_example].cast(pl.Float64).is_finite().all():
        raise MetricError(
            f"{where}: the score {per_example!r} of an example is not finite"
        )
    return returned.select(
        pl.col("row").cast(pl.UInt32), *keys, pl.col(values).cast(pl.Float64)
    )


def _check_columns(returned: pl.DataFrame, values: Sequence[str], where: str) -> None:
    reserved = [name for name in RESERVED if name in returned.columns]
    if reserved:
        raise MetricError(f"{where}: the name {reserved[0]!r} is reserved")
    if not values:
        raise MetricError(f"{where}: there is no column of numbers")
    for name in values:
        if not (
            returned[name].dtype.is_numeric() or returned[name].dtype == pl.Boolean
        ):
            raise MetricError(f"{where}: the column {name!r} must hold numbers")
        if returned[name].null_count():
            raise MetricError(f"{where}: the column {name!r} must not hold nulls")


def value_columns(metric: Bound, statistics: pl.DataFrame) -> list[str]:
    """Give the columns of statistics that merge."""
    keys = (*metric.attributes["keys"], *RESERVED)
    return [name for name in statistics.columns if name not in keys]


def merge_expressions(metric: Bound, columns: Sequence[str]) -> list[pl.Expr]:
    """Give the aggregations that merge each column as the metric declares.

    Args:
        metric: The metric.
        columns: Its number columns.

    Returns:
        Polars aggregations.
    """
    merges = metric.attributes["merges"]
    expressions: list[pl.Expr] = []
    for name in columns:
        column = pl.col(name)
        # as lists, because the partial sums of polars depend on the number of threads
        listed = column.implode().list
        merge = merges.get(name, "sum")
        if merge == "sum":
            expressions.append(listed.sum().alias(name))
        elif merge == "moments":
            mean = listed.mean()
            expressions += [
                column.count().cast(pl.Float64).alias(f"{name}_count"),
                mean.alias(f"{name}_mean"),
                ((column - column.mean()) ** 2)
                .implode()
                .list.sum()
                .alias(f"{name}_m2"),
            ]
        elif merge == "values":
            expressions.append(column.implode().alias(name))
        else:
            expressions.append(getattr(column, merge)())
    return expressions


def merge_by_group(
    metric: Bound, statistics: pl.DataFrame, members: pl.DataFrame
) -> pl.DataFrame:
    """Merge the statistics of the examples of every group.

    Args:
        metric: The metric.
        statistics: One or more rows a position.
        members: Columns `position` and `group`.

    Returns:
        `group`, the keys, and the merged columns, sorted.
    """
    keys = ["group", *metric.attributes["keys"]]
    return (
        members.lazy()
        .join(statistics.lazy(), on="position", maintain_order="left_right")
        .group_by(keys, maintain_order=True)
        .agg(merge_expressions(metric, value_columns(metric, statistics)))
        .sort(keys)
        .collect(engine="in-memory")
    )


def finalize(metric: Bound, sums: pl.DataFrame, context: MetricContext) -> pl.DataFrame:
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
    returned = call(
        metric,
        "finalize",
        lambda: metric.hooks.finalize(sums=sums, context=context),
    )
    where = f"{metric.component.origin}: finalize"
    if not isinstance(returned, pl.DataFrame):
        raise MetricError(
            f"{where} must return a polars DataFrame, returned "
            f"{type(returned).__name__}"
        )
    scores = _check_scores(returned, where)
    if not scores["group"].is_in(sums["group"].unique().to_list()).all():
        raise MetricError(f"{where}: 'group' must be one of the groups it was given")
    return scores


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
    defaults = {
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


def checked_value(metric: Bound, value: Any) -> tuple[float | None, str | None]:
    """Check a value that a metric gave.

    Args:
        metric: The metric.
        value: A number, or None where it is undefined.

    Returns:
        The value as a float, and why it is None.

    Raises:
        MetricError: It is no number, or outside of the metric's bounds.
    """
    if value is None:
        return None, "the metric is not defined for these examples"
    try:
        if isinstance(value, str | bytes):
            raise TypeError("a text is not taken for a number")
        number = float(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise MetricError(
            f"{metric.component.origin}: its value must be a number, is {value!r}"
        ) from error
    if not math.isfinite(number):
        return None, f"the metric returned {number}"
    low, high = metric.attributes.get("bounds") or (None, None)
    slack = 1e-9
    if (low is not None and number < low - slack) or (
        high is not None and number > high + slack
    ):
        raise MetricError(
            f"{metric.component.origin}: its value {number} is outside of its bounds "
            f"{low} to {high}"
        )
    return number, None
