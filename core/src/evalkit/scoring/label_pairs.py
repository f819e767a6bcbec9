"""Counts of label pairs of each group, and replicates that are drawn from them.

What is drawn depends on the pairs alone, and not on the metric whose score is made of
them: its seed is their content. So metrics of label pairs draw it once together, and
each has the interval that it has by itself.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import polars as pl

from evalkit.base.columns import all_named
from evalkit.scoring.bootstrap import DrawnCounts
from evalkit.scoring.evidence import Evidence
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


class LabelPairs:
    """Counts the label pairs of each group, and draws replicates of them."""

    def __init__(self, counted: Evidence) -> None:
        self._counted = counted
        self._pairs_of: dict[int, PairCounts] = {}
        self._few_pairs: dict[int, bool] = {}
        self._drawn: dict[int, DrawnCounts] = {}
        self._kept = 0

    @cached_property
    def are_alone(self) -> bool:
        """Whether each unit is one example that has one pair of labels."""
        return not self._counted.clustered and self._counted.repeats == 1

    def of(self, group: int) -> PairCounts:
        """Count the pairs of labels of a group."""
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

    def drawn(self, group: int, count: int) -> DrawnCounts:
        """Draw replicates of smoothed counts of a group with few pairs.

        The last row are the counts that they were drawn from.
        """
        if group in self._drawn:
            return self._drawn[group]
        rows, pairs = self._counted.rows, self.of(group)
        smoothed = smoothed_counts(pairs)
        # by content, so that a tag draws what a file of its examples alone draws
        content = repr([(*pair, times) for pair, times in pairs.counts.items()])
        random = generator(self._counted.settings.seed, "label pairs", content)
        counts = draw_pairs(smoothed, count, random)
        schema = dict.fromkeys(rows.keys, pl.String)
        drawn = DrawnCounts(
            pl.DataFrame(list(smoothed), schema, orient="row"),
            rows.columns[0],
            np.vstack([counts, [*smoothed.values()]]),
        )
        if self._kept + drawn.counts.size <= MOST_KEPT:
            self._kept += drawn.counts.size
            self._drawn[group] = drawn
        return drawn


class SharedPairs:
    """Keeps the label pairs that were counted and drawn last."""

    def __init__(self) -> None:
        self._kept: list[tuple[Evidence, LabelPairs]] = []

    def pairs_of(self, counts: Evidence) -> LabelPairs:
        """Return the label pairs of a tally, those of an equal one where it is kept."""
        for known, pairs in self._kept:
            if known.is_same(counts):
                return pairs
        pairs = LabelPairs(counts)
        self._kept = [*self._kept[-1:], (counts, pairs)]
        return pairs
