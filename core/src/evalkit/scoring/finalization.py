"""Turns merged statistics into scores, whichever way the metric was written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from numbers import Real
from typing import NamedTuple, TypeAlias

import numpy as np
import polars as pl

from evalkit.base.terms import MetricContext, NotScored
from evalkit.base.violations import shorten
from evalkit.errors import MetricError
from evalkit.plugins.bound import BoundMetric
from evalkit.scoring.bootstrap import DrawnCounts
from evalkit.scoring.outcomes import reason_of_group
from evalkit.scoring.tally import REPLICATION
from evalkit.statistics.clusters import Floats

EXAMPLES = "__examples"
"""Statistic that counts the examples of a metric written as `score_example`."""

MOST_ROWS = 1_000_000
"""Rows of sums that are finalized at a time."""


_VALUE_BYTES = 64
"""Bytes of a row of sums; where values are kept, a row has many more."""


class Finalizer:
    """Makes scores of sums; of those of several replications, their mean."""

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

    @property
    def takes_counts(self) -> bool:
        """Whether it makes scores of arrays of counts, too."""
        return self._replications == 1 and self.metric.finalizes_counts

    def of_counts(self, counts: Floats, cells: pl.DataFrame) -> Mapping[str, Floats]:
        """Finalize the counts of many samples; only where it takes counts."""
        return finalize_counts(self.metric, counts, cells, self._context)

    def __call__(self, sums: pl.DataFrame) -> pl.DataFrame:
        """Finalize."""
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
        return call_finalize(metric, sums, context)
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
    """Values of a group's replicates."""

    values: Mapping[str, Floats]
    """The values of all replicates, nan where undefined, by score."""
    replicates: int
    reason: str | None = None
    """Why there are none."""

    def values_of(self, score: str) -> Floats:
        """Return the values of a score, nan where undefined."""
        return self.values.get(score, np.full(self.replicates, np.nan))


Sums: TypeAlias = pl.DataFrame | DrawnCounts
"""Sums by `replicate`, from 0, and by the metric's keys; or an array of counts."""


def finalize_replicates(
    finalizer: Finalizer, replicates: int, sums: Sums
) -> FinalizedReplicates:
    """Finalize the replicates of a group, as many at a time as fit."""
    if isinstance(sums, DrawnCounts):
        rows = int(sums.counts.size)
    else:  # values that are kept take more memory than a row
        rows = max(sums.height, int(sums.estimated_size() // _VALUE_BYTES))
    pieces = min(replicates, -(-rows // MOST_ROWS))
    size = -(-replicates // max(1, pieces))
    values: dict[str, Floats] = {}
    try:
        for first in range(0, replicates, size):
            count = min(size, replicates - first)
            for score, part in _values_of(finalizer, first, count, sums):
                whole = values.setdefault(score, np.full(replicates, np.nan))
                whole[first : first + count] = part
    except MetricError as error:
        reason = f"the bootstrap failed: {error}"
        return FinalizedReplicates({}, replicates, reason)
    return FinalizedReplicates(values, replicates)


def _values_of(
    finalizer: Finalizer, first: int, count: int, sums: Sums
) -> Iterator[tuple[str, Floats]]:
    """Return by score the values of some replicates."""
    if isinstance(sums, DrawnCounts):
        sums = sums._replace(counts=sums.counts[first : first + count])
        if finalizer.takes_counts:
            counts = sums.counts.astype(np.float64, copy=False)
            yield from finalizer.of_counts(counts, sums.cells).items()
            return
        table = sums.table()
    else:
        number = pl.col("replicate") - first
        is_chosen = (number >= 0) & (number < count)
        table = sums.filter(is_chosen).with_columns(number)
    values = finalizer(table.rename({"replicate": "group"})).drop_nulls("value")
    by_score = values.partition_by("score", as_dict=True, maintain_order=True)
    for (score,), frame in by_score.items():
        numbers = np.full(count, np.nan)
        numbers[frame["group"].to_numpy()] = frame["value"].to_numpy()
        yield str(score), numbers


def call_finalize(
    metric: BoundMetric, sums: pl.DataFrame, context: MetricContext
) -> pl.DataFrame:
    """Turn sums into scores."""
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
