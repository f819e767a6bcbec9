"""Turns merged statistics into scores, whichever way the metric was written."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
import polars as pl

from evalkit.base.terms import MetricContext
from evalkit.errors import MetricError
from evalkit.plugins.bound import BoundMetric
from evalkit.scoring import calls
from evalkit.scoring.drawn_counts import DrawnCounts, counts_table
from evalkit.scoring.patterns import REPLICATION
from evalkit.statistics.clusters import Floats

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

    @property
    def takes_counts(self) -> bool:
        """Whether it makes scores of arrays of counts, too."""
        return self._replications == 1 and self.metric.finalizes_counts

    def of_counts(self, counts: Floats, cells: pl.DataFrame) -> Mapping[str, Floats]:
        """Finalize the counts of many samples; only where it takes counts.

        Args:
            counts: The counts, of shape (samples, cells).
            cells: The metric's keys, one row a cell.

        Returns:
            By score the values of the samples, nan where undefined.

        Raises:
            MetricError: The metric failed.
        """
        return calls.finalize_counts(self.metric, counts, cells, self._context)

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
    """The values of all replicates, nan where undefined, by score."""
    replicates: int
    reason: str | None = None
    """Why there are none."""

    def values_of(self, score: str) -> Floats:
        """Return the values of a score, nan where undefined."""
        return self.values.get(score, np.full(self.replicates, np.nan))


Part = TypeVar("Part", bound=Hashable)

Sums: TypeAlias = pl.DataFrame | DrawnCounts
"""Sums by `replicate`, from 0, and by the metric's keys; or an array of counts."""


class _Piece(NamedTuple):
    """Some replicates of a part."""

    place: tuple[Any, int]
    """The part, and the number of the first of the replicates."""
    replicates: int
    sums: Sums


def finalize_replicates(
    finalizer: Finalizer, parts: Iterable[tuple[Part, int, Sums]]
) -> dict[Part, FinalizedReplicates]:
    """Finalize the replicates of many groups, as many at a time as fit.

    Args:
        finalizer: Makes scores of sums.
        parts: What the replicates are of, such as the number of a group; how many
            there are, and their sums.

    Returns:
        The values of each part; the reason where the metric failed.
    """
    found: dict[tuple[Part, int], FinalizedReplicates] = {}
    waiting: dict[Hashable, list[_Piece]] = {}
    rows = 0
    for part, count, sums in parts:
        cells = None
        if finalizer.takes_counts and isinstance(sums, DrawnCounts):
            cells = tuple(sums.cells)
        for first, replicates, piece in _pieces(count, sums):
            waiting.setdefault(cells, []).append(
                _Piece((part, first), replicates, piece)
            )
            rows += _rows(piece)
            if rows >= MOST_ROWS:
                found |= _finalize_waiting(finalizer, waiting)
                waiting, rows = {}, 0
    return _joined(found | _finalize_waiting(finalizer, waiting))


def _pieces(count: int, sums: Sums) -> Iterator[tuple[int, int, Sums]]:
    """Cut replicates of many rows: of each piece the first, how many, and the sums."""
    pieces = min(count, -(-_rows(sums) // MOST_ROWS))
    if pieces <= 1:
        yield 0, count, sums
        return
    size = -(-count // pieces)
    for first in range(0, count, size):
        piece: Sums
        if isinstance(sums, DrawnCounts):
            piece = sums._replace(counts=sums.counts[first : first + size])
        else:
            number = pl.col("replicate") - first
            piece = sums.filter((number >= 0) & (number < size)).with_columns(number)
        yield first, min(size, count - first), piece


def _joined(
    pieces: Mapping[tuple[Part, int], FinalizedReplicates],
) -> dict[Part, FinalizedReplicates]:
    """Put the pieces of each part together, which are in their order."""
    of_parts: dict[Part, list[FinalizedReplicates]] = {}
    for (part, _), piece in pieces.items():
        of_parts.setdefault(part, []).append(piece)
    return {
        part: found[0] if len(found) == 1 else _concatenated(found)
        for part, found in of_parts.items()
    }


def _concatenated(pieces: Sequence[FinalizedReplicates]) -> FinalizedReplicates:
    reason = next((each.reason for each in pieces if each.reason), None)
    count = sum(each.replicates for each in pieces)
    if reason is not None:
        return FinalizedReplicates({}, count, reason)
    names = dict.fromkeys(name for each in pieces for name in each.values)
    values = {
        name: np.concatenate([each.values_of(name) for each in pieces])
        for name in names
    }
    return FinalizedReplicates(values, count)


def _rows(sums: Sums) -> int:
    """Return the rows of sums, or of numbers that take as much memory."""
    if isinstance(sums, DrawnCounts):
        return int(sums.counts.size)
    return max(sums.height, int(sums.estimated_size() // _VALUE_BYTES))


def _finalize_waiting(
    finalizer: Finalizer, waiting: Mapping[Hashable, list[_Piece]]
) -> dict[tuple[Any, int], FinalizedReplicates]:
    """Finalize what waits: by the cells of counts that are taken as an array."""
    found: dict[tuple[Any, int], FinalizedReplicates] = {}
    for cells, pieces in waiting.items():
        values = _values_of_tables if cells is None else _values_of_counts
        found |= _finalize_together(finalizer, pieces, values)
    return found


_Values: TypeAlias = Iterator[tuple[str, Sequence[Floats]]]
"""By score the values of each piece, of which some are not finite or left out."""


def _finalize_together(
    finalizer: Finalizer,
    pieces: Sequence[_Piece],
    values_of: Callable[[Finalizer, Sequence[_Piece]], _Values],
) -> dict[tuple[Any, int], FinalizedReplicates]:
    found: dict[tuple[Any, int], dict[str, Floats]] = {
        piece.place: {} for piece in pieces
    }
    try:
        for score, numbers in values_of(finalizer, pieces):
            for piece, values in zip(pieces, numbers, strict=True):
                if np.isfinite(values).any():
                    found[piece.place][score] = values
    except MetricError as error:
        if len(pieces) == 1:
            reason = f"the bootstrap failed: {error}"
            count = pieces[0].replicates
            return {pieces[0].place: FinalizedReplicates({}, count, reason)}
        apart = (_finalize_together(finalizer, [piece], values_of) for piece in pieces)
        return {place: values for one in apart for place, values in one.items()}
    return {
        piece.place: FinalizedReplicates(found[piece.place], piece.replicates)
        for piece in pieces
    }


def _values_of_tables(finalizer: Finalizer, pieces: Sequence[_Piece]) -> _Values:
    firsts = _firsts(pieces)
    values = finalizer(_numbered([piece.sums for piece in pieces], firsts))
    count = sum(piece.replicates for piece in pieces)
    defined = values.drop_nulls("value")
    by_score = defined.partition_by("score", as_dict=True, maintain_order=True)
    for (score,), frame in by_score.items():
        numbers = np.full(count, np.nan)
        numbers[frame["group"].to_numpy()] = frame["value"].to_numpy()
        yield str(score), np.split(numbers, firsts[1:])


def _values_of_counts(finalizer: Finalizer, pieces: Sequence[_Piece]) -> _Values:
    drawn = [piece.sums for piece in pieces if isinstance(piece.sums, DrawnCounts)]
    [first, *others] = [each.counts for each in drawn]
    counts = np.concatenate([first, *others]) if others else first
    cells = drawn[0].cell_table()
    by_score = finalizer.of_counts(counts.astype(np.float64, copy=False), cells)
    for score, values in by_score.items():
        yield score, np.split(values, _firsts(pieces)[1:])


def _firsts(pieces: Sequence[_Piece]) -> list[int]:
    """Return the number of the first replicate of each piece among all."""
    return [0, *np.cumsum([piece.replicates for piece in pieces])[:-1].tolist()]


def _numbered(parts: Sequence[Sums], firsts: Sequence[int]) -> pl.DataFrame:
    """Put sums into one table, in which `group` is another one for each replicate."""
    counted = [
        (sums, first)
        for sums, first in zip(parts, firsts, strict=True)
        if isinstance(sums, DrawnCounts)
    ]
    tables = [
        sums.with_columns(pl.col("replicate") + first)
        for sums, first in zip(parts, firsts, strict=True)
        if isinstance(sums, pl.DataFrame)
    ]
    if counted:
        groups, starts = zip(*counted, strict=True)
        tables.append(counts_table(groups, starts))
    return pl.concat(tables).rename({"replicate": "group"})
