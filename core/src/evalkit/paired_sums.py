"""Draws and swaps the statistics of two models' examples together.

A replicate draws the same units for both models, or swaps which of the two a unit's
statistics belong to; then the sums of every replicate are finalised.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
import polars as pl

from evalkit.intervals import Floats, Integers
from evalkit.resampling import (
    FEWEST_POISSON_UNITS,
    Keys,
    exact_weights,
    poisson_weights,
)
from evalkit.seeds import generator
from evalkit.sign_flips import swaps

MOST_CELLS = 20_000_000
"""Units times sums beyond which a group is not resampled."""

_MOST_WEIGHTS = 20_000_000
"""Units times replicates that are drawn at a time."""

ROWS = "__rows"
"""Counts rows, to tell a cell of which nothing was drawn from one that sums to 0."""

SumPair = tuple[pl.DataFrame, pl.DataFrame]
"""`replicate`, `replication`, the keys and the sums, of either model."""


class Sampled(Protocol):
    """Says what is drawn."""

    @property
    def units(self) -> Integers:
        """The unit that each example belongs to, from 0."""

    @property
    def keys(self) -> Keys:
        """The key of each unit."""


class UnitSums:
    """Statistics of units, drawn or swapped unit by unit.

    Args:
        statistics: Of either model: `example`, `replication`, keys and numbers, of the
            examples of one group.
        keys: Names of the key columns.
        columns: Names of the number columns, which merge by sum.
        pair: Says which unit an example belongs to.
    """

    def __init__(
        self,
        statistics: SumPair,
        keys: Sequence[str],
        columns: Sequence[str],
        pair: Sampled,
    ) -> None:
        self._cell_keys = ["replication", *keys]
        self._columns = [*columns, ROWS]
        with_rows = [part.with_columns(pl.lit(1.0).alias(ROWS)) for part in statistics]
        together = pl.concat([part.select(self._cell_keys) for part in with_rows])
        self._cells = together.unique().sort(self._cell_keys)
        examples = np.concatenate([part["example"].to_numpy() for part in statistics])
        units = np.unique(pair.units[examples])
        # in the order of their keys, so that sums round alike whatever the rows' order
        self._units = units[np.argsort(pair.keys[units], kind="stable")]
        self.keys: Keys = pair.keys[self._units]
        self._place = np.zeros(len(pair.keys), dtype=np.int64)
        self._place[self._units] = np.arange(len(self._units))
        self._all_units = pair.units
        self._parts = with_rows

    @property
    def size(self) -> int:
        """How many numbers the statistics of all units are."""
        return len(self.keys) * self._cells.height * len(self._columns)

    def draw(self, replicates: int) -> SumPair:
        """Draw the same units for both models (Poisson bootstrap)."""
        first, second = (self._spread(part) for part in self._parts)
        sums = np.empty((2, replicates, first.shape[1]))
        step = max(1, _MOST_WEIGHTS // len(self.keys))
        few = len(self.keys) < FEWEST_POISSON_UNITS
        all_weights = exact_weights(self.keys, replicates) if few else None
        for start in range(0, replicates, step):
            count = min(step, replicates - start)
            if all_weights is None:
                weights = poisson_weights(self.keys, start, count)
            else:
                weights = all_weights[:, start : start + count]
            drawn = weights.T.astype(np.float64)
            sums[0, start : start + count] = drawn @ first
            sums[1, start : start + count] = drawn @ second
        return self._frame(sums[0]), self._frame(sums[1])

    def swap(self, replicates: int) -> SumPair:
        """Swap the statistics of about every other unit between the models."""
        first, second = (self._spread(part) for part in self._parts)
        totals = first.sum(axis=0), second.sum(axis=0)
        moved = np.empty((replicates, first.shape[1]))
        step = max(1, _MOST_WEIGHTS // len(self.keys))
        for start in range(0, replicates, step):
            count = min(step, replicates - start)
            swapped = swaps(self.keys, start, count).T.astype(np.float64)
            moved[start : start + count] = swapped @ (second - first)
        return self._frame(totals[0] + moved), self._frame(totals[1] - moved)

    def _spread(self, part: pl.DataFrame) -> Floats:
        """Give the sums of each unit, of shape (units, cells * columns)."""
        numbered = self._cells.with_row_index("__cell")
        # sorted, so that the rounding of a unit's sums does not depend on rows' order
        rows = part.join(numbered, on=self._cell_keys, nulls_equal=True).sort(
            "example", "__cell", *self._columns
        )
        unit = self._place[self._all_units[rows["example"].to_numpy()]]
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


class Labels(NamedTuple):
    """Names of the columns that hold gold and predicted label, and of the counts."""

    gold: str
    predicted: str
    counts: str


class JointCounts:
    """Counts of (gold label, first's label, second's label) of one group.

    Args:
        statistics: Of either model: `example`, the two labels and a count of 1.
        labels: Names of the columns.
        known: All labels that a prediction may be of.
        seed_parts: The seed, and the metric that the numbers are drawn for.
    """

    def __init__(
        self,
        statistics: SumPair,
        labels: Labels,
        known: pl.Series,
        seed_parts: tuple[int, str],
    ) -> None:
        self._labels = labels
        self._seed_parts = seed_parts
        gold, predicted = labels.gold, labels.predicted
        first, second = statistics
        joint = first.select("example", gold=gold, a=predicted).join(
            second.select("example", b=predicted), on="example"
        )
        self._cells = joint.group_by("gold", "a", "b").len("n").sort("gold", "a", "b")
        self._golds = self._cells["gold"].unique().sort()
        self._answers = known

    def draw(self, replicates: int) -> SumPair:
        """Draw as many examples again from the smoothed shares of the cells.

        Of K labels, each cell of a gold label and two predicted ones gets 1/K³ (so
        each model's cell of gold and predicted label 1/K²). Without it a rare class
        that no model misses would not be missed in any replicate.
        """
        random = self._random("draws")
        counts = self._cells["n"].to_numpy().astype(np.float64)
        n = int(counts.sum())
        extra_mass = len(self._golds) / max(1, len(self._answers))
        # a draw of the few that smoothing adds is one of any cell with equal chance
        added = random.binomial(n, extra_mass / (n + extra_mass), size=replicates)
        draws = random.multinomial(n - added, counts / n)
        replicate = np.repeat(np.arange(replicates), added)
        total = len(replicate)
        gold = random.integers(0, len(self._golds), total)
        a, b = random.integers(0, max(1, len(self._answers)), (2, total))
        extra = pl.DataFrame(
            {
                "replicate": replicate,
                "gold": self._golds.gather(gold),
                "a": self._answers.gather(a),
                "b": self._answers.gather(b),
                "n": np.ones(total),
            }
        )
        return self._sides(pl.concat([self._long(draws, self._cells), extra]))

    def swap(self, replicates: int) -> SumPair:
        """Swap the labels of about every other example between the models."""
        counts = self._cells["n"].to_numpy()
        swapped = self._random("swaps").binomial(
            counts, 0.5, size=(replicates, len(counts))
        )
        turned = self._cells.select("gold", a="b", b="a")
        kept = self._long(counts - swapped, self._cells)
        return self._sides(pl.concat([kept, self._long(swapped, turned)]))

    def _random(self, purpose: str) -> np.random.Generator:
        seed, *parts = self._seed_parts
        return generator(seed, "comparison", purpose, *parts)

    def _long(self, draws: Integers, cells: pl.DataFrame) -> pl.DataFrame:
        replicate, cell = np.nonzero(draws)
        counted = pl.Series("n", draws[replicate, cell].astype(np.float64))
        return (
            pl.DataFrame({"replicate": replicate})
            .hstack(cells.select("gold", "a", "b")[cell])
            .with_columns(counted)
        )

    def _sides(self, drawn: pl.DataFrame) -> SumPair:
        gold, predicted, counts = self._labels
        first, second = (
            drawn.group_by("replicate", pl.col("gold").alias(gold), predicted_by)
            .agg(pl.col("n").sum().alias(counts))
            .sort("replicate", gold, predicted)
            .with_columns(replication=pl.lit(0, dtype=pl.Int64))
            for predicted_by in (
                pl.col("a").alias(predicted),
                pl.col("b").alias(predicted),
            )
        )
        return first, second
