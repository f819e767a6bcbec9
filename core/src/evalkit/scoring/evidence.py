"""What a metric's scores and intervals are computed from."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from typing import NamedTuple

import numpy as np
import polars as pl

from evalkit.base.terms import MergeKind
from evalkit.scoring.counted_tally import CountedTally
from evalkit.scoring.finalization import Finalizer
from evalkit.scoring.influence import Influences, RowInfluences
from evalkit.scoring.label_pairs import LabelPairs, SharedPairs
from evalkit.scoring.statistics_rows import (
    Codes,
    merge_cells,
    weighted_sums,
)
from evalkit.statistics.clusters import Floats


class UnitTotals(NamedTuple):
    """Sums over the units of a group."""

    units: Codes
    """Numbers of the units."""
    totals: Floats
    sizes: Floats
    """How many examples each unit has."""


class Evidence(CountedTally):
    """The counts of one metric, and all that its scores and intervals follow from."""

    shared: SharedPairs | None = None
    """The label pairs of other metrics of the same examples."""

    @cached_property
    def finalizer(self) -> Finalizer:
        """Makes scores of sums."""
        return Finalizer(self.metric, self.context, self.apart)

    @cached_property
    def label_pairs(self) -> LabelPairs:
        """The counts of pairs of labels."""
        return (self.shared or SharedPairs()).pairs_of(self)

    @cached_property
    def merges_by_sum(self) -> bool:
        """Whether all statistics add up."""
        merges = self.metric.merges
        return all(merges.get(name, "sum") == "sum" for name in self.rows.columns)

    @cached_property
    def has_gradients(self) -> bool:
        """Whether all statistics change smoothly with the weights of the examples."""
        merges = self.metric.merges
        smooth = ("sum", "moments")
        return all(merges.get(name, "sum") in smooth for name in self.rows.columns)

    @cached_property
    def merges_by_extremes(self) -> bool:
        """Whether a statistic is a least or greatest value."""
        merges = self.metric.merges
        return any(merges.get(name) in ("min", "max") for name in self.rows.columns)

    @cached_property
    def sums(self) -> pl.DataFrame:
        """The merged statistics of all groups."""
        merges: Mapping[str, MergeKind] = self.metric.merges
        return merge_cells(self.rows, self.cells, merges)

    def values_of(self, group: int, column: str) -> tuple[Floats, Floats]:
        """Return the values of a column in a group, and how often each occurs."""
        codes, counts = self.cells_of(group)
        values = self.rows.distinct[column].to_numpy()[codes]
        return values, counts.astype(np.float64)

    def mean_of(self, group: int, column: str) -> float:
        """Return the mean of a number column over the rows of a group."""
        values, counts = self.values_of(group, column)
        [total] = weighted_sums(values, counts, np.zeros(1, dtype=np.int64))
        return float(total) / math.fsum(counts)

    def unit_sums(self, group: int, by_code: Floats | RowInfluences) -> UnitTotals:
        """Sum a number of every distinct row over the units of a group.

        Args:
            group: The group.
            by_code: The number of each distinct row.

        Returns:
            The sums of the units that have rows in the group.
        """
        if self.is_simple:
            members = self.members_of(group)
            alone: Floats = by_code[members.code]
            return UnitTotals(
                self.units.codes[members.position], alone, np.ones(len(alone))
            )
        rows = self.rows_of_units(group)
        # sorted by value, so that rounding does not depend on the order of rows
        values = by_code[rows.codes]
        order = np.lexsort((values, rows.unit_of_row))
        totals = np.bincount(
            rows.unit_of_row[order], weights=values[order], minlength=len(rows.units)
        ).astype(np.float64)
        return UnitTotals(rows.units, totals, rows.sizes)

    @cached_property
    def _influences(self) -> Influences:
        return Influences(self.finalizer, self.rows, self.sums)

    def influences(self, group: int, score: str = "") -> UnitTotals | None:
        """Return what each unit of a group adds to the error of a score.

        Args:
            group: The group.
            score: Name of the score.

        Returns:
            Influences as totals, which add up to zero; None where the score is no
            smooth function of sums.
        """
        by_code = self._influence_of_rows(group, score)
        if by_code is None:
            return None
        found = self.unit_sums(group, by_code)
        mean = math.fsum(found.totals) / math.fsum(found.sizes)
        return found._replace(totals=found.totals - mean * found.sizes)

    def distinct_influences(
        self, group: int, score: str
    ) -> tuple[Floats, Floats, Floats] | None:
        """Return influences, the sizes of their units, and how many units have each."""
        if not self.is_simple:
            found = self.influences(group, score)
            return found and (found.totals, found.sizes, np.ones(len(found.sizes)))
        by_code = self._influence_of_rows(group, score)
        if by_code is None:
            return None
        codes, counts = self.cells_of(group)
        influences, times = by_code[codes], counts.astype(np.float64)
        mean = math.fsum(influences * times) / float(times.sum())
        return influences - mean, np.ones(len(codes)), times

    def _influence_of_rows(self, group: int, score: str) -> RowInfluences | None:
        if not self.has_gradients or self.metric.interval == "none":
            return None
        return self._influences.of(group).get(score)
