"""Replicates of the sums of each group, from which intervals are made.

Counts of label pairs are drawn from a smoothed multinomial, or by unit and smoothed
too where units have several rows; other sums are drawn by unit. In large groups, where
drawing takes long and adds nothing, there are none; for label pairs only where no label
is rare.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from evalkit.base.columns import all_named, named
from evalkit.inference import draw_counts
from evalkit.inference.cluster_smoothing import (
    UnitRows,
    design_effect,
    numbered_pairs,
    right_shares,
    smoothed_units,
)
from evalkit.inference.intervals import Floats
from evalkit.inference.multinomial import (
    Pair,
    PairCounts,
    count_pairs,
    counts_frame,
    counts_of_one_class,
    replicate_counts,
    smoothed_counts,
)
from evalkit.inference.seeds import generator
from evalkit.scoring.bootstrap import replicate_merged, replicate_sums
from evalkit.scoring.evidence import Evidence, interval_kind
from evalkit.scoring.finalization import FinalizedReplicates, finalize_replicates
from evalkit.scoring.influence import MOST_ENTRIES
from evalkit.scoring.records import Advance
from evalkit.scoring.statistics_rows import Codes

REPLICATES = draw_counts.DRAWS_OF_SUMS

MOST_RESAMPLED = 20_000
"""Rows of a group beyond which the delta method takes the place of resampling."""

MOST_KEPT = 10_000
"""Rows of a group beyond which values that are kept are resampled only on request."""

LEAST_OF_EACH = 100
"""Hits, misses and false alarms that each label of such a group must have."""

MOST_PAIRS = 20_000
"""Pairs of labels up to which counts are drawn from a multinomial."""


class RightShares(NamedTuple):
    """Shares of right answers in the replicates of a group."""

    drawn: Floats
    """Of each replicate."""
    centre: float
    """Of the smoothed counts that they were drawn from."""


class GroupReplicates:
    """Draws replicates of the sums of one metric, when they are first asked for.

    Args:
        evidence: What its scores were computed from.
        advance: Told about progress.

    Attributes:
        count: How many replicates a group has.
    """

    def __init__(self, evidence: Evidence, advance: Advance) -> None:
        self._evidence = evidence
        self._advance = advance
        self.count = REPLICATES
        self._counted: dict[int, PairCounts] = {}
        self._smoothed: dict[int, pl.DataFrame] = {}
        self._unit_rows: dict[int, UnitRows] = {}
        self._right_shares: dict[int, RightShares] = {}

    def of(self, group: int) -> FinalizedReplicates | None:
        """Return the replicates of a group; None where none are drawn of it.

        Args:
            group: The group.
        """
        return self._drawn.get(group)

    def is_smoothed(self, group: int) -> bool:
        """Tell whether a group's replicates are of smoothed counts.

        Args:
            group: A group that has replicates.
        """
        return group in self._smoothed

    def centre(self, group: int, score: str) -> float | None:
        """Return the score of the smoothed counts that replicates are drawn from.

        Args:
            group: The group.
            score: Name of the score within the metric.

        Returns:
            The score; None where nothing was smoothed, or it is undefined.
        """
        found = self._centres.get(group, FinalizedReplicates({})).values.get(score)
        return None if found is None else float(found[0])

    def of_one_class(self, group: int) -> tuple[Floats, float] | None:
        """Give replicates by which a group of one gold label is compared with others.

        Args:
            group: The group.

        Returns:
            The main score of the replicates that have one, and that of the counts that
            they were drawn from; None for other groups, or without such a score.
        """
        drawn, centres = self._one_class
        values = drawn.get(group, FinalizedReplicates({})).values.get("")
        found = centres.get(group, FinalizedReplicates({})).values.get("")
        if values is None or found is None or len(values) < self.count / 2:
            return None
        return values, float(found[0])

    def unit_rows(self, group: int) -> UnitRows | None:
        """Return the rows of label pairs that were drawn by unit.

        Args:
            group: A group that has replicates.

        Returns:
            The rows; None where examples were drawn, or the sums are no label pairs.
        """
        return self._unit_rows.get(group)

    def right_shares(self, group: int) -> RightShares | None:
        """Return the shares of right answers in replicates that were drawn by unit.

        Args:
            group: A group that has replicates.

        Returns:
            The shares; None where `unit_rows` is None.
        """
        return self._right_shares.get(group)

    @cached_property
    def _drawn(self) -> dict[int, FinalizedReplicates]:
        finalizer = self._evidence.finalizer
        return finalize_replicates(finalizer, self._parts(), self.count)

    @cached_property
    def _centres(self) -> dict[int, FinalizedReplicates]:
        """The scores of the smoothed counts, which drawing replicates makes."""
        parts = (
            (group, self._smoothed[group].with_columns(replicate=pl.lit(0)))
            for group in self._drawn
            if group in self._smoothed
        )
        return finalize_replicates(self._evidence.finalizer, parts, 1)

    @cached_property
    def _one_class(
        self,
    ) -> tuple[Mapping[int, FinalizedReplicates], Mapping[int, FinalizedReplicates]]:
        evidence = self._evidence
        parts, centres = [], []
        for group in self._drawn:
            if not self.draws_counts(group) or len(self.pairs_of(group).golds) > 1:
                continue
            keys, [column] = evidence.rows.keys, evidence.rows.columns
            counts = counts_of_one_class(self.pairs_of(group))
            random = self._random(group)
            drawn = replicate_counts(counts, keys, column, self.count, random)
            parts.append((group, drawn))
            frame = counts_frame(counts, keys, column).with_columns(replicate=pl.lit(0))
            centres.append((group, frame))
        return (
            finalize_replicates(evidence.finalizer, parts, self.count),
            finalize_replicates(evidence.finalizer, centres, 1),
        )

    def _parts(self) -> Iterator[tuple[int, pl.DataFrame]]:
        evidence = self._evidence
        for group, tag in enumerate(evidence.groups.tags):
            if evidence.n[group] < 2:
                continue
            if evidence.clustered and (evidence.n_clusters(group) or 0) < 2:
                continue
            self._advance(f"{evidence.metric.name}: {tag or 'all'}")
            is_large = int(evidence.cells_of(group)[1].sum()) > MOST_RESAMPLED
            if not evidence.merges_by_sum:
                if self._can_be_merged(group):
                    yield group, self._drawn_units(group)
            elif self.draws_counts(group):
                if not (is_large and self._is_smooth(group)):
                    yield group, self._drawn_counts(group)
            elif not is_large:
                yield group, self._drawn_units(group)

    def _can_be_merged(self, group: int) -> bool:
        """Tell whether replicates of statistics that are no sums say something."""
        evidence = self._evidence
        if evidence.merges_by_extremes:
            return False
        few = int(evidence.cells_of(group)[1].sum()) <= MOST_KEPT
        return few or evidence.settings.resample_lists

    def _is_smooth(self, group: int) -> bool:
        """Tell whether so many labels were counted that smoothing says nothing."""
        pairs = self.pairs_of(group)
        return len(pairs.counts) <= MOST_ENTRIES and pairs.rarest >= LEAST_OF_EACH

    def draws_counts(self, group: int) -> bool:
        """Tell whether a group's replicates are counts of pairs of labels.

        Args:
            group: The group.

        Returns:
            Whether they are, and each example is a unit of its own.
        """
        return self._are_counts and self._has_few_pairs(group)

    def _has_few_pairs(self, group: int) -> bool:
        """Tell whether a group has so few pairs of labels that it can be smoothed."""
        rows, (codes, _) = self._evidence.rows, self._evidence.cells_of(group)
        if len(codes) > MOST_PAIRS:  # free texts, which take long as tuples
            different = rows.distinct[codes].select(all_named(rows.keys[:2])).n_unique()
            if different > MOST_PAIRS:
                return False
        pairs = self.pairs_of(group)
        return len(pairs.golds) * len(pairs.labels) <= MOST_PAIRS

    @cached_property
    def _are_counts(self) -> bool:
        """Whether each unit is one example that counts as one pair of labels."""
        evidence = self._evidence
        return (
            self._are_pairs and not evidence.clustered and evidence.table.repeats == 1
        )

    @cached_property
    def _are_pairs(self) -> bool:
        """Whether each answer to an example counts as one pair of labels."""
        rows = self._evidence.rows
        names = self._evidence.metric.keys
        return (
            interval_kind(self._evidence.metric) == "multinomial"
            and rows.is_single
            and len(names) == 2
            and all(rows.distinct[key].dtype == pl.String for key in names)
            and len(rows.columns) == 1
            and bool((rows.distinct[rows.columns[0]] == 1).all())
        )

    @cached_property
    def _pairs(self) -> list[Pair]:
        """Gold and predicted label of every distinct row."""
        rows = self._evidence.rows
        return rows.distinct.select(all_named(rows.keys[:2])).rows()

    def pairs_of(self, group: int) -> PairCounts:
        """Count the pairs of labels of a group.

        Args:
            group: A group whose statistics are counts of pairs.

        Returns:
            The counts.
        """
        if group not in self._counted:
            codes, counts = self._evidence.cells_of(group)
            # where there are very many pairs, equal rows of statistics are not one
            counted = zip(
                (self._pairs[code] for code in codes.tolist()),
                counts.astype(float).tolist(),
                strict=True,
            )
            declared = self._evidence.table.context.labels or ()
            self._counted[group] = count_pairs(counted, declared)
        return self._counted[group]

    def _random(self, group: int) -> np.random.Generator:
        # by content, so that a tag draws what a file of its examples alone draws
        counts = self.pairs_of(group).counts
        content = repr([(*pair, count) for pair, count in counts.items()])
        evidence = self._evidence
        return generator(evidence.settings.seed, evidence.metric.name, content)

    def _drawn_counts(self, group: int) -> pl.DataFrame:
        evidence = self._evidence
        keys, [column] = evidence.rows.keys, evidence.rows.columns
        pairs, random = self.pairs_of(group), self._random(group)
        smoothed = smoothed_counts(pairs)
        self._smoothed[group] = counts_frame(smoothed, keys, column)
        return replicate_counts(smoothed, keys, column, self.count, random)

    def _drawn_units(self, group: int) -> pl.DataFrame:
        evidence = self._evidence
        members = evidence.members_of(group)
        units = evidence.units
        unit_of_row = units.codes[members.position]
        if not evidence.merges_by_sum:
            merges = evidence.metric.merges
            parts = (evidence.rows, members, unit_of_row, units.keys, self.count)
            return replicate_merged(*parts, merges)
        drawn = replicate_sums(
            evidence.rows, members, unit_of_row, units.keys, self.count
        )
        if not (self._are_pairs and self._has_few_pairs(group)):
            return drawn
        numbers, are_right = self._numbered_pairs
        self._unit_rows[group] = UnitRows(
            unit_of_row, numbers[members.code], are_right[members.code]
        )
        return self._smoothed_units(group, drawn)

    def _smoothed_units(self, group: int, drawn: pl.DataFrame) -> pl.DataFrame:
        evidence = self._evidence
        codes, times = evidence.cells_of(group)
        keys, [column] = evidence.rows.keys, evidence.rows.columns
        counted = evidence.rows.distinct[codes].select(
            all_named(keys), pl.Series(column, times, dtype=pl.Float64)
        )
        # where there are very many pairs, equal rows of statistics are not one
        by_keys = counted.group_by(all_named(keys))
        cells = by_keys.agg(named(column).sum()).sort(all_named(keys))
        # an example that is added has the same answer in each replication
        effect = design_effect(self._unit_rows[group]) / evidence.table.repeats
        replicates, smoothed = smoothed_units(
            drawn,
            cells,
            self.pairs_of(group),
            max(1.0, effect),
            self.count,
            self._random(group),
        )
        self._smoothed[group] = smoothed
        [centre] = right_shares(
            smoothed.select(pl.lit(0).alias("replicate"), pl.all()), 1
        )
        shares = right_shares(replicates, self.count)
        self._right_shares[group] = RightShares(shares[np.isfinite(shares)], centre)
        return replicates

    @cached_property
    def _numbered_pairs(self) -> tuple[Codes, NDArray[np.bool_]]:
        """The number of each distinct row's pair of labels, and whether it is right."""
        rows = self._evidence.rows
        return numbered_pairs(rows.distinct, *rows.keys[:2])
