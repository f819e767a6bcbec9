"""What follows from statistics by counting, whichever metric is made of them.

Metrics with equal statistics share it in one pass over a table.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

import numpy as np
import polars as pl

from evalkit.scoring.grouping import Groups
from evalkit.scoring.records import ScoringSettings
from evalkit.scoring.statistics_rows import (
    CellCounts,
    Codes,
    Memberships,
    StatisticsRows,
    count_cells,
)
from evalkit.scoring.table import ScoringTable
from evalkit.scoring.units import Units
from evalkit.statistics.clusters import (
    ClusterSizes,
    Floats,
    describe_sizes,
)

MOST_KEPT = 10_000
"""Rows or units of a group up to which what is found of them is kept."""


class RowsOfUnits(NamedTuple):
    """The rows of a group by its units."""

    units: Codes
    """Numbers of the units."""
    codes: Codes
    """Number of the distinct row of each row."""
    unit_of_row: Codes
    """Place of its unit among them."""
    sizes: Floats
    """How many examples each unit has."""


class CountedRows:
    """The statistics of all examples, and how often their rows occur in each group.

    Args:
        statistics: `position`, the keys and the number columns.
        keys: Names of the key columns.
        table: What is scored.
        groups: The groups.
        settings: How intervals are computed.
        units: Returns the units that a sample is made of.
    """

    def __init__(
        self,
        statistics: pl.DataFrame,
        keys: list[str],
        table: ScoringTable,
        groups: Groups,
        settings: ScoringSettings,
        units: Callable[[], Units],
    ) -> None:
        self.table = table
        self.groups = groups
        self.settings = settings
        self._make_units = units
        self.rows = StatisticsRows(statistics, keys, len(table.ids))
        self._sizes: dict[int, Floats] = {}
        self._described: dict[int, ClusterSizes] = {}
        self._by_unit: dict[int, RowsOfUnits] = {}

    @cached_property
    def units(self) -> Units:
        """The units that a sample is made of."""
        return self._make_units()

    @property
    def clustered(self) -> bool:
        """Whether examples are grouped into clusters."""
        return self.table.clusters is not None

    @cached_property
    def is_simple(self) -> bool:
        """Whether each unit is one example with one row of statistics."""
        return not self.clustered and self.table.repeats == 1 and self.rows.is_single

    @cached_property
    def cells(self) -> CellCounts:
        """How often each distinct row occurs in each group."""
        members = self.rows.of_groups(self.groups)
        count = len(self.groups.tags)
        return count_cells(members, count, self.rows.distinct.height)

    @cached_property
    def _ends(self) -> Codes:
        return np.searchsorted(self.cells.group, np.arange(len(self.groups.tags) + 1))

    def cells_of(self, group: int) -> tuple[Codes, Codes]:
        """Return the distinct rows of a group, and how often each occurs."""
        part = slice(self._ends[group], self._ends[group + 1])
        return self.cells.code[part], self.cells.times[part]

    def members_of(self, group: int) -> Memberships:
        """Return the rows of a group's examples."""
        positions = self.groups.positions_of(group).astype(np.int64)
        return self.rows.memberships(positions, np.full(len(positions), group))

    def rows_of_units(self, group: int) -> RowsOfUnits:
        """Return the rows of a group's examples by unit."""
        if group in self._by_unit:
            return self._by_unit[group]
        members = self.members_of(group)
        units, place = np.unique(
            self.units.codes[members.position], return_inverse=True
        )
        positions = (
            members.position if self.rows.is_single else np.unique(members.position)
        )
        examples = np.searchsorted(units, self.units.codes[positions])
        sizes = np.bincount(examples, minlength=len(units)).astype(np.float64)
        found = RowsOfUnits(units, members.code, place, sizes)
        if len(place) <= MOST_KEPT:
            self._by_unit[group] = found
        return found

    @cached_property
    def n(self) -> Codes:
        """How many examples of each group have statistics; repeats count once."""
        repeats = self.table.repeats
        if repeats == 1:
            return self.rows.examples_by_group(self.groups)
        is_first = np.zeros(len(self.table.ids), dtype=bool)
        is_first[::repeats] = self.rows.has_rows.reshape(-1, repeats).any(axis=1)
        counted = is_first[self.groups.position]
        count = len(self.groups.tags)
        return np.bincount(self.groups.group[counted], minlength=count)

    def n_clusters(self, group: int) -> int | None:
        """Count the clusters of a group; None where there are none."""
        return len(self.unit_sizes(group)) if self.clustered else None

    def cluster_sizes(self, group: int) -> ClusterSizes | None:
        """Say how unequal the clusters of a group are; None where there are none."""
        if not self.clustered or not self.n[group]:
            return None
        if group not in self._described:
            self._described[group] = describe_sizes(self.unit_sizes(group))
        return self._described[group]

    def unit_sizes(self, group: int) -> Floats:
        """Count the examples of each unit of a group."""
        if group in self._sizes:
            return self._sizes[group]
        positions = self.groups.positions_of(group)
        sizes = self.units.sizes_of(positions[self.rows.has_rows[positions]])
        if len(sizes) <= MOST_KEPT:
            self._sizes[group] = sizes
        return sizes
