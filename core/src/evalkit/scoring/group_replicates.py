"""Replicates of the sums of each group, from which intervals are made.

Counts of label pairs are drawn from a smoothed multinomial, or by unit and smoothed
too where units have several rows; other sums are drawn by unit. In large groups, where
drawing takes long and adds nothing, there are none; for label pairs only where no label
is rare.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import polars as pl

from evalkit.inference import draw_counts
from evalkit.inference.intervals import Floats
from evalkit.inference.multinomial import PairCounts
from evalkit.scoring.bootstrap import replicate_cells, replicate_merged, replicate_sums
from evalkit.scoring.evidence import Evidence, interval_kind
from evalkit.scoring.finalization import FinalizedReplicates, Sums, finalize_replicates
from evalkit.scoring.influence import MOST_ENTRIES
from evalkit.scoring.label_pairs import Reach
from evalkit.scoring.records import Advance

REPLICATES = draw_counts.DRAWS_OF_SUMS

MOST_RESAMPLED = 20_000
"""Rows of a group beyond which the delta method takes the place of resampling."""

MOST_KEPT = 10_000
"""Rows of a group beyond which values that are kept are not resampled."""

LEAST_OF_EACH = 100
"""Hits, misses and false alarms that each label of such a group must have."""


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
        self._pairs = evidence.label_pairs

    def of(self, group: int) -> FinalizedReplicates | None:
        """Return the replicates of a group; None where none are drawn of it.

        Args:
            group: The group.
        """
        return self._finalized.get(("drawn", group))

    def is_smoothed(self, group: int) -> bool:
        """Tell whether a group's replicates are of smoothed counts.

        Args:
            group: A group that has replicates.
        """
        return ("centre", group) in self._finalized

    def centre(self, group: int, score: str) -> float | None:
        """Return the score of the smoothed counts that replicates are drawn from.

        Args:
            group: The group.
            score: Name of the score within the metric.

        Returns:
            The score; None where nothing was smoothed, or it is undefined.
        """
        found = self._values("centre", group, score)
        return None if found is None else float(found[0])

    def of_one_class(self, group: int) -> tuple[Floats, float] | None:
        """Return replicates by which a group of one gold label is compared with others.

        Args:
            group: The group.

        Returns:
            The main score of the replicates that have one, and that of the counts that
            they were drawn from; None for other groups, or without such a score.
        """
        values = self._values("drawn of one class", group)
        found = self._values("centre of one class", group)
        if values is None or found is None or len(values) < self.count / 2:
            return None
        return values, float(found[0])

    def _values(self, kind: str, group: int, score: str = "") -> Floats | None:
        found = self._finalized.get((kind, group))
        return None if found is None else found.values.get(score)

    @cached_property
    def _finalized(self) -> dict[tuple[str, int], FinalizedReplicates]:
        """All replicates, and scores of what they are drawn from, by kind and group."""
        parts = (
            ((kind, group), replicates, sums)
            for group in self._resampled()
            for kind, replicates, sums in self._parts(group)
        )
        return finalize_replicates(self._evidence.finalizer, parts)

    def _resampled(self) -> Iterator[int]:
        """Return the groups of which replicates are drawn."""
        evidence = self._evidence
        for group, tag in enumerate(evidence.groups.tags):
            if evidence.n[group] < 2:
                continue
            if evidence.clustered and (evidence.n_clusters(group) or 0) < 2:
                continue
            self._advance(f"{evidence.metric.name}: {tag or 'all'}")
            is_large = int(evidence.cells_of(group)[1].sum()) > MOST_RESAMPLED
            if not evidence.merges_by_sum:
                is_drawn = self._can_be_merged(group)
            elif is_large and self.draws_counts(group):
                is_drawn = not self._is_smooth(group)
            else:
                is_drawn = not is_large
            if is_drawn:
                yield group

    def _parts(self, group: int) -> Iterator[tuple[str, int, Sums]]:
        evidence = self._evidence
        if evidence.merges_by_sum and self._are_pairs and self._pairs.are_few(group):
            yield from self._pairs.drawn(group, self.count)
            return
        members, units = evidence.members_of(group), evidence.units
        unit_of_row = units.codes[members.position]
        parts = (evidence.rows, members, unit_of_row, units.weights, self.count)
        if not evidence.merges_by_sum:
            merges = evidence.metric.merges
            yield "drawn", self.count, replicate_merged(*parts, merges)
            return
        draw = replicate_cells if self._are_cells else replicate_sums
        yield "drawn", self.count, draw(*parts)

    def _can_be_merged(self, group: int) -> bool:
        """Tell whether replicates of statistics that are no sums say something."""
        evidence = self._evidence
        if evidence.merges_by_extremes:
            return False
        return int(evidence.cells_of(group)[1].sum()) <= MOST_KEPT

    def _is_smooth(self, group: int) -> bool:
        """Tell whether so many labels were counted that smoothing says nothing."""
        pairs = self._pairs.of(group)
        return len(pairs.counts) <= MOST_ENTRIES and pairs.rarest >= LEAST_OF_EACH

    def draws_counts(self, group: int) -> bool:
        """Tell whether a group's replicates are counts of pairs of labels.

        Args:
            group: The group.

        Returns:
            Whether they are, and each example is a unit of its own.
        """
        return self._are_pairs and self._pairs.are_alone and self._pairs.are_few(group)

    @cached_property
    def _are_cells(self) -> bool:
        """Whether sums are counts of cells, which the metric takes as an array."""
        rows = self._evidence.rows
        return (
            self._evidence.finalizer.takes_counts
            and len(rows.columns) == 1
            and bool(rows.keys)
            and not any(rows.distinct[key].dtype.is_nested() for key in rows.keys)
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

    def pairs_of(self, group: int) -> PairCounts:
        """Count the pairs of labels of a group.

        Args:
            group: A group whose statistics are counts of pairs.

        Returns:
            The counts.
        """
        return self._pairs.of(group)

    def reach(self, group: int, confidence: float) -> Reach | None:
        """Say how much wider than percentiles the interval of a group has to be.

        Args:
            group: A group whose replicates are of smoothed counts.
            confidence: Probability of the interval.

        Returns:
            The factors; None where examples were drawn and not units.
        """
        return self._pairs.reach(group, confidence)
