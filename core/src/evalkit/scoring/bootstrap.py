"""Bootstrap replicates of the sums of a group (Efron 1979).

What is drawn are units: examples, or whole clusters (Davison and Hinkley 1997, section
3.8), never rows apart from their unit. `evalkit.statistics.resampling` says how often
each is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from evalkit.base.columns import frame_of
from evalkit.base.terms import MergeKind
from evalkit.scoring.statistics_rows import (
    CellCounts,
    Codes,
    Memberships,
    StatisticsRows,
    merge_cells,
)
from evalkit.statistics.clusters import Floats, Integers
from evalkit.statistics.resampling import Weights

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
    """Draw replicates of sums; all number columns merge by sum.

    Returns:
        `replicate`, the keys and the sums, without cells of which nothing was drawn.
    """
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
    is_drawn = (segment_sums(drawn, starts) > 0).T.ravel()
    chosen = np.flatnonzero(is_drawn)
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
