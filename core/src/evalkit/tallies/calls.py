"""Turns the sums of a group into scores, whichever way a metric was written."""

from __future__ import annotations

import polars as pl

from evalkit.base.terms import MetricContext
from evalkit.plugins.bound import BoundMetric
from evalkit.scoring.calls import call_finalize

EXAMPLES = "__examples"
"""Statistic that counts the examples of a metric written as `score_example`."""


def finalize_sums(
    metric: BoundMetric, sums: pl.DataFrame, context: MetricContext
) -> pl.DataFrame:
    """Turn sums into scores.

    Args:
        metric: A metric that is not a function of lists.
        sums: `group`, the keys and the merged columns.
        context: What else the metric knows.

    Returns:
        `group`, `score`, `value`, `reason` and `flag`.

    Raises:
        MetricError: The metric failed or returned something else.
    """
    if metric.example_hook is None:
        return call_finalize(metric, sums, context)
    nothing = pl.lit(None, pl.String)
    return sums.select(
        pl.col("group").cast(pl.Int64),
        score=pl.lit(""),
        value=(pl.col("score") / pl.col(EXAMPLES)).cast(pl.Float64),
        reason=nothing,
        flag=nothing,
    )
