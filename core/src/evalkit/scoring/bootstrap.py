"""Bootstrap replicates of the sums of a group (Efron 1979).

What is drawn are units: examples, or whole clusters (Davison and Hinkley 1997, section
3.8), never rows apart from their unit. `evalkit.statistics.resampling` says how often
each is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from evalkit.base.columns import frame_of
from evalkit.base.terms import MergeKind
from evalkit.scoring.drawn_counts import DrawnCounts
from evalkit.scoring.segment_sums import segment_sums
from evalkit.scoring.statistics_rows import (
    CellCounts,
    Codes,
    Memberships,
    StatisticsRows,
    merge_cells,
)
from evalkit.statistics.clusters import Floats
from evalkit.statistics.resampling import Weights

MOST_DRAWS = 5_000_000
"""Rows times replicates that are held at a time."""


class UnitDraw(Protocol):
    """Draws how often units are in replicates."""

    def of(self, units: Codes, first: int, count: int, replicates: int) -> Weights:
        """Return weights of shape (units, count)."""


class _DrawnRows(NamedTuple):
    """The different rows of the units of a group, sorted by the row."""

    units: Codes
    """The unit of each."""
    times: Codes
    """How often the unit has the row."""
    starts: Codes
    """Where those of each row start."""

    @classmethod
    def of(cls, codes: Codes, units: Codes) -> _DrawnRows:
        """Find them.

        Args:
            codes: Numbers of the rows, of which each from 0 occurs.
            units: Numbers of their units, from 0.
        """
        count = int(units.max(initial=0)) + 1
        found, times = np.unique(codes * count + units, return_counts=True)
        return cls(found % count, times, _starts(found // count))

    def counts(self, weights: Weights) -> NDArray[np.int32]:
        """Count each row in replicates.

        Args:
            weights: How often each unit is in each of them.

        Returns:
            The counts, of shape (rows, replicates).
        """
        drawn = weights[self.units]
        if (self.times == 1).all():
            return segment_sums(drawn, self.starts)
        times = self.times.astype(np.int32)[:, None]
        return segment_sums(drawn * times, self.starts)


class _UnitDraws:
    """Draws how often the distinct rows of one group occur in its replicates.

    Attributes:
        values: The numbers of each distinct row of the group, sorted by their cell.
        cell_starts: Where the rows of each cell start.
        cells: The keys of each cell.
    """

    def __init__(
        self,
        rows: StatisticsRows,
        members: Memberships,
        units: Codes,
        weights: UnitDraw,
        replicates: int,
    ) -> None:
        present, unit_of_row = np.unique(units, return_inverse=True)
        key_frame, key_of_code = rows.numbered_keys
        codes, code_of_row = np.unique(members.code, return_inverse=True)
        cell_of_code, order = _sorted_by(key_of_code[codes])
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        # equal rows of a unit are drawn together
        self._drawn = _DrawnRows.of(rank[code_of_row], unit_of_row)
        self._units, self._weights = present, weights
        self._replicates = replicates
        self.cell_starts = _starts(cell_of_code)
        self.values = rows.values[codes[order]]
        self.cells = (
            key_frame[cell_of_code[self.cell_starts]] if rows.keys else key_frame
        )

    def __iter__(self) -> Iterator[tuple[int, NDArray[np.int32]]]:
        """Return the first of some replicates, and counts of shape (rows, these)."""
        step = max(1, MOST_DRAWS // len(self._drawn.units))
        for first in range(0, self._replicates, step):
            count = min(step, self._replicates - first)
            weights = self._weights.of(self._units, first, count, self._replicates)
            yield first, self._drawn.counts(weights)


def replicate_sums(
    rows: StatisticsRows,
    members: Memberships,
    units: Codes,
    weights: UnitDraw,
    replicates: int,
) -> pl.DataFrame:
    """Draw bootstrap replicates of the sums of one group.

    Args:
        rows: The statistics; all number columns merge by sum.
        members: The rows of the group's members.
        units: Number of the unit of each of these rows.
        weights: How often each unit is drawn.
        replicates: How many to draw.

    Returns:
        `replicate` (from 0), the metric's keys and the summed columns, without cells
        of which nothing was drawn.
    """
    draws = _UnitDraws(rows, members, units, weights, replicates)
    return pl.concat([_summed(rows, draws, *some) for some in draws])


def replicate_cells(
    rows: StatisticsRows,
    members: Memberships,
    units: Codes,
    weights: UnitDraw,
    replicates: int,
) -> DrawnCounts:
    """Draw bootstrap replicates of the sums of one group, as an array.

    Args:
        rows: The statistics: keys, and one number column that merges by sum.
        members: The rows of the group's members.
        units: Number of the unit of each of these rows.
        weights: How often each unit is drawn.
        replicates: How many to draw.

    Returns:
        The sums, 0 in cells of which nothing was drawn.
    """
    draws = _UnitDraws(rows, members, units, weights, replicates)
    is_count = bool((draws.values == 1).all())
    parts = [
        _cell_sums(drawn if is_count else drawn * draws.values, draws.cell_starts)
        for _, drawn in draws
    ]
    sums: NDArray[Any] = parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)
    cells = draws.cells
    return DrawnCounts((*rows.keys, *rows.columns), cells.rows(), sums.T, cells.dtypes)


def replicate_merged(
    rows: StatisticsRows,
    members: Memberships,
    units: Codes,
    weights: UnitDraw,
    replicates: int,
    merges: Mapping[str, MergeKind],
) -> pl.DataFrame:
    """Draw bootstrap replicates of statistics that do not all merge by sum.

    Args:
        rows: The statistics.
        members: The rows of the group's members.
        units: Number of the unit of each of these rows.
        weights: How often each unit is drawn.
        replicates: How many to draw.
        merges: How each column merges, where not by sum.

    Returns:
        `replicate` (from 0), the metric's keys and the merged columns.
    """
    present, unit_of_row = np.unique(units, return_inverse=True)
    codes, code_of_row = np.unique(members.code, return_inverse=True)
    rows_of_units = _DrawnRows.of(code_of_row, unit_of_row)
    parts = []
    step = max(1, MOST_DRAWS // len(rows_of_units.units))
    for first in range(0, replicates, step):
        count = min(step, replicates - first)
        drawn_units = weights.of(present, first, count, replicates)
        drawn = rows_of_units.counts(drawn_units).T.astype(np.int64)
        replicate, code = np.nonzero(drawn)
        cells = CellCounts(replicate + first, codes[code], drawn[replicate, code])
        parts.append(merge_cells(rows, cells, merges))
    return pl.concat(parts).rename({"group": "replicate"})


def _summed(
    rows: StatisticsRows, draws: _UnitDraws, first: int, drawn: NDArray[np.int32]
) -> pl.DataFrame:
    starts = draws.cell_starts
    is_drawn = (segment_sums(drawn, starts) > 0).T.ravel()
    chosen = np.flatnonzero(is_drawn)
    columns = [pl.Series("replicate", first + chosen // len(starts))]
    if rows.keys:
        columns += draws.cells[chosen % len(starts)].get_columns()
    if len(starts) == 1:  # no reduction by cells: one product for all columns
        # not by BLAS, whose sums depend on the number of threads
        sums = np.einsum("ij,ik->jk", draws.values, drawn.astype(np.float64))
        columns += map(pl.Series, rows.columns, sums[:, chosen])
        return frame_of(columns)
    for number, name in enumerate(rows.columns):
        sums = _cell_sums(drawn * draws.values[:, number, None], starts)
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


def _sorted_by(numbers: Codes) -> tuple[Codes, Codes]:
    order = np.argsort(numbers, kind="stable")
    return numbers[order], order


def _starts(numbers: Codes) -> Codes:
    return np.flatnonzero(np.diff(numbers, prepend=-1))
