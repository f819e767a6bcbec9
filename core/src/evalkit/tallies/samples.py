"""What intervals and tests are computed from: the units of a group and their counts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import polars as pl

from evalkit.plugins.bound import BoundMetric
from evalkit.tallies.groups import Group
from evalkit.tallies.numbering import Codes, expanded
from evalkit.tallies.patterns import REPLICATION, Floats, Patterns


class UnitSums(NamedTuple):
    """Sums over units, which are clusters or else single examples."""

    totals: Floats
    sizes: Floats
    """How many examples each unit has."""
    times: Codes
    """How many units are like it."""


@dataclass(frozen=True)
class GroupSample:
    """The scored examples of a group, as statistics need them."""

    metric: BoundMetric
    group: Group
    patterns: Patterns
    pattern: Codes
    """The pattern of each entry."""
    cluster: Codes | None
    """The cluster of each entry, from 0 without gaps; None for independent examples."""
    times: Codes
    """How many examples each entry stands for."""
    sums: pl.DataFrame
    """The group's merged statistics, as `finalize` gets them."""
    finalize: Callable[[pl.DataFrame], pl.DataFrame]
    """Turns sums by `group` into `group`, `score` and `value`."""
    finalize_counts: Callable[[Floats], Mapping[str, Floats]] | None = None
    """Turns counts of shape (samples, rows of `sums`) into values by score; None where
    the metric does not take arrays."""

    @property
    def keys(self) -> list[str]:
        """Names of the columns of `sums` that name a cell."""
        apart = [REPLICATION] if REPLICATION in self.sums.columns else []
        return [*apart, *self.patterns.keys]

    @property
    def n(self) -> int:
        """How many examples there are."""
        return int(self.times.sum())

    @cached_property
    def n_clusters(self) -> int | None:
        """How many clusters there are; None for independent examples."""
        return None if self.cluster is None else len(np.unique(self.cluster))

    @cached_property
    def rows(self) -> tuple[Codes, Codes]:
        """The numbers of the rows of statistics, and how often each occurs."""
        sequences = self.patterns.sequences
        lengths = sequences.lengths[self.pattern]
        rows = sequences.items[expanded(sequences.starts[self.pattern], lengths)]
        times = np.bincount(rows, weights=np.repeat(self.times, lengths))
        present = np.flatnonzero(times)
        present = present[self.patterns.has_numbers[present]]
        return present, times[present].astype(np.int64)

    def values(self, column: str) -> tuple[Floats, Codes]:
        """Return the distinct values of a number column, and how often each occurs."""
        rows, times = self.rows
        return self.patterns.values(column)[rows], times

    def unit_sums(self, by_row: Floats) -> UnitSums:
        """Sum a number of every row over the units.

        Args:
            by_row: The number of each row of `patterns`.

        Returns:
            The sums; equal examples are one entry where examples are independent.
        """
        totals = self.patterns.sums(by_row)[self.pattern]
        if self.cluster is None:
            return UnitSums(totals, np.ones(len(totals)), self.times)
        _, unit = np.unique(self.cluster, return_inverse=True)
        weights = totals * self.times
        of_units: Floats = np.bincount(unit, weights=weights).astype(np.float64)
        sizes: Floats = np.bincount(unit, weights=self.times).astype(np.float64)
        return UnitSums(of_units, sizes, np.ones(len(sizes), dtype=np.int64))
