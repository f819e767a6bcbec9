"""Replicates of the sums of each group, from which intervals are made.

Counts of label pairs are drawn from a smoothed multinomial, or by unit and smoothed
too where units have several rows; other sums are drawn by unit. In large groups, where
drawing takes long and adds nothing, there are none; for label pairs only where no label
is rare.
"""

from __future__ import annotations

from collections.abc import Iterator
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
    as_replicate,
    count_pairs,
    counts_of_one_class,
    replicate_counts,
    smoothed_counts,
)
from evalkit.inference.seeds import generator
from evalkit.scoring.bootstrap import replicate_cells, replicate_merged, replicate_sums
from evalkit.scoring.evidence import Evidence, interval_kind
from evalkit.scoring.finalization import FinalizedReplicates, Sums, finalize_replicates
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
        self._few_pairs: dict[int, bool] = {}
        self._unit_rows: dict[int, UnitRows] = {}
        self._right_shares: dict[int, RightShares] = {}

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
        if self._evidence.merges_by_sum and self.draws_counts(group):
            yield from self._drawn_counts(group)
        else:
            yield from self._drawn_units(group)

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
        if self._are_counts and group not in self._few_pairs:  # asked for each score
            self._few_pairs[group] = self._has_few_pairs(group)
        return self._are_counts and self._few_pairs[group]

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

    def _drawn_counts(self, group: int) -> Iterator[tuple[str, int, Sums]]:
        names = (*self._evidence.rows.keys, *self._evidence.rows.columns)
        pairs = self.pairs_of(group)
        sources = {"": smoothed_counts(pairs)}
        if len(pairs.golds) == 1:
            sources[" of one class"] = counts_of_one_class(pairs)
        for kind, counts in sources.items():
            drawn = replicate_counts(counts, names, self.count, self._random(group))
            yield f"drawn{kind}", self.count, drawn
            yield f"centre{kind}", 1, as_replicate(counts, names)

    def _drawn_units(self, group: int) -> Iterator[tuple[str, int, Sums]]:
        evidence = self._evidence
        members = evidence.members_of(group)
        units = evidence.units
        unit_of_row = units.codes[members.position]
        parts = (evidence.rows, members, unit_of_row, units.keys, self.count)
        if not evidence.merges_by_sum:
            merges = evidence.metric.merges
            yield "drawn", self.count, replicate_merged(*parts, merges)
            return
        if not (self._are_pairs and self._has_few_pairs(group)):
            draw = replicate_cells if self._are_cells else replicate_sums
            yield "drawn", self.count, draw(*parts)
            return
        numbers, are_right = self._numbered_pairs
        self._unit_rows[group] = UnitRows(
            unit_of_row, numbers[members.code], are_right[members.code]
        )
        smoothed, centre = self._smoothed_units(group, replicate_sums(*parts))
        yield "drawn", self.count, smoothed
        yield "centre", 1, centre

    def _smoothed_units(
        self, group: int, drawn: pl.DataFrame
    ) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Smooth replicates; also return the counts that are expected in them."""
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
        first = pl.lit(0, dtype=pl.Int64).alias("replicate")
        expected = smoothed.select(first, pl.all())
        [centre] = right_shares(expected, 1)
        shares = right_shares(replicates, self.count)
        self._right_shares[group] = RightShares(shares[np.isfinite(shares)], centre)
        return replicates, expected

    @cached_property
    def _numbered_pairs(self) -> tuple[Codes, NDArray[np.bool_]]:
        """The number of each distinct row's pair of labels, and whether it is right."""
        rows = self._evidence.rows
        return numbered_pairs(rows.distinct, *rows.keys[:2])
