"""Counts of label pairs of each group, and replicates that are drawn from them.

What is drawn depends on the pairs alone, and not on the metric whose score is made of
them: its seed is their content. So metrics of label pairs draw it once together, and
each has the interval that it has by itself.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evalkit.base.columns import all_named
from evalkit.inference.cluster_smoothing import (
    UnitRows,
    design_effect,
    numbered_pairs,
    right_shares,
    shortfall,
    smoothed_units,
    widened,
    widening,
)
from evalkit.inference.intervals import Floats
from evalkit.inference.multinomial import (
    DrawnCounts,
    Pair,
    PairCounts,
    as_replicate,
    count_pairs,
    counts_of_one_class,
    replicate_counts,
    smoothed_counts,
)
from evalkit.inference.percentiles import both_percentiles
from evalkit.inference.seeds import generator
from evalkit.scoring.bootstrap import replicate_cells
from evalkit.scoring.counted_rows import CountedRows
from evalkit.scoring.statistics_rows import Codes

MOST_PAIRS = 20_000
"""Pairs of labels up to which counts are drawn from a multinomial."""

MOST_KEPT = 4_000_000
"""Counts of replicates that are kept for further metrics; more are drawn again."""


class DrawnPart(NamedTuple):
    """Replicates of a group, or what they were drawn from."""

    kind: str
    replicates: int
    counts: DrawnCounts


class Reach(NamedTuple):
    """How much wider than percentiles the interval of counts drawn by unit is."""

    factor: float
    """Around the middle of the replicates."""
    below: float
    """Then below the value."""
    above: float
    """And above it."""


class _RightShares(NamedTuple):
    """Shares of right answers in the replicates of a group."""

    drawn: Floats
    """Of each replicate."""
    centre: float
    """Of the smoothed counts that they were drawn from."""


class LabelPairs:
    """Counts the label pairs of each group, and draws replicates of them.

    Args:
        counted: Statistics that are counts of pairs of labels.
    """

    def __init__(self, counted: CountedRows) -> None:
        self._counted = counted
        self._pairs_of: dict[int, PairCounts] = {}
        self._few_pairs: dict[int, bool] = {}
        self._unit_rows: dict[int, UnitRows] = {}
        self._right_shares: dict[int, _RightShares] = {}
        self._reach: dict[tuple[int, float], Reach] = {}
        self._drawn: dict[tuple[int, int], list[DrawnPart]] = {}
        self._kept = 0

    @cached_property
    def are_alone(self) -> bool:
        """Whether each unit is one example that has one pair of labels."""
        return not self._counted.clustered and self._counted.table.repeats == 1

    def of(self, group: int) -> PairCounts:
        """Count the pairs of labels of a group.

        Args:
            group: The group.

        Returns:
            The counts.
        """
        if group not in self._pairs_of:
            codes, counts = self._counted.cells_of(group)
            # where there are very many pairs, equal rows of statistics are not one
            counted = zip(
                (self._pairs[code] for code in codes.tolist()),
                counts.astype(float).tolist(),
                strict=True,
            )
            declared = self._counted.table.context.labels or ()
            self._pairs_of[group] = count_pairs(counted, declared)
        return self._pairs_of[group]

    @cached_property
    def _pairs(self) -> list[Pair]:
        """Gold and predicted label of every distinct row."""
        rows = self._counted.rows
        return rows.distinct.select(all_named(rows.keys[:2])).rows()

    def are_few(self, group: int) -> bool:
        """Tell whether a group has so few pairs of labels that it can be smoothed."""
        if group not in self._few_pairs:  # asked for each score
            self._few_pairs[group] = self._are_few(group)
        return self._few_pairs[group]

    def _are_few(self, group: int) -> bool:
        rows, (codes, _) = self._counted.rows, self._counted.cells_of(group)
        if len(codes) > MOST_PAIRS:  # free texts, which take long as tuples
            different = rows.distinct[codes].select(all_named(rows.keys[:2])).n_unique()
            if different > MOST_PAIRS:
                return False
        pairs = self.of(group)
        return len(pairs.golds) * len(pairs.labels) <= MOST_PAIRS

    def drawn(self, group: int, count: int) -> list[DrawnPart]:
        """Draw replicates of smoothed counts of a group.

        Args:
            group: A group with few pairs.
            count: How many.

        Returns:
            Replicates of kind `drawn` and what they were drawn from, of kind `centre`;
            for a group of one gold label of independent examples also those by which
            it is compared with others.
        """
        if (group, count) in self._drawn:
            return self._drawn[group, count]
        draw = self._drawn_counts if self.are_alone else self._drawn_units
        parts = draw(group, count)
        size = sum(part.counts.counts.size for part in parts)
        if self._kept + size <= MOST_KEPT:
            self._kept += size
            self._drawn[group, count] = parts
        return parts

    def _random(self, group: int) -> np.random.Generator:
        # by content, so that a tag draws what a file of its examples alone draws
        counts = self.of(group).counts
        content = repr([(*pair, count) for pair, count in counts.items()])
        return generator(self._counted.settings.seed, "label pairs", content)

    def _drawn_counts(self, group: int, count: int) -> list[DrawnPart]:
        names = (*self._counted.rows.keys, *self._counted.rows.columns)
        pairs = self.of(group)
        sources = {"": smoothed_counts(pairs)}
        if len(pairs.golds) == 1:
            sources[" of one class"] = counts_of_one_class(pairs)
        parts = []
        for kind, counts in sources.items():
            drawn = replicate_counts(counts, names, count, self._random(group))
            parts.append(DrawnPart(f"drawn{kind}", count, drawn))
            parts.append(DrawnPart(f"centre{kind}", 1, as_replicate(counts, names)))
        return parts

    def _drawn_units(self, group: int, count: int) -> list[DrawnPart]:
        counted = self._counted
        members, units = counted.members_of(group), counted.units
        unit_of_row = units.codes[members.position]
        drawn = replicate_cells(
            counted.rows, members, unit_of_row, units.weights, count
        )
        numbers, are_right = self._numbered_pairs
        rows = UnitRows(unit_of_row, numbers[members.code], are_right[members.code])
        codes, times = counted.cells_of(group)
        # where there are very many pairs, equal rows of statistics are not one
        _, key_of_code = counted.rows.numbered_keys
        _, place = np.unique(key_of_code[codes], return_inverse=True)
        # an example that is added has the same answer in each replication
        effect = design_effect(rows) / counted.table.repeats
        replicates, expected = smoothed_units(
            drawn,
            np.bincount(place, times).astype(np.float64),
            self.of(group),
            max(1.0, effect),
            self._random(group),
        )
        [centre] = right_shares(expected)
        shares = right_shares(replicates)
        self._unit_rows[group] = rows
        self._right_shares[group] = _RightShares(shares[np.isfinite(shares)], centre)
        return [
            DrawnPart("drawn", count, replicates),
            DrawnPart("centre", 1, expected),
        ]

    @cached_property
    def _numbered_pairs(self) -> tuple[Codes, NDArray[np.bool_]]:
        """The number of each distinct row's pair of labels, and whether it is right."""
        rows = self._counted.rows
        return numbered_pairs(rows.distinct, *rows.keys[:2])

    def reach(self, group: int, confidence: float) -> Reach | None:
        """Say how much wider than percentiles the interval of a group has to be.

        Args:
            group: A group that was drawn.
            confidence: Probability of the interval.

        Returns:
            The factors; None where examples were drawn and not units.
        """
        if group not in self._unit_rows:
            return None
        if (group, confidence) not in self._reach:
            rows, shares = self._unit_rows[group], self._right_shares[group]
            factor = widening(rows.units, confidence)
            bounds = both_percentiles(shares.drawn, shares.centre, confidence)
            of_share = widened(bounds, shares.centre, factor)
            below, above = shortfall(rows, of_share, confidence)
            self._reach[group, confidence] = Reach(factor, below, above)
        return self._reach[group, confidence]
