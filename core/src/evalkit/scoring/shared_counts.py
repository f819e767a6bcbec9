"""What metrics of equal statistics share in one pass over a table.

Sharing changes no number: what is counted and drawn depends on the statistics, the
table, the groups and the settings, and on no metric.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from evalkit.scoring.counted_rows import CountedRows
from evalkit.scoring.grouping import Groups
from evalkit.scoring.label_pairs import LabelPairs
from evalkit.scoring.records import ScoringSettings
from evalkit.scoring.table import ScoringTable
from evalkit.scoring.units import Units

MOST_KEPT = 3
"""Different statistics of which the counts are kept."""

MOST_ROWS = 2_000_000
"""Rows of statistics whose counts are kept, which take some 50 bytes each."""


class Counts(NamedTuple):
    """What follows from statistics without a metric."""

    rows: CountedRows
    pairs: LabelPairs
    """Of use where the statistics are counts of pairs of labels."""


class _Kept(NamedTuple):
    statistics: pl.DataFrame
    counts: Counts


class SharedCounts:
    """Keeps the counts of the statistics that came last."""

    def __init__(self) -> None:
        self._kept: list[_Kept] = []
        self._units: tuple[ScoringTable, int, Units] | None = None

    def of(
        self,
        statistics: pl.DataFrame,
        keys: Sequence[str],
        table: ScoringTable,
        groups: Groups,
        settings: ScoringSettings,
    ) -> Counts:
        """Return the counts of statistics, those of equal ones where they are kept.

        Args:
            statistics: `position`, the keys and the number columns.
            keys: Names of the key columns.
            table: What is scored.
            groups: The groups.
            settings: How intervals are computed.

        Returns:
            The counts.
        """
        for place, kept in enumerate(self._kept):
            rows = kept.counts.rows
            if (
                rows.table is table
                and rows.groups is groups
                and rows.settings == settings
                and rows.rows.keys == [*keys]
                and _are_same(kept.statistics, statistics)
            ):
                self._kept.append(self._kept.pop(place))
                return kept.counts
        units = partial(self._units_of, table, settings.seed)
        counted = CountedRows(statistics, [*keys], table, groups, settings, units)
        counts = Counts(counted, LabelPairs(counted))
        self._keep(_Kept(statistics, counts))
        return counts

    def _units_of(self, table: ScoringTable, seed: int) -> Units:
        known = self._units
        if known is None or known[0] is not table or known[1] != seed:
            known = self._units = (table, seed, table.units(seed))
        return known[2]

    def _keep(self, newest: _Kept) -> None:
        self._kept.append(newest)
        while len(self._kept) > MOST_KEPT or self._rows() > MOST_ROWS:
            self._kept.pop(0)

    def _rows(self) -> int:
        return sum(kept.statistics.height for kept in self._kept)


def _are_same(one: pl.DataFrame, other: pl.DataFrame) -> bool:
    """Tell whether tables are the same to the last bit, unlike 0 and -0."""
    return (
        one.schema == other.schema
        and one.height == other.height
        and all(map(_are_same_columns, one.get_columns(), other.get_columns()))
    )


def _are_same_columns(one: pl.Series, other: pl.Series) -> bool:
    if not one.dtype.is_float():
        return one.equals(other)
    if one.null_count() or other.null_count():
        return False
    return np.array_equal(_bits(one), _bits(other))


def _bits(column: pl.Series) -> NDArray[np.int64]:
    return column.cast(pl.Float64).to_numpy().view(np.int64)
