"""Turns merged statistics into scores, and says what each unit adds to their error.

A score that is a smooth function of sums changes by the gradient of that function times
what an example adds to the sums: its influence (Hampel 1974). The gradient is taken by
central differences of the metric's own `finalize`, for many groups in one call. The sum
of squared influences is the variance of the score by the delta method, the
infinitesimal jackknife of Jaeckel (1972).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from numbers import Real
from typing import NamedTuple, TypeAlias

import numpy as np
import polars as pl

from evalkit.base.columns import all_named
from evalkit.base.terms import MergeKind, MetricContext, NotScored
from evalkit.base.violations import shorten
from evalkit.errors import MetricError
from evalkit.plugins.bound import BoundMetric
from evalkit.scoring.records import reason_of_group
from evalkit.scoring.statistics_rows import (
    Codes,
    DrawnCounts,
    StatisticsRows,
    pairs_of_moments,
)
from evalkit.scoring.tally import REPLICATION
from evalkit.statistics.clusters import Floats, Integers

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
        self.context = context
        self._replications = replications

    @property
    def keys(self) -> list[str]:
        """Names of the key columns of the sums."""
        return [*self.metric.keys, *([REPLICATION] if self._replications > 1 else [])]

    @property
    def takes_counts(self) -> bool:
        """Whether it makes scores of arrays of counts, too."""
        return self._replications == 1 and self.metric.finalizes_counts

    def __call__(self, sums: pl.DataFrame) -> pl.DataFrame:
        """Finalize."""
        if self._replications == 1:
            scores = finalize(self.metric, sums, self.context)
            return scores.with_columns(
                stddev_replications=pl.lit(None, dtype=pl.Float64)
            )
        apart = pl.col("group") * self._replications + pl.col(REPLICATION)
        scores = finalize(
            self.metric, sums.with_columns(group=apart).drop(REPLICATION), self.context
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
    size = -(-replicates // max(1, min(replicates, -(-rows // MOST_ROWS))))
    values: dict[str, Floats] = {}
    try:
        for first in range(0, replicates, size):
            count = min(size, replicates - first)
            for score, part in _values_of(finalizer, first, count, sums):
                whole = values.setdefault(score, np.full(replicates, np.nan))
                whole[first : first + count] = part
    except MetricError as error:
        return FinalizedReplicates({}, replicates, f"the bootstrap failed: {error}")
    return FinalizedReplicates(values, replicates)


def _values_of(
    finalizer: Finalizer, first: int, count: int, sums: Sums
) -> Iterator[tuple[str, Floats]]:
    """Return by score the values of some replicates."""
    if isinstance(sums, DrawnCounts):
        sums = sums._replace(counts=sums.counts[first : first + count])
        if finalizer.takes_counts:
            counts = sums.counts.astype(np.float64, copy=False)
            found = finalize_counts(
                finalizer.metric, counts, sums.cells, finalizer.context
            )
            yield from found.items()
            return
        table = sums.table()
    else:
        number = pl.col("replicate") - first
        table = sums.filter((number >= 0) & (number < count)).with_columns(number)
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
    for name in ("score", "reason", "flag"):
        if name not in returned.columns:
            returned = returned.with_columns(pl.lit(None, pl.String).alias(name))
        elif returned[name].dtype not in (pl.String, pl.Null):
            raise MetricError(f"{where}: the column {name!r} must hold texts")
    scores = returned.select(
        pl.col("group").cast(pl.Int64),
        pl.col("score").cast(pl.String).fill_null(""),
        pl.col("value").cast(pl.Float64),
        pl.col("reason", "flag").cast(pl.String),
    )
    if scores.select("group", "score").is_duplicated().any():
        raise MetricError(f"{where}: it gives a score of a group more than once")
    return scores


_STEP = 1e-4
"""Step of the differences, as a share of the sum that is changed."""

_ROUNDING = 1e-7
"""Share of what an influence is summed of up to which it is the differences' error."""

MOST_ENTRIES = 500
"""Sums of a group beyond which it gets no gradient."""


class RowInfluences:
    """What rows of statistics add to one score of one group, computed when needed."""

    def __init__(
        self,
        rows: StatisticsRows,
        merges: Mapping[str, MergeKind],
        cells: pl.DataFrame,
        cell_of_key: Codes,
        gradient: Floats,
    ) -> None:
        self._rows, self._merges, self._cells = rows, merges, cells
        self._cell_of_key = cell_of_key
        self._gradient = gradient

    def __getitem__(self, codes: Codes) -> Floats:
        """Return the gradient times what some distinct rows add to the sums.

        It is nan for rows that the group does not have.
        """
        _, key_of_code = self._rows.numbered_keys
        cells = self._cell_of_key[key_of_code[codes]]
        terms: Floats = self._added(codes, cells) * self._gradient[cells]
        influences = terms.sum(axis=1)
        # what rows add to numerator and denominator may cancel, as where all are right
        cancel = np.abs(influences) <= _ROUNDING * np.abs(terms).sum(axis=1)
        return np.where(cells < 0, np.nan, np.where(cancel, 0.0, influences))

    def _added(self, codes: Codes, cells: Codes) -> Floats:
        values = self._rows.values[codes]
        if "moments" not in self._merges.values():
            return values
        by_name = dict(zip(self._rows.columns, values.T, strict=True))
        return added_by_rows(by_name, self._merges, self._cells, cells)


class Influences:
    """What a row of statistics adds to each score of each group.

    All columns of the statistics merge by sum or moments. The groups are computed
    together, because calls of `finalize` cost most of the time.
    """

    def __init__(
        self, finalizer: Finalizer, rows: StatisticsRows, sums: pl.DataFrame
    ) -> None:
        self._finalizer, self._rows, self._sums = finalizer, rows, sums

    def of(self, group: int) -> Mapping[str, RowInfluences]:
        """Return the influences on each score of a group that has a gradient."""
        return self._of_groups.get(group, {})

    @cached_property
    def _of_groups(self) -> Mapping[int, Mapping[str, RowInfluences]]:
        rows, merges = self._rows, self._finalizer.metric.merges
        names = self._sums.columns
        merged = [name for name in names if name not in ("group", *rows.keys)]
        return {
            group: {
                score: RowInfluences(
                    rows, merges, batch[group], self._cell_of_key(group), gradient
                )
                for score, gradient in by_score.items()
            }
            for batch in _batches(self._sums, len(merged))
            for group, by_score in _known_gradients(
                self._finalizer, batch, merged
            ).items()
        }

    def _cell_of_key(self, group: int) -> Codes:
        """Return the number of a group's cell of each distinct key; -1 for none."""
        keys, key_of_sum = self._key_of_sum
        start, end = np.searchsorted(self._sums["group"].to_numpy(), [group, group + 1])
        cell_of_key = np.full(max(1, keys), -1, dtype=np.int64)
        cell_of_key[key_of_sum[start:end]] = np.arange(end - start)
        return cell_of_key

    @cached_property
    def _key_of_sum(self) -> tuple[int, Codes]:
        """How many distinct keys there are, and the number of that of each sum."""
        if not self._rows.keys:
            return 1, np.zeros(self._sums.height, dtype=np.int64)
        keys, _ = self._rows.numbered_keys
        found = self._sums.join(
            keys.with_row_index("__key"),
            on=all_named(self._rows.keys),
            how="left",
            nulls_equal=True,
            maintain_order="left",
        )
        return keys.height, found["__key"].to_numpy().astype(np.int64)


def _known_gradients(
    finalizer: Finalizer, groups: Mapping[int, pl.DataFrame], columns: Sequence[str]
) -> Mapping[int, Mapping[str, Floats]]:
    """Return the gradients of those groups near whose sums the metric is defined."""
    try:
        return _gradients(finalizer, groups, columns)
    except MetricError:
        if len(groups) == 1:
            return {}
        # one by one, so that a group's interval does not depend on the others
        return {
            number: scores
            for group, part in groups.items()
            for number, scores in _known_gradients(
                finalizer, {group: part}, columns
            ).items()
        }


def _batches(sums: pl.DataFrame, columns: int) -> Iterator[Mapping[int, pl.DataFrame]]:
    batch: dict[int, pl.DataFrame] = {}
    rows = 0
    parts = sums.partition_by("group", as_dict=True, maintain_order=True)
    for (group,), part in parts.items():
        entries = part.height * columns
        if entries > MOST_ENTRIES:
            continue
        batch[int(group)] = part
        rows += 2 * entries * part.height
        if rows > MOST_ROWS:
            yield batch
            batch, rows = {}, 0
    if batch:
        yield batch


def _gradients(
    finalizer: Finalizer, groups: Mapping[int, pl.DataFrame], columns: Sequence[str]
) -> Mapping[int, Mapping[str, Floats]]:
    """Return the gradient of each score, of shape (cells, columns), by group."""
    frames, steps = [], {}
    first = 0
    for group, part in groups.items():
        changed, step = _changed(part, columns)
        frames.append(changed.with_columns(group=pl.col("group") + first))
        steps[group] = (first, step)
        first += 2 * step.size
    by_score = finalizer(pl.concat(frames)).partition_by("score", as_dict=True)
    found: dict[int, dict[str, Floats]] = {group: {} for group in groups}
    for (score,), frame in by_score.items():
        everything = np.full(first, np.nan)
        numbers = frame["value"].fill_null(np.nan).to_numpy()
        everything[frame["group"].to_numpy()] = numbers
        for group, (start, step) in steps.items():
            up, down = everything[start : start + 2 * step.size].reshape(2, -1)
            with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
                gradient = ((up - down) / (2 * step.ravel())).reshape(step.shape)
            if np.isfinite(gradient).all():
                found[group][str(score)] = gradient
    return found


def _changed(part: pl.DataFrame, columns: Sequence[str]) -> tuple[pl.DataFrame, Floats]:
    """Change each sum up, then each down; give the steps, of shape (cells, columns)."""
    base = part.select(all_named(columns)).to_numpy()
    step = _STEP * np.where(base == 0, 1.0, np.abs(base))
    size = base.size
    copies = np.tile(base, (2 * size, 1, 1))
    entry = np.arange(size)
    with np.errstate(over="ignore", invalid="ignore"):
        copies.reshape(2 * size, -1)[entry, entry] += step.ravel()
        copies.reshape(2 * size, -1)[size + entry, entry] -= step.ravel()
    number = np.repeat(np.arange(2 * size), len(base))
    keys = part.drop(all_named(["group", *columns]))
    cells = [keys[np.tile(np.arange(len(base)), 2 * size)]] if keys.width else []
    sums = pl.DataFrame(
        {name: copies[:, :, place].ravel() for place, name in enumerate(columns)}
    )
    group = pl.DataFrame({"group": number})
    return pl.concat([group, *cells, sums], how="horizontal"), step


def added_by_rows(
    values: Mapping[str, Floats],
    merges: Mapping[str, MergeKind],
    cells: pl.DataFrame,
    cell_of_row: Integers,
) -> Floats:
    """Return what each row adds to the merged columns of its cell.

    That is how these change by a row's weight: a sum by the row's number, a mean by its
    distance from it, shared by all rows, and a moment by the product of distances.
    """
    columns: list[Floats] = []
    distances: dict[str, Floats] = {}
    for name, own in values.items():
        if merges.get(name) != "moments":
            columns.append(own)
            continue
        mean, count = (
            cells[f"{name}_{part}"].to_numpy()[cell_of_row]
            for part in ("mean", "count")
        )
        distances[name] = own - mean
        columns += [np.ones(len(own)), distances[name] / count, distances[name] ** 2]
    columns += [
        distances[one] * distances[other]
        for one, other in pairs_of_moments([*values], merges)
    ]
    return np.column_stack(columns)
