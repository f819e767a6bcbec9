"""Draws and swaps the counts of two models' labels together.

For metrics that are computed from counts of gold and predicted labels, such as
macro-F1, examples with the same three labels (gold, first's, second's) are alike.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import NamedTuple

import numpy as np
import polars as pl

from evalkit.base.columns import all_named, named
from evalkit.inference.intervals import Floats, Integers
from evalkit.inference.seeds import generator
from evalkit_analysis_compare.paired_sums import MOST_STATES, SumPair

_MOST_COUNTS = 4_000_000
"""Counts of labels that are computed at a time."""

_SWAP_BLOCK = 1_000
"""Swaps that one generator gives."""


class Labels(NamedTuple):
    """Names of the columns that hold gold and predicted label, and of the counts."""

    gold: str
    predicted: str
    counts: str


class JointCounts:
    """Counts of (gold label, first's label, second's label) of one group."""

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
        joint = first.select("example", gold=named(gold), a=named(predicted)).join(
            second.select("example", b=named(predicted)), on="example"
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

    @cached_property
    def _swappable(self) -> pl.DataFrame:
        """How many examples with each two different labels there are."""
        a, b = pl.col("a"), pl.col("b")
        # no label at all comes last
        turned = a.is_null() | (a > b).fill_null(value=False)
        return (
            self._cells.filter(a.ne_missing(b))
            .with_columns(
                a=pl.when(turned).then(b).otherwise(a),
                b=pl.when(turned).then(a).otherwise(b),
            )
            .group_by("gold", "a", "b")
            .agg(pl.col("n").sum().cast(pl.Int64))
            .sort("gold", "a", "b")
        )

    @property
    def effective_differing(self) -> float:
        """The same number as `differing`, as examples are all of one size."""
        return float(self.differing)

    @property
    def differing(self) -> int:
        """The number of examples that the models label differently."""
        return int(self._swappable["n"].sum())

    def all_swaps(self) -> tuple[SumPair, Floats] | None:
        """Swap in every way, with the share of each; None where there are too many.

        Of the examples with one gold label and two labels of the models, only how many
        have the one label from the first model counts, which is binomial.
        """
        cells = self._swappable
        totals = cells["n"].to_list()
        ways_of = [total + 1 for total in totals]
        if math.prod(ways_of) > MOST_STATES:
            return None
        states = np.indices(ways_of).reshape(len(totals), math.prod(ways_of)).T
        shares = np.ones(len(states))
        for place, total in enumerate(totals):
            ways = [math.comb(total, count) / 2**total for count in range(total + 1)]
            shares = shares * np.array(ways)[states[:, place]]
        same = self._cells.filter(pl.col("a").eq_missing(pl.col("b")))
        kept = np.broadcast_to(same["n"].to_numpy(), (len(shares), same.height))
        rest = np.array(totals, dtype=np.int64) - states
        both = pl.concat([part.select("gold", "a", "b") for part in (same, cells)])
        straight = np.concatenate([kept, states], axis=1)
        turned = np.concatenate([np.zeros_like(kept), rest], axis=1)
        return self._exchanged(both, straight, turned), shares

    def swap(self, start: int, replicates: int) -> SumPair:
        """Swap the labels of about every other example between the models."""
        counts = self._cells["n"].to_numpy()
        end = start + replicates
        blocks = range(start // _SWAP_BLOCK, -(-end // _SWAP_BLOCK))
        drawn = np.concatenate([self._swap_block(number) for number in blocks])
        before = start - blocks[0] * _SWAP_BLOCK
        swapped = drawn[before : before + replicates]
        return self._exchanged(self._cells, counts - swapped, swapped)

    def _exchanged(
        self, cells: pl.DataFrame, straight: Integers, turned: Integers
    ) -> SumPair:
        """Count labels where examples of each cell keep or exchange them, by swap."""
        gold, predicted, counts = self._labels
        names = pl.concat([cells.select("gold", label=model) for model in ("a", "b")])
        tables = names.unique().sort("gold", "label").with_row_index("place")
        into = np.zeros((2, cells.height, tables.height))
        for number, model in enumerate(("a", "b")):
            places = cells.select("gold", label=model).join(
                tables,
                on=["gold", "label"],
                how="left",
                nulls_equal=True,
                maintain_order="left",
            )["place"]
            into[number, np.arange(cells.height), places.to_numpy()] = 1.0
        keys = tables.select(
            pl.col("gold").alias(gold), pl.col("label").alias(predicted)
        )
        first, second = (
            self._counted(straight, turned, one, other, keys, counts)
            for one, other in ((into[0], into[1]), (into[1], into[0]))
        )
        return first, second

    def _counted(
        self,
        straight: Integers,
        turned: Integers,
        own: Floats,
        others: Floats,
        keys: pl.DataFrame,
        counts: str,
    ) -> pl.DataFrame:
        """Return one model's counts of each swap."""
        step = max(1, _MOST_COUNTS // max(1, len(keys)))
        parts = []
        for start in range(0, len(straight), step):
            some = slice(start, start + step)
            found = straight[some] @ own + turned[some] @ others
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

    def _swap_block(self, number: int) -> Integers:
        counts = self._cells["n"].to_numpy()
        random = self._random("swaps", *([str(number)] if number else []))
        return random.binomial(counts, 0.5, size=(_SWAP_BLOCK, len(counts)))

    def _random(self, purpose: str, *block: str) -> np.random.Generator:
        seed, *parts = self._seed_parts
        return generator(seed, "comparison", purpose, *parts, *block)

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
            .sort(all_named(["replicate", gold, predicted]))
            .with_columns(replication=pl.lit(0, dtype=pl.Int64))
            for predicted_by in (
                pl.col("a").alias(predicted),
                pl.col("b").alias(predicted),
            )
        )
        return first, second
