"""Replicates of the sums of each group, from which intervals are made.

Counts of label pairs of independent examples are drawn from a smoothed multinomial;
other sums are drawn by unit. Large groups have none; of label pairs only where no label
is rare.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import polars as pl

from evalkit.scoring.bootstrap import (
    UnitDraw,
    replicate_cells,
    replicate_merged,
    replicate_sums,
)
from evalkit.scoring.evidence import Evidence
from evalkit.scoring.finalization import FinalizedReplicates, Sums, finalize_replicates
from evalkit.scoring.influence import MOST_ENTRIES
from evalkit.scoring.records import Advance
from evalkit.statistics import draw_counts
from evalkit.statistics.label_pairs import PairCounts

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
        advance: Progress callback.
    """

    def __init__(self, evidence: Evidence, advance: Advance) -> None:
        self._evidence = evidence
        self._advance = advance
        self._pairs = evidence.label_pairs

    def of(self, group: int) -> FinalizedReplicates | None:
        """Return the replicates of a group; None where none are drawn of it.

        Args:
            group: The group.
        """
        return self._finalized.get(("drawn", group))

    def centre(self, group: int, score: str) -> float | None:
        """Return the score of the smoothed counts that replicates are drawn from.

        Args:
            group: The group.
            score: Name of the score within the metric.

        Returns:
            The score; None where it is undefined.
        """
        found = self._finalized[("centre", group)].values.get(score)
        return None if found is None else float(found[0])

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
            rows = int(evidence.cells_of(group)[1].sum())
            if not evidence.merges_by_sum:
                is_drawn = not evidence.merges_by_extremes and rows <= MOST_KEPT
            elif rows > MOST_RESAMPLED and self.draws_counts(group):
                is_drawn = not self._is_smooth(group)
            else:
                is_drawn = rows <= MOST_RESAMPLED
            if is_drawn:
                yield group

    def _parts(self, group: int) -> Iterator[tuple[str, int, Sums]]:
        if self.draws_counts(group):
            yield from self._pairs.drawn(group, REPLICATES)
        else:
            weights = self._evidence.units.weights
            yield "drawn", REPLICATES, draw_units(self._evidence, group, weights)

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
    def _are_pairs(self) -> bool:
        """Whether each answer to an example counts as one pair of labels."""
        rows = self._evidence.rows
        names = self._evidence.metric.keys
        return (
            self._evidence.metric.interval_kind == "multinomial"
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


def draw_units(evidence: Evidence, group: int, weights: UnitDraw) -> Sums:
    """Draw replicates of the sums of a group by unit.

    Args:
        evidence: What the scores were computed from.
        group: The group; its statistics do not merge by min or max.
        weights: How often each unit is drawn.

    Returns:
        The sums of `REPLICATES` replicates.
    """
    rows, members = evidence.rows, evidence.members_of(group)
    unit_of_row = evidence.units.codes[members.position]
    parts = (rows, members, unit_of_row, weights, REPLICATES)
    if not evidence.merges_by_sum:
        return replicate_merged(*parts, evidence.metric.merges)
    are_cells = (
        evidence.finalizer.takes_counts
        and len(rows.columns) == 1
        and bool(rows.keys)
        and not any(rows.distinct[key].dtype.is_nested() for key in rows.keys)
    )
    return replicate_cells(*parts) if are_cells else replicate_sums(*parts)
