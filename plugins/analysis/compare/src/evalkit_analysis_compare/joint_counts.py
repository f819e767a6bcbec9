"""Draws and swaps the counts of two models' labels together.

For metrics that are computed from counts of gold and predicted labels, such as
macro-F1, examples with the same three labels (gold, first's, second's) are alike. All
that is drawn is seeded by these counts in an order that does not depend on which run is
the first, so that `compare a b` and `compare b a` say the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import polars as pl

from evalkit.base.columns import named
from evalkit.statistics.clusters import Floats, Integers
from evalkit_analysis_compare.paired_sums import SumPair
from evalkit_analysis_compare.paired_tests import seeded_by

SWAPS = 1_999
"""Random swaps of a test."""

_MOST_COUNTS = 4_000_000
"""Counts of labels that are computed at a time."""


class Labels(NamedTuple):
    """Names of the columns that hold gold and predicted label, and of the counts."""

    gold: str
    predicted: str
    counts: str


class JointCounts:
    """Counts of (gold label, first's label, second's label) of one group.

    Args:
        statistics: The label pairs of either model.
        labels: Names of their columns.
        known: All labels that a prediction may be of, sorted.
        seed: The user's seed.
    """

    def __init__(
        self, statistics: SumPair, labels: Labels, known: pl.Series, seed: int
    ) -> None:
        self._labels, self._known, self._seed = labels, known, seed
        gold, predicted, _ = labels
        first, second = statistics
        joint = first.select("example", gold=named(gold), a=named(predicted)).join(
            second.select("example", b=named(predicted)), on="example"
        )
        cells = joint.group_by("gold", "a", "b").len("n").sort("gold", "a", "b")
        other = cells.select("gold", a="b", b="a", n="n").sort("gold", "a", "b")
        self._is_turned = repr(other.rows()) < repr(cells.rows())
        self._cells = other if self._is_turned else cells

    @property
    def differing(self) -> int:
        """The number of examples that the models label differently."""
        return int(self._cells.filter(pl.col("a").ne_missing(pl.col("b")))["n"].sum())

    def draw(self, replicates: int) -> SumPair:
        """Draw as many examples again from the smoothed shares of the cells.

        Of K labels, each cell of a gold label and two predicted ones gets 1/K³, so that
        each model's cell of gold and predicted label gets 1/K².
        """
        golds = self._cells["gold"].unique().sort()
        labels = self._known
        every = (
            golds.to_frame("gold")
            .join(labels.to_frame("a"), how="cross")
            .join(labels.to_frame("b"), how="cross")
        )
        extra = len(labels) ** -3.0
        smoothed = (
            pl.concat(
                [
                    self._cells.with_columns(pl.col("n").cast(pl.Float64)),
                    every.with_columns(n=pl.lit(extra)),
                ]
            )
            .group_by("gold", "a", "b")
            .agg(pl.col("n").sum())
            .sort("gold", "a", "b")
        )
        weights = smoothed["n"].to_numpy()
        total = int(self._cells["n"].sum())
        random = self._random("draws")
        drawn = random.multinomial(total, weights / weights.sum(), size=replicates)
        return self._sides(smoothed, drawn, np.zeros_like(drawn))

    def swap(self) -> SumPair:
        """Swap the labels of about every other example between the models."""
        counts = self._cells["n"].to_numpy()
        swapped = self._random("swaps").binomial(counts, 0.5, size=(SWAPS, len(counts)))
        return self._sides(self._cells, counts - swapped, swapped)

    def _random(self, purpose: str) -> np.random.Generator:
        content = f"{purpose}{self._cells.rows()!r}{self._known.to_list()!r}"
        return seeded_by(content.encode("utf-8", "surrogatepass"), self._seed)

    def _sides(
        self, cells: pl.DataFrame, straight: Integers, turned: Integers
    ) -> SumPair:
        """Count labels where examples of each cell keep or exchange them."""
        names = pl.concat([cells.select("gold", label=model) for model in ("a", "b")])
        tables = names.unique().sort("gold", "label").with_row_index("place")
        places = [
            cells.select("gold", label=model)
            .join(
                tables,
                on=["gold", "label"],
                how="left",
                nulls_equal=True,
                maintain_order="left",
            )["place"]
            .to_numpy()
            for model in ("a", "b")
        ]
        one, other = (
            self._frame(tables, straight, turned, own, others)
            for own, others in (places, places[::-1])
        )
        return (other, one) if self._is_turned else (one, other)

    def _frame(
        self,
        tables: pl.DataFrame,
        straight: Integers,
        turned: Integers,
        own: Integers,
        others: Integers,
    ) -> pl.DataFrame:
        """Return one model's counts of each replicate."""
        gold, predicted, counts = self._labels
        keys = tables.select(
            pl.col("gold").alias(gold), pl.col("label").alias(predicted)
        )
        parts = []
        for start, found in self._counted(straight, turned, own, others, tables.height):
            replicate, place = np.nonzero(found)
            parts.append(
                pl.DataFrame({"replicate": replicate + start})
                .hstack(keys[place])
                .with_columns(
                    pl.Series(counts, found[replicate, place]),
                    replication=pl.lit(0, dtype=pl.Int64),
                )
            )
        return pl.concat(parts)

    def _counted(
        self,
        straight: Integers,
        turned: Integers,
        own: Integers,
        others: Integers,
        width: int,
    ) -> Iterator[tuple[int, Floats]]:
        into = np.zeros((2, straight.shape[1], width))
        cells = np.arange(straight.shape[1])
        into[0, cells, own] = 1.0
        into[1, cells, others] = 1.0
        step = max(1, _MOST_COUNTS // max(1, width))
        for start in range(0, len(straight), step):
            some = slice(start, start + step)
            yield start, straight[some] @ into[0] + turned[some] @ into[1]
