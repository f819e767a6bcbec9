"""Smoothing of the label pairs of originals and copies that are drawn together.

Drawing originals again never shows an answer that changed where none of the sample did.
So each replicate gets some examples more: with K labels, Poisson(1/K³) of each gold
label of the group, answer to the original and answer to its copies, as the comparison
of two models has it. An added original has as many copies as originals have on average,
which all get the same answer; where originals stand in clusters, it counts as much as
the design effect says.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from evalkit.base.columns import named, unnamed
from evalkit.inference.cluster_smoothing import (
    UnitRows,
    added_examples,
    design_effect,
    numbered_pairs,
    with_added,
)
from evalkit.inference.intervals import Integers

Sides = tuple[pl.DataFrame, pl.DataFrame]
"""Of the originals, then of the copies."""


class PairColumns(NamedTuple):
    """Names of the columns of label pairs."""

    gold: str
    predicted: str
    counts: str


class PairSmoothing:
    """Adds examples to the replicates of one group.

    Args:
        statistics: Label pairs of originals and copies: `example`, the number of the
            original, and the three columns, one row for each.
        columns: Names of the columns.
        units: The unit that each example is drawn with, by its number.
        declared: The labels that the data set declares.
    """

    def __init__(
        self,
        statistics: Sides,
        columns: PairColumns,
        units: Integers,
        declared: Sequence[str],
    ) -> None:
        self._columns = columns
        self._golds = [
            unnamed(part[columns.gold]).unique().sort().alias(columns.gold)
            for part in statistics
        ]
        seen = [
            part[name].alias("label") for part in statistics for name in columns[:2]
        ]
        known = pl.Series("label", list(map(str, declared)), dtype=pl.String)
        self._labels = pl.concat([known, *seen]).drop_nulls().unique().sort()
        before = statistics[0]
        numbers, are_right = numbered_pairs(before, columns.gold, columns.predicted)
        self.rows = UnitRows(units[before["example"].to_numpy()], numbers, are_right)
        originals = before["example"].n_unique()
        counted = [float(part[columns.counts].sum()) / originals for part in statistics]
        effect = max(1.0, design_effect(self.rows) / counted[0])
        self._masses = [effect * each for each in counted]

    def __call__(
        self, drawn: pl.DataFrame, replicates: int, random: np.random.Generator
    ) -> pl.DataFrame:
        """Add examples.

        Args:
            drawn: `replicate`, `replication`, and the three columns: replicates of the
                originals from 0, then as many of the copies.
            replicates: How many replicates there are of each.
            random: Where the numbers come from.

        Returns:
            The same with more counts.
        """
        gold, predicted, counts = self._columns
        added = added_examples(
            self._golds[0], self._labels, ["before", "after"], replicates, random
        )
        # what is transformed may have other answers than the originals have
        other = self._golds[1].gather(
            random.integers(0, len(self._golds[1]), added.height)
        )
        own = named(gold)
        is_seen = own.is_in(self._golds[1].implode(), nulls_equal=True)
        sides = [
            added.select(
                "replicate",
                named(gold),
                pl.col("before").alias(predicted),
                pl.lit(self._masses[0]).alias(counts),
            ),
            added.select(
                pl.col("replicate") + replicates,
                pl.when(is_seen).then(own).otherwise(other).alias(gold),
                pl.col("after").alias(predicted),
                pl.lit(self._masses[1]).alias(counts),
            ),
        ]
        more = pl.concat(sides).with_columns(replication=pl.lit(0, dtype=pl.Int64))
        keys = ["replicate", "replication", gold, predicted]
        return with_added(drawn, more, keys, counts)


def are_label_pairs(statistics: Sides, keys: Sequence[str]) -> bool:
    """Tell whether statistics are counts of label pairs, one row for each answer."""
    return all(
        len(keys) == 2
        and part.height == part["position"].n_unique()
        and all(part[key].dtype == pl.String for key in keys)
        for part in statistics
    )


def count_changed(statistics: Sides, predicted: str) -> int:
    """Count the originals of which a copy has another answer.

    Args:
        statistics: `example` and the predicted label of originals and copies.
        predicted: Name of the column of predicted labels.

    Returns:
        How many there are.
    """
    before, after = (
        part.select("example", label=named(predicted)).unique() for part in statistics
    )
    changed = after.join(before, on=["example", "label"], how="anti", nulls_equal=True)
    return changed["example"].n_unique()


def right_differences(statistics: Sides, columns: PairColumns) -> pl.DataFrame:
    """Return how much less often the copies of each original are answered rightly.

    Args:
        statistics: `example` and the columns of originals and copies.
        columns: Names of the columns.

    Returns:
        `example` and `difference`, -1 to 1, one row for each original with copies,
        sorted.
    """
    is_right = named(columns.gold).eq_missing(named(columns.predicted))
    before, after = (
        part.group_by("example").agg(right=is_right.mean()) for part in statistics
    )
    both = before.join(after, on="example", suffix="_after").sort("example")
    return both.select("example", difference=pl.col("right") - pl.col("right_after"))
