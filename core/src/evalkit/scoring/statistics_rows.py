"""Rows of a metric's statistics, in which equal ones are one; and their replicates.

Most metrics give few distinct rows: right or wrong, or a pair of labels. What a group
sums to then follows from how often each distinct row occurs in it, and a scan over the
memberships that only counts is all that depends on the number of examples.

Bootstrap replicates (Efron 1979) draw units: examples, or whole clusters (Davison and
Hinkley 1997, section 3.8), never rows apart from their unit.
`evalkit.statistics.resampling` says how often each is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, pairwise
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from evalkit.base.columns import all_named, frame_of
from evalkit.base.terms import MergeKind
from evalkit.statistics.clusters import Floats, Integers
from evalkit.statistics.resampling import Weights

Codes = NDArray[np.int64]

_HIGH_DIGITS = np.int64(-(2**26))
"""Mask of the bits of a float without the lower half of its digits."""


class CellCounts(NamedTuple):
    """How often each distinct row occurs in each group, sorted by both."""

    group: Codes
    code: Codes
    """Number of the distinct row."""
    times: Codes


class Memberships(NamedTuple):
    """One entry for each row of statistics of each example of a group."""

    position: Codes
    code: Codes


@dataclass(frozen=True)
class StatisticsRows:
    """The distinct rows of statistics of a set of examples."""

    keys: list[str]
    """Names of the key columns."""
    columns: list[str]
    """Names of the number columns."""
    distinct: pl.DataFrame
    """The keys and number columns of every distinct row, sorted."""
    is_single: bool
    """Whether no example has several rows."""

    @cached_property
    def values(self) -> Floats:
        """The numbers of every distinct row, of shape (distinct, columns)."""
        values: Floats = self.distinct.select(all_named(self.columns)).to_numpy()
        return values

    @cached_property
    def numbered_keys(self) -> tuple[pl.DataFrame, Codes]:
        """The distinct keys, sorted, and the number of each distinct row's keys."""
        if not self.keys:
            return pl.DataFrame(), np.zeros(self.distinct.height, dtype=np.int64)
        keys = self.distinct.select(all_named(self.keys))
        unique = keys.unique().sort(all_named(self.keys)).with_row_index("__number")
        numbered = keys.join(
            unique,
            on=all_named(self.keys),
            nulls_equal=True,
            how="left",
            maintain_order="left",
        )
        return unique.drop("__number"), numbered["__number"].to_numpy().astype(np.int64)


def merge_cells(
    rows: StatisticsRows, cells: CellCounts, merges: Mapping[str, MergeKind]
) -> pl.DataFrame:
    """Merge the statistics of each group.

    Sums are exact before they are rounded once, so they do not depend on any order.
    """
    key_frame, key_of_code = rows.numbered_keys
    together = cells.group * max(1, key_frame.height) + key_of_code[cells.code]
    order = np.argsort(together, kind="stable")
    sorted_cells = CellCounts(*(part[order] for part in cells))
    together = together[order]
    starts = np.flatnonzero(np.diff(together, prepend=-1))
    merged = pl.DataFrame(
        {"group": sorted_cells.group[starts]}, schema={"group": pl.Int64}
    )
    if rows.keys:
        merged = merged.hstack(key_frame[together[starts] % key_frame.height])
    values = {
        name: rows.distinct[name].to_numpy()[sorted_cells.code] for name in rows.columns
    }
    times = sorted_cells.times
    for name in rows.columns:
        merge = merges.get(name, "sum")
        merged = merged.with_columns(
            _merge_column(name, merge, values[name], times, starts)
        )
    lengths = np.diff(np.append(starts, len(together)))
    for one, other in pairs_of_moments(rows.columns, merges):
        with np.errstate(over="ignore", invalid="ignore"):
            products = np.prod(
                [
                    values[name] - np.repeat(merged[f"{name}_mean"], lengths)
                    for name in (one, other)
                ],
                axis=0,
            )
        comoments = weighted_sums(products, times, starts)
        merged = merged.with_columns(
            pl.Series(f"{one}_{other}_comoment", comoments, dtype=pl.Float64)
        )
    return merged


def _merge_column(
    name: str, merge: MergeKind, values: Floats, counts: Codes, starts: Codes
) -> list[pl.Series]:
    if merge == "sum":
        return [pl.Series(name, weighted_sums(values, counts, starts))]
    if merge == "moments":
        return _moments(name, values, counts, starts)
    if merge == "values":
        lengths = np.diff(np.append(starts, len(values)))
        part = np.repeat(np.repeat(np.arange(len(starts)), lengths), counts)
        flat = pl.DataFrame({"part": part, "value": np.repeat(values, counts)})
        grouped = flat.group_by("part", maintain_order=True).agg("value")
        return [grouped["value"].cast(pl.List(pl.Float64)).alias(name)]
    reduce = np.minimum if merge == "min" else np.maximum
    found = reduce.reduceat(values, starts) if len(starts) else np.empty(0)
    return [pl.Series(name, found, dtype=pl.Float64)]


def _moments(
    name: str, values: Floats, counts: Codes, starts: Codes
) -> list[pl.Series]:
    sizes = np.add.reduceat(counts, starts) if len(starts) else np.empty(0)
    means = weighted_sums(values, counts, starts) / sizes
    lengths = np.diff(np.append(starts, len(values)))
    with np.errstate(over="ignore", invalid="ignore"):
        squares = (values - np.repeat(means, lengths)) ** 2
    return [
        pl.Series(f"{name}_count", sizes, dtype=pl.Float64),
        pl.Series(f"{name}_mean", means, dtype=pl.Float64),
        pl.Series(f"{name}_m2", weighted_sums(squares, counts, starts)),
    ]


def pairs_of_moments(
    columns: Sequence[str], merges: Mapping[str, MergeKind]
) -> list[tuple[str, str]]:
    """Return the pairs of columns that have a co-moment."""
    moments = sorted(name for name in columns if merges.get(name) == "moments")
    return list(combinations(moments, 2))


def weighted_sums(values: Floats, counts: Codes | Floats, starts: Codes) -> Floats:
    """Sum parts of an array, each value as often as it is counted."""
    if not len(starts):
        return np.empty(0)
    if (values == np.rint(values)).all() and (
        float(np.abs(values).max()) * float(counts.sum()) < 2**53
    ):
        # sums of whole numbers are exact, whatever the order
        whole: Floats = np.add.reduceat(values * counts, starts)
        return whole
    parts = (slice(*ends) for ends in pairwise([*starts.tolist(), len(values)]))
    return np.array([exact_sum(values[p], counts[p]) for p in parts])


def exact_sum(values: Floats, counts: Codes | Floats) -> float:
    """Sum numbers, each as often as counted, rounding once (Shewchuk 1997)."""
    try:
        if (counts == 1).all():
            return math.fsum(values.tolist())
        # half the digits at a time: then each product is exact
        high = (values.view(np.int64) & _HIGH_DIGITS).view(np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            low = np.where(np.isfinite(values), values - high, 0.0)
            products = np.concatenate([high * counts, low * counts])
        return math.fsum(products.tolist())
    except (OverflowError, ValueError):
        # beyond the range of floats, or infinities of both signs
        with np.errstate(over="ignore", invalid="ignore"):
            return float(np.sum(values * counts))


MOST_DRAWS = 5_000_000
"""Rows times replicates that are held at a time."""

Draw = Callable[[Codes, int, int], Weights]
"""Draws how often units are in replicates: numbers of units, the first replicate, and
how many, to weights of shape (units, replicates)."""


class DrawnCounts(NamedTuple):
    """Counts of cells, such as pairs of labels, in replicates of one group."""

    cells: pl.DataFrame
    """The keys of each cell."""
    column: str
    """Name of the count."""
    counts: Floats | NDArray[np.integer[Any]]
    """The counts, of shape (replicates, cells)."""

    def table(self) -> pl.DataFrame:
        """Return `replicate`, the keys and the counts, without counts of 0."""
        replicate, place = np.nonzero(self.counts)
        counts = self.counts[replicate, place].astype(np.float64)
        return frame_of(
            [
                pl.Series("replicate", replicate),
                *self.cells[place].get_columns(),
                pl.Series(self.column, counts),
            ]
        )


class UnitDraws:
    """Draws how often the distinct rows of one group occur in its replicates.

    Attributes:
        codes: The distinct rows of the group, sorted by their cell.
        cell_starts: Where the rows of each cell start.
        cells: The keys of each cell.
    """

    def __init__(
        self,
        rows: StatisticsRows,
        members: Memberships,
        units: Codes,
        draw: Draw,
        replicates: int,
    ) -> None:
        self._units, unit_of_row = np.unique(units, return_inverse=True)
        key_frame, key_of_code = rows.numbered_keys
        codes, code_of_row = np.unique(members.code, return_inverse=True)
        order = np.argsort(key_of_code[codes], kind="stable")
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        # equal rows of a unit are drawn together
        found, self._times = np.unique(
            rank[code_of_row] * len(self._units) + unit_of_row, return_counts=True
        )
        self._unit_of_draw = found % len(self._units)
        self._starts = _starts(found // len(self._units))
        self._draw, self._replicates = draw, replicates
        self.rows, self.codes = rows, codes[order]
        keys = key_of_code[self.codes]
        self.cell_starts = _starts(keys)
        self.cells = key_frame[keys[self.cell_starts]] if rows.keys else key_frame

    def __iter__(self) -> Iterator[tuple[int, NDArray[np.int32]]]:
        """Return the first of some replicates, and counts of shape (rows, these)."""
        step = max(1, MOST_DRAWS // len(self._unit_of_draw))
        for first in range(0, self._replicates, step):
            count = min(step, self._replicates - first)
            drawn: Any = self._draw(self._units, first, count)[self._unit_of_draw]
            if (self._times != 1).any():
                drawn = drawn * self._times.astype(np.int32)[:, None]
            yield first, segment_sums(drawn, self._starts)


def replicate_sums(draws: UnitDraws) -> pl.DataFrame:
    """Draw replicates of sums; leave out cells of which nothing was drawn."""
    return pl.concat([_summed(draws, *some) for some in draws])


def replicate_cells(draws: UnitDraws) -> DrawnCounts:
    """Draw replicates of the only number column as an array; it merges by sum."""
    values = draws.rows.values[draws.codes]
    is_count = bool((values == 1).all())
    parts: list[Any] = [
        _cell_sums(drawn if is_count else drawn * values, draws.cell_starts)
        for _, drawn in draws
    ]
    return DrawnCounts(
        draws.cells, draws.rows.columns[0], np.concatenate(parts, axis=1).T
    )


def replicate_merged(draws: UnitDraws, merges: Mapping[str, MergeKind]) -> pl.DataFrame:
    """Draw replicates of statistics that do not all merge by sum."""
    parts = []
    for first, drawn in draws:
        replicate, row = np.nonzero(drawn.T)
        times = drawn[row, replicate].astype(np.int64)
        cells = CellCounts(replicate + first, draws.codes[row], times)
        parts.append(merge_cells(draws.rows, cells, merges))
    return pl.concat(parts).rename({"group": "replicate"})


def _summed(draws: UnitDraws, first: int, drawn: NDArray[np.int32]) -> pl.DataFrame:
    rows, starts = draws.rows, draws.cell_starts
    values = rows.values[draws.codes]
    chosen = np.flatnonzero((segment_sums(drawn, starts) > 0).T.ravel())
    columns = [pl.Series("replicate", first + chosen // len(starts))]
    if rows.keys:
        columns += draws.cells[chosen % len(starts)].get_columns()
    if len(starts) == 1:  # no reduction by cells: one product for all columns
        # not by BLAS, whose sums depend on the number of threads
        sums = np.einsum("ij,ik->jk", values, drawn.astype(np.float64))
        columns += map(pl.Series, rows.columns, sums[:, chosen])
        return frame_of(columns)
    for number, name in enumerate(rows.columns):
        sums = _cell_sums(drawn * values[:, number, None], starts)
        columns.append(pl.Series(name, sums.T.ravel()[chosen]))
    return frame_of(columns)


def _cell_sums(
    numbers: Floats | NDArray[np.int32], starts: Codes
) -> Floats | NDArray[np.int32]:
    """Add up the rows of each cell; most have one."""
    if len(starts) == len(numbers):
        return numbers
    sums: Floats = np.add.reduceat(numbers, starts, axis=0)
    return sums


def _starts(numbers: Codes) -> Codes:
    return np.flatnonzero(np.diff(numbers, prepend=-1))


_LONG = 32
"""Rows of a segment beyond which it is added up by itself."""


def segment_sums(
    numbers: NDArray[np.uint8] | NDArray[np.int32], starts: Integers
) -> NDArray[np.int32]:
    """Add up whole numbers by segments of rows; no sum is beyond 32 bits.

    numpy's `reduceat` goes down one column at a time, which takes up to 20 times as
    long where an array has many columns.
    """
    lengths = np.diff(starts, append=len(numbers))
    sums = numbers[starts].astype(np.int32)
    for place in np.flatnonzero(lengths > _LONG).tolist():
        rows = slice(starts[place], starts[place] + lengths[place])
        np.add.reduce(numbers[rows], axis=0, dtype=np.int32, out=sums[place])
    places = np.flatnonzero((lengths > 1) & (lengths <= _LONG))
    further = 1
    while len(places):
        sums[places] += numbers[starts[places] + further]
        further += 1
        places = places[lengths[places] > further]
    return sums
