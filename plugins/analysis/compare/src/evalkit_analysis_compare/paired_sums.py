"""Draws the statistics of two models' units together, for the paired bootstrap."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import polars as pl

from evalkit.base.columns import all_named
from evalkit.scoring.table import Units
from evalkit.statistics.clusters import Floats, describe_sizes
from evalkit.statistics.resampling import Keys, unit_weights
from evalkit_analysis_compare.paired_tests import seeded_by

MOST_CELLS = 20_000_000
"""Units times sums beyond which a group is not resampled."""

_MOST_WEIGHTS = 20_000_000
"""Units times replicates that are drawn at a time."""

ROWS = "__rows"
"""Counts rows, to tell a cell of which nothing was drawn from one that sums to 0."""

SUM_REPLICATES = 1_000
"""Replicates of a difference."""

SumPair = tuple[pl.DataFrame, pl.DataFrame]
"""`replicate`, `replication`, the keys and the sums, of either model."""


class UnitSums:
    """Statistics of units, drawn unit by unit.

    Args:
        statistics: Of either model: `example`, `replication`, keys and numbers, of the
            examples of one group.
        keys: Names of the key columns.
        columns: Names of the number columns, which merge by sum.
        units: Says which unit an example belongs to.
    """

    def __init__(
        self,
        statistics: SumPair,
        keys: Sequence[str],
        columns: Sequence[str],
        units: Units,
    ) -> None:
        self._cell_keys = ["replication", *keys]
        self._columns = [*columns, ROWS]
        with_rows = [part.with_columns(pl.lit(1.0).alias(ROWS)) for part in statistics]
        together = pl.concat(
            [part.select(all_named(self._cell_keys)) for part in with_rows]
        )
        self._cells = together.unique().sort(all_named(self._cell_keys))
        examples = np.concatenate([part["example"].to_numpy() for part in statistics])
        every = units.codes[np.unique(examples)]
        present, sizes = np.unique(every, return_counts=True)
        # in the order of their keys, so that sums round alike whatever the rows' order
        order = np.argsort(units.keys[present], kind="stable")
        self._sizes = sizes[order].astype(np.float64)
        self.keys: Keys = units.keys[present[order]]
        self._place = np.zeros(units.count, dtype=np.int64)
        self._place[present[order]] = np.arange(len(present))
        self._codes = units.codes
        self._parts = with_rows

    @property
    def size(self) -> int:
        """How many numbers the statistics of all units are."""
        return len(self.keys) * self._cells.height * len(self._columns)

    @property
    def effective_units(self) -> float:
        """Units of one size that would be as unequal as all of them."""
        return describe_sizes(self._sizes).effective

    def draw(self, replicates: int) -> SumPair:
        """Draw the same units for both models (Poisson bootstrap)."""
        first, second = self._both
        sums = np.empty((2, replicates, first.shape[1]))
        step = max(1, _MOST_WEIGHTS // len(self.keys))
        for start in range(0, replicates, step):
            count = min(step, replicates - start)
            weights = unit_weights(self.keys, start, count)
            drawn = weights.T.astype(np.float64)
            sums[0, start : start + count] = drawn @ first
            sums[1, start : start + count] = drawn @ second
        return self._frame(sums[0]), self._frame(sums[1])

    @property
    def differing(self) -> int:
        """How many units have other statistics by the second model."""
        first, second = self._both
        return int((first != second).any(axis=1).sum())

    def swap(self, swaps: int) -> SumPair:
        """Swap the statistics of about every other unit between the models."""
        first, second = self._both
        further, random = second - first, seeded_by(self.keys.tobytes(), 0)
        moved = np.empty((swaps, first.shape[1]))
        step = max(1, _MOST_WEIGHTS // len(self.keys))
        for start in range(0, swaps, step):
            count = min(step, swaps - start)
            swapped = random.integers(0, 2, (count, len(self.keys)))
            moved[start : start + count] = swapped.astype(np.float64) @ further
        sums = first.sum(axis=0) + moved, second.sum(axis=0) - moved
        return self._frame(sums[0]), self._frame(sums[1])

    @cached_property
    def _both(self) -> tuple[Floats, Floats]:
        first, second = (self._spread(part) for part in self._parts)
        return first, second

    def _spread(self, part: pl.DataFrame) -> Floats:
        """Return the sums of each unit, of shape (units, cells * columns)."""
        numbered = self._cells.with_row_index("__cell")
        # sorted, so that the rounding of a unit's sums does not depend on rows' order
        rows = part.join(
            numbered, on=all_named(self._cell_keys), nulls_equal=True
        ).sort(all_named(["example", "__cell", *self._columns]))
        unit = self._place[self._codes[rows["example"].to_numpy()]]
        cells = self._cells.height
        flat = unit * cells + rows["__cell"].to_numpy().astype(np.int64)
        size = len(self.keys) * cells
        columns = [
            np.bincount(flat, weights=rows[name].to_numpy(), minlength=size)
            for name in self._columns
        ]
        spread = np.stack(columns, axis=-1).reshape(len(self.keys), -1)
        return spread.astype(np.float64)

    def _frame(self, sums: Floats) -> pl.DataFrame:
        width = len(self._columns)
        by_cell = sums.reshape(len(sums), self._cells.height, width)
        replicate, cell = np.nonzero(by_cell[:, :, width - 1] > 0.5)
        found = by_cell[replicate, cell]
        return (
            pl.DataFrame({"replicate": replicate})
            .hstack(self._cells[cell])
            .hstack(
                [
                    pl.Series(name, found[:, number])
                    for number, name in enumerate(self._columns[:-1])
                ]
            )
        )
