"""What a metric's scores and intervals are computed from."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np
import polars as pl

from evalkit.base.terms import IntervalKind, MergeKind
from evalkit.plugins.bound import BoundMetric
from evalkit.scoring.counted_rows import CountedRows
from evalkit.scoring.finalization import Finalizer
from evalkit.scoring.grouping import Groups
from evalkit.scoring.influence import Influences, RowInfluences
from evalkit.scoring.label_pairs import LabelPairs
from evalkit.scoring.records import ScoringSettings
from evalkit.scoring.statistics_rows import (
    Codes,
    Memberships,
    merge_cells,
    weighted_sums,
)
from evalkit.scoring.table import ScoringTable
from evalkit.scoring.units import Units
from evalkit.statistics.clusters import (
    ClusterSizes,
    Floats,
)


class UnitTotals(NamedTuple):
    """Sums over the units of a group."""

    units: Codes
    """Numbers of the units."""
    totals: Floats
    sizes: Floats
    """How many examples each unit has."""


class Evidence:
    """The statistics of all examples, and all that follows from them by counting.

    Args:
        metric: A metric that is not a function of lists.
        statistics: Its statistics, with the metric's keys and, where replications are
            scored apart, `REPLICATION`.
        table: What is scored.
        groups: The groups.
        settings: How intervals are computed.
        repeats: How many replications the statistics tell apart.
        counted: The counts of the statistics, where they are known, and the label pairs
            that follow from them.
    """

    def __init__(
        self,
        metric: BoundMetric,
        statistics: pl.DataFrame,
        table: ScoringTable,
        groups: Groups,
        settings: ScoringSettings,
        repeats: int = 1,
        counted: tuple[CountedRows, LabelPairs] | None = None,
    ) -> None:
        self.metric = metric
        self.table = table
        self.groups = groups
        self.settings = settings
        self.finalizer = Finalizer(metric, table.context, repeats)
        if counted is None:
            keys = self.finalizer.keys
            units = partial(table.units, settings.seed)
            rows = CountedRows(statistics, keys, table, groups, settings, units)
            counted = rows, LabelPairs(rows)
        self._counted, self.label_pairs = counted
        self.rows = self._counted.rows

    @property
    def units(self) -> Units:
        """The units that a sample is made of."""
        return self._counted.units

    @property
    def clustered(self) -> bool:
        """Whether examples are grouped into clusters."""
        return self._counted.clustered

    @property
    def is_simple(self) -> bool:
        """Whether each unit is one example with one row of statistics."""
        return self._counted.is_simple

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
        return merge_cells(self.rows, self._counted.cells, merges)

    def cells_of(self, group: int) -> tuple[Codes, Codes]:
        """Return the distinct rows of a group, and how often each occurs."""
        return self._counted.cells_of(group)

    def members_of(self, group: int) -> Memberships:
        """Return the rows of a group's examples."""
        return self._counted.members_of(group)

    @property
    def n(self) -> Codes:
        """How many examples of each group have statistics; repeats count once."""
        return self._counted.n

    def unit_sizes(self, group: int) -> Floats:
        """Count the examples of each unit of a group."""
        return self._counted.unit_sizes(group)

    def n_clusters(self, group: int) -> int | None:
        """Count the clusters of a group; None where there are none."""
        return self._counted.n_clusters(group)

    def cluster_sizes(self, group: int) -> ClusterSizes | None:
        """Say how unequal the clusters of a group are; None where there are none."""
        return self._counted.cluster_sizes(group)

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
        rows = self._counted.rows_of_units(group)
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

    def _influence_of_rows(self, group: int, score: str) -> RowInfluences | None:
        if not self.has_gradients or self.metric.interval == "none":
            return None
        return self._influences.of(group).get(score)


def interval_kind(metric: BoundMetric) -> IntervalKind:
    """Return the kind of interval that a metric declares, or that its way implies."""
    declared: IntervalKind | None = metric.interval
    if declared is not None:
        return declared
    return "bootstrap" if metric.example_hook is None else "t"


def example_column(metric: BoundMetric) -> str | None:
    """Return the statistic that is a metric's per-example score."""
    if metric.example_hook is not None:
        return "score"
    column: str | None = metric.per_example
    return column


def merge_statistics(
    metric: BoundMetric, statistics: pl.DataFrame, table: ScoringTable, groups: Groups
) -> pl.DataFrame:
    """Merge the statistics of the examples of every group, as scoring does.

    Args:
        metric: A metric that is not a function of lists.
        statistics: One or more rows a position, with the metric's keys.
        table: What is scored, with one answer an example.
        groups: The groups.

    Returns:
        `group`, the metric's keys, and the merged columns, sorted by group and keys.
    """
    return Evidence(metric, statistics, table, groups, ScoringSettings()).sums
