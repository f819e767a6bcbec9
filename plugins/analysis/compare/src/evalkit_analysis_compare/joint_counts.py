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
from evalkit_analysis_compare.replicates import SWAPS

_BLOCK = 500
"""Swaps that are held at a time."""

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
        random = self._random("draws")
        counts = self._cells["n"].to_numpy().astype(np.float64)
        total, golds = int(counts.sum()), self._cells["gold"].unique().sort()
        extra = len(golds) / max(1, len(self._known))
        # a draw of the few that smoothing adds is one of any cell with equal chance
        added = random.binomial(total, extra / (total + extra), size=replicates)
        drawn = random.multinomial(total - added, counts / total)
        number = int(added.sum())
        gold = random.integers(0, len(golds), number)
        a, b = random.integers(0, max(1, len(self._known)), (2, number))
        more = pl.DataFrame(
            {
                "gold": golds.gather(gold),
                "a": self._known.gather(a),
                "b": self._known.gather(b),
            }
        )
        names = ["gold", "a", "b"]
        unique = more.unique().join(self._cells, on=names, how="anti", nulls_equal=True)
        cells = pl.concat([self._cells.select(names), unique.sort(names)])
        numbered = cells.with_row_index("place")
        place = more.join(
            numbered, on=names, how="left", nulls_equal=True, maintain_order="left"
        )["place"]
        every = np.zeros((replicates, cells.height), dtype=np.int64)
        every[:, : len(counts)] = drawn
        replicate = np.repeat(np.arange(replicates), added)
        np.add.at(every, (replicate, place.to_numpy()), 1)
        return self._sides(cells, every, np.zeros_like(every))

    def swaps(self) -> Iterator[tuple[int, SumPair]]:
        """Swap the labels of about every other example between the models."""
        counts, random = self._cells["n"].to_numpy(), self._random("swaps")
        for start in range(0, SWAPS, _BLOCK):
            size = min(_BLOCK, SWAPS - start)
            swapped = random.binomial(counts, 0.5, size=(size, len(counts)))
            yield size, self._sides(self._cells, counts - swapped, swapped)

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
