"""Bootstrap replicates of the sums of a group (Efron 1979).

What is drawn are units: examples, or whole clusters (Davison and Hinkley 1997, section
3.8), never rows apart from their unit. `evalkit.inference.resampling` says how often
each is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import polars as pl
from numpy.typing import NDArray

from evalkit.base.columns import frame_of
from evalkit.base.terms import MergeKind
from evalkit.inference.multinomial import DrawnCounts
from evalkit.inference.resampling import Keys, unit_weights
from evalkit.scoring.statistics_rows import (
    CellCounts,
    Codes,
    Memberships,
    StatisticsRows,
    merge_cells,
)

MOST_DRAWS = 5_000_000
"""Rows times replicates that are held at a time."""


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
        keys: Keys,
        replicates: int,
    ) -> None:
        present, unit_of_row = np.unique(units, return_inverse=True)
        key_frame, key_of_code = rows.numbered_keys
        codes, code_of_row = np.unique(members.code, return_inverse=True)
        cell_of_code, order = _sorted_by(key_of_code[codes])
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        by_code = np.argsort(rank[code_of_row], kind="stable")
        self._unit_of_row = unit_of_row[by_code]
        self._code_starts = _starts(rank[code_of_row][by_code])
        self._keys, self._replicates = keys[present], replicates
        self.cell_starts = _starts(cell_of_code)
        self.values = rows.values[codes[order]]
        self.cells = (
            key_frame[cell_of_code[self.cell_starts]] if rows.keys else key_frame
        )

    def __iter__(self) -> Iterator[tuple[int, NDArray[np.int64]]]:
        """Return the first of some replicates, and counts of shape (rows, these)."""
        step = max(1, MOST_DRAWS // len(self._unit_of_row))
        for first in range(0, self._replicates, step):
            count = min(step, self._replicates - first)
            weights = unit_weights(self._keys, first, count, self._replicates)
            yield (
                first,
                np.add.reduceat(
                    weights[self._unit_of_row],
                    self._code_starts,
                    axis=0,
                    dtype=np.int64,
                ),
            )


def replicate_sums(
    rows: StatisticsRows,
    members: Memberships,
    units: Codes,
    keys: Keys,
    replicates: int,
) -> pl.DataFrame:
    """Draw bootstrap replicates of the sums of one group.

    Args:
        rows: The statistics; all number columns merge by sum.
        members: The rows of the group's members.
        units: Number of the unit of each of these rows.
        keys: Keys of all units, by number.
        replicates: How many to draw.

    Returns:
        `replicate` (from 0), the metric's keys and the summed columns, without cells
        of which nothing was drawn.
    """
    draws = _UnitDraws(rows, members, units, keys, replicates)
    return pl.concat([_summed(rows, draws, *some) for some in draws])


def replicate_cells(
    rows: StatisticsRows,
    members: Memberships,
    units: Codes,
    keys: Keys,
    replicates: int,
) -> DrawnCounts:
    """Draw bootstrap replicates of the sums of one group, as an array.

    Args:
        rows: The statistics: keys, and one number column that merges by sum.
        members: The rows of the group's members.
        units: Number of the unit of each of these rows.
        keys: Keys of all units, by number.
        replicates: How many to draw.

    Returns:
        The sums, 0 in cells of which nothing was drawn.
    """
    draws = _UnitDraws(rows, members, units, keys, replicates)
    sums = np.empty((replicates, len(draws.cell_starts)))
    for first, drawn in draws:
        found = np.add.reduceat(drawn * draws.values, draws.cell_starts, axis=0)
        sums[first : first + found.shape[1]] = found.T
    cells = draws.cells
    return DrawnCounts((*rows.keys, *rows.columns), cells.rows(), sums, cells.dtypes)


def replicate_merged(
    rows: StatisticsRows,
    members: Memberships,
    units: Codes,
    keys: Keys,
    replicates: int,
    merges: Mapping[str, MergeKind],
) -> pl.DataFrame:
    """Draw bootstrap replicates of statistics that do not all merge by sum.

    Args:
        rows: The statistics.
        members: The rows of the group's members.
        units: Number of the unit of each of these rows.
        keys: Keys of all units, by number.
        replicates: How many to draw.
        merges: How each column merges, where not by sum.

    Returns:
        `replicate` (from 0), the metric's keys and the merged columns.
    """
    present, unit_of_row = np.unique(units, return_inverse=True)
    codes, code_of_row = np.unique(members.code, return_inverse=True)
    by_code = np.argsort(code_of_row, kind="stable")
    starts = _starts(code_of_row[by_code])
    parts = []
    step = max(1, MOST_DRAWS // len(unit_of_row))
    for first in range(0, replicates, step):
        count = min(step, replicates - first)
        weights = unit_weights(keys[present], first, count, replicates)
        drawn = np.add.reduceat(
            weights[unit_of_row[by_code]], starts, axis=0, dtype=np.int64
        ).T
        replicate, code = np.nonzero(drawn)
        cells = CellCounts(replicate + first, codes[code], drawn[replicate, code])
        parts.append(merge_cells(rows, cells, merges))
    return pl.concat(parts).rename({"group": "replicate"})


def _summed(
    rows: StatisticsRows, draws: _UnitDraws, first: int, drawn: NDArray[np.int64]
) -> pl.DataFrame:
    starts = draws.cell_starts
    is_drawn = (np.add.reduceat(drawn, starts, axis=0) > 0).T.ravel()
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
        sums = np.add.reduceat(drawn * draws.values[:, number, None], starts, axis=0)
        columns.append(pl.Series(name, sums.T.ravel()[chosen]))
    return frame_of(columns)


def _sorted_by(numbers: Codes) -> tuple[Codes, Codes]:
    order = np.argsort(numbers, kind="stable")
    return numbers[order], order


def _starts(numbers: Codes) -> Codes:
    return np.flatnonzero(np.diff(numbers, prepend=-1))
