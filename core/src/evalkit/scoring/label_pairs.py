"""Counts of label pairs of each group, and replicates that are drawn from them.

What is drawn depends on the pairs alone, and not on the metric whose score is made of
them: its seed is their content. So metrics of label pairs draw it once together, and
each has the interval that it has by itself.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from evalkit.base.columns import all_named
from evalkit.scoring.counted_tally import CountedTally
from evalkit.scoring.drawn_counts import DrawnCounts, as_replicate
from evalkit.statistics.label_pairs import (
    Pair,
    PairCounts,
    count_pairs,
    draw_pairs,
    smoothed_counts,
)
from evalkit.statistics.resampling import generator

MOST_PAIRS = 20_000
"""Pairs of labels up to which counts are drawn from a multinomial."""

MOST_KEPT = 4_000_000
"""Counts of replicates that are kept for further metrics; more are drawn again."""


class DrawnPart(NamedTuple):
    """Replicates of a group, or the counts that they were drawn from."""

    kind: str
    replicates: int
    counts: DrawnCounts


class LabelPairs:
    """Counts the label pairs of each group, and draws replicates of them.

    Args:
        counted: Statistics that are counts of pairs of labels.
    """

    def __init__(self, counted: CountedTally) -> None:
        self._counted = counted
        self._pairs_of: dict[int, PairCounts] = {}
        self._few_pairs: dict[int, bool] = {}
        self._drawn: dict[tuple[int, int], list[DrawnPart]] = {}
        self._kept = 0

    @cached_property
    def are_alone(self) -> bool:
        """Whether each unit is one example that has one pair of labels."""
        return not self._counted.clustered and self._counted.repeats == 1

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
            declared = self._counted.context.labels or ()
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
            group: A group with few pairs, of independent examples.
            count: How many.

        Returns:
            Replicates of kind `drawn` and the counts they were drawn from, of kind
            `centre`.
        """
        if (group, count) in self._drawn:
            return self._drawn[group, count]
        names = (*self._counted.rows.keys, *self._counted.rows.columns)
        pairs = self.of(group)
        smoothed = smoothed_counts(pairs)
        # by content, so that a tag draws what a file of its examples alone draws
        content = repr([(*pair, times) for pair, times in pairs.counts.items()])
        random = generator(self._counted.settings.seed, "label pairs", content)
        counts = draw_pairs(smoothed, count, random)
        parts = [
            DrawnPart("drawn", count, DrawnCounts(names, list(smoothed), counts)),
            DrawnPart("centre", 1, as_replicate(smoothed, names)),
        ]
        size = sum(np.size(part.counts.counts) for part in parts)
        if self._kept + size <= MOST_KEPT:
            self._kept += size
            self._drawn[group, count] = parts
        return parts


class SharedPairs:
    """Keeps the label pairs that were counted and drawn last."""

    def __init__(self) -> None:
        self._kept: list[tuple[CountedTally, LabelPairs]] = []

    def pairs_of(self, counts: CountedTally) -> LabelPairs:
        """Return the label pairs of a tally, those of an equal one where it is kept."""
        for known, pairs in self._kept:
            if known.is_same(counts):
                return pairs
        pairs = LabelPairs(counts)
        self._kept = [*self._kept[-1:], (counts, pairs)]
        return pairs
