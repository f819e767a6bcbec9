"""Turns merged statistics into scores, whichever way the metric was written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
import polars as pl

from evalkit.base.terms import MetricContext
from evalkit.errors import MetricError
from evalkit.inference.intervals import Floats
from evalkit.plugins.bound import BoundMetric
from evalkit.scoring import calls

REPLICATION = "__replication"
"""Key column that keeps the replications of a set-level metric apart."""

EXAMPLES = "__examples"
"""Statistic that counts the examples of a metric written as `score_example`."""

MOST_ROWS = 1_000_000
"""Rows of sums that are finalized at a time."""


_VALUE_BYTES = 64
"""Bytes of a row of sums; where values are kept, a row has many more."""


class Finalizer:
    """Makes scores of sums; of those of several replications, their mean.

    Args:
        metric: A metric that is not a function of lists.
        context: Its context.
        replications: How many replications the sums tell apart by `REPLICATION`;
            1 where they do not.
    """

    def __init__(
        self, metric: BoundMetric, context: MetricContext, replications: int = 1
    ) -> None:
        self.metric = metric
        self._context = context
        self._replications = replications

    @property
    def keys(self) -> list[str]:
        """Names of the key columns of the sums."""
        extra = [REPLICATION] if self._replications > 1 else []
        return [*self.metric.keys, *extra]

    def __call__(self, sums: pl.DataFrame) -> pl.DataFrame:
        """Finalize.

        Args:
            sums: `group`, the keys and the merged columns.

        Returns:
            `group`, `score`, `value`, `reason`, `flag` and `stddev_replications`.

        Raises:
            MetricError: The metric failed.
        """
        if self._replications == 1:
            scores = finalize(self.metric, sums, self._context)
            return scores.with_columns(
                stddev_replications=pl.lit(None, dtype=pl.Float64)
            )
        apart = pl.col("group") * self._replications + pl.col(REPLICATION)
        scores = finalize(
            self.metric,
            sums.with_columns(group=apart).drop(REPLICATION),
            self._context,
        )
        return _mean_of_replications(scores, self._replications)


def finalize(
    metric: BoundMetric, sums: pl.DataFrame, context: MetricContext
) -> pl.DataFrame:
    """Turn sums into scores, also those of a metric that scores single examples.

    Args:
        metric: A metric that is not a function of lists.
        sums: Sums by group and key.
        context: The metric's context.

    Returns:
        `group`, `score`, `value`, `reason` and `flag`.

    Raises:
        MetricError: The metric failed or returned something else.
    """
    if metric.example_hook is None:
        return calls.call_finalize(metric, sums, context)
    nothing = pl.lit(None, dtype=pl.String)
    return sums.select(
        pl.col("group").cast(pl.Int64),
        score=pl.lit(""),
        value=pl.col("score") / pl.col(EXAMPLES),
        reason=nothing,
        flag=nothing,
    )


def _mean_of_replications(scores: pl.DataFrame, replications: int) -> pl.DataFrame:
    value = pl.col("value")
    is_whole = (value.is_not_null() & value.is_finite()).sum() == replications
    undefined = pl.lit("the metric is not defined for every replication")
    return (
        scores.with_columns(group=pl.col("group") // replications)
        .sort("group", "score", "value")
        .group_by("group", "score", maintain_order=True)
        .agg(
            value=pl.when(is_whole).then(value.mean()),
            reason=pl.when(~is_whole).then(
                pl.coalesce(pl.col("reason").drop_nulls().first(), undefined)
            ),
            flag=pl.col("flag").drop_nulls().first(),
            stddev_replications=pl.when(is_whole).then(value.std(ddof=1)),
        )
    )


class FinalizedReplicates(NamedTuple):
    """Values of a group's bootstrap replicates."""

    values: Mapping[str, Floats]
    """The values that are defined, by score."""
    reason: str | None = None
    """Why there are none."""


def finalize_replicates(
    finalizer: Finalizer, parts: Iterable[tuple[int, pl.DataFrame]], replicates: int
) -> dict[int, FinalizedReplicates]:
    """Finalize the replicates of many groups, as many at a time as fit.

    Args:
        finalizer: Makes scores of sums.
        parts: The number of each group, and its sums by `replicate` and keys.
        replicates: How many replicates each group has.

    Returns:
        The values by group; the reason where the metric failed.
    """
    found: dict[int, FinalizedReplicates] = {}
    waiting: list[tuple[int, pl.DataFrame]] = []
    rows = 0
    for group, sums in parts:
        waiting.append((group, sums))
        rows += max(sums.height, int(sums.estimated_size() // _VALUE_BYTES))
        if rows >= MOST_ROWS:
            found |= _finalize_together(finalizer, waiting, replicates)
            waiting, rows = [], 0
    return found | _finalize_together(finalizer, waiting, replicates)


def _finalize_together(
    finalizer: Finalizer, parts: list[tuple[int, pl.DataFrame]], replicates: int
) -> dict[int, FinalizedReplicates]:
    if not parts:
        return {}
    together = pl.concat([sums for _, sums in parts])
    heights = [sums.height for _, sums in parts]
    firsts = np.repeat(np.arange(len(parts)) * replicates, heights)
    numbered = together.with_columns(group=pl.col("replicate") + firsts)
    try:
        values = finalizer(numbered.drop("replicate"))
    except MetricError as error:
        if len(parts) == 1:
            return {
                parts[0][0]: FinalizedReplicates({}, f"the bootstrap failed: {error}")
            }
        apart = (_finalize_together(finalizer, [part], replicates) for part in parts)
        return {group: values for one in apart for group, values in one.items()}
    # sorted, so that rounding does not depend on the order of what the metric returned
    defined = (
        values.filter(pl.col("value").is_finite())
        .sort("group")
        .with_columns(place=pl.col("group") // replicates)
    )
    by_score = defined.partition_by("place", "score", as_dict=True, maintain_order=True)
    found: dict[int, dict[str, Floats]] = {group: {} for group, _ in parts}
    for (place, score), frame in by_score.items():
        found[parts[int(place)][0]][str(score)] = frame["value"].to_numpy()
    return {group: FinalizedReplicates(values) for group, values in found.items()}
