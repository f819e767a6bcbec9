"""A metric's statistics, in which equal rows are told apart by nothing.

Most metrics give few distinct rows: right or wrong, or a pair of labels. What a group
sums to then follows from how often each distinct row occurs in it, and a scan over the
memberships that only counts is all that depends on the number of examples.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from evalkit.base.columns import all_named, unnamed
from evalkit.base.terms import MergeKind
from evalkit.scoring.grouping import Groups
from evalkit.scoring.moments import pairs_of_moments
from evalkit.statistics.clusters import Floats

Codes = NDArray[np.int64]

_SAMPLE = 10_000
"""Rows whose distinct values tell whether a column has few."""

_FEW = 2_000
"""Distinct values in the sample beyond which a column is taken to have many."""

_MOST_COMBINATIONS = 4_000_000
"""Groups times distinct rows up to which all combinations are counted at once."""


_HIGH_DIGITS = np.int64(-(2**26))
"""Mask of the bits of a float without the lower half of its digits."""


class CellCounts(NamedTuple):
    """How often each distinct row occurs in each group, sorted by both."""

    group: Codes
    code: Codes
    """Number of the distinct row."""
    times: Codes


class Memberships(NamedTuple):
    """One entry for each row of statistics of each member of each group."""

    group: Codes
    position: Codes
    code: Codes


class StatisticsRows:
    """The statistics of all examples.

    Args:
        statistics: `position`, the keys and the number columns.
        keys: Names of the key columns.
        positions: How many positions there are.

    Attributes:
        keys: Names of the key columns.
        columns: Names of the number columns.
        distinct: The keys and number columns of every distinct row, sorted.
    """

    def __init__(
        self, statistics: pl.DataFrame, keys: Sequence[str], positions: int
    ) -> None:
        self.keys = list(keys)
        self.columns = [
            name for name in statistics.columns if name not in ("position", *keys)
        ]
        self._positions = statistics["position"].to_numpy().astype(np.int64)
        self._count = positions
        self.distinct, self._codes = _distinct_rows(
            statistics.select(all_named([*self.keys, *self.columns]))
        )

    @cached_property
    def has_rows(self) -> NDArray[np.bool_]:
        """Whether each position has a row."""
        has_rows = np.zeros(self._count, dtype=bool)
        has_rows[self._positions] = True
        return has_rows

    @cached_property
    def is_single(self) -> bool:
        """Whether no position has several rows."""
        return int(self.has_rows.sum()) == len(self._positions)

    @cached_property
    def values(self) -> Floats:
        """The numbers of every distinct row, of shape (distinct, columns)."""
        values: Floats = self.distinct.select(all_named(self.columns)).to_numpy()
        return values

    @cached_property
    def numbered_keys(self) -> tuple[pl.DataFrame, Codes]:
        """The distinct keys, sorted, and the number of each distinct row's keys."""
        if not self.keys:
            return pl.DataFrame(), np.zeros(self.distinct.height, dtype=np.int64)
        keys = self.distinct.select(all_named(self.keys))
        unique = keys.unique().sort(all_named(self.keys)).with_row_index("__number")
        numbered = keys.join(
            unique,
            on=all_named(self.keys),
            nulls_equal=True,
            how="left",
            maintain_order="left",
        )
        number = numbered["__number"].to_numpy().astype(np.int64)
        return unique.drop("__number"), number

    @cached_property
    def _code_of_position(self) -> Codes:
        codes = np.full(self._count, -1, dtype=np.int64)
        codes[self._positions] = self._codes
        return codes

    @cached_property
    def _by_position(self) -> tuple[Codes, Codes]:
        """The rows sorted by position, and where those of each position start."""
        order = np.argsort(self._positions, kind="stable")
        places = np.arange(self._count + 1)
        return order, np.searchsorted(self._positions[order], places)

    def memberships(self, position: Codes, group: Codes) -> Memberships:
        """Return the rows of statistics of some members.

        Args:
            position: Position of each member.
            group: Group of each member.

        Returns:
            One entry for each row, in the members' order.
        """
        if self.is_single:
            codes = self._code_of_position[position]
            present = codes >= 0
            if present.all():
                return Memberships(group, position, codes)
            return Memberships(group[present], position[present], codes[present])
        order, ends = self._by_position
        starts = ends[position]
        lengths = ends[position + 1] - starts
        within = np.arange(lengths.sum()) - np.repeat(
            np.cumsum(lengths) - lengths, lengths
        )
        rows = order[np.repeat(starts, lengths) + within]
        return Memberships(
            np.repeat(group, lengths), np.repeat(position, lengths), self._codes[rows]
        )

    def of_groups(self, groups: Groups) -> Memberships:
        """Return the rows of all members of all groups."""
        return self.memberships(
            groups.position.astype(np.int64), groups.group.astype(np.int64)
        )

    def examples_by_group(self, groups: Groups) -> Codes:
        """Count the positions of each group that have rows."""
        present = self.has_rows[groups.position]
        return np.bincount(groups.group[present], minlength=len(groups.tags)).astype(
            np.int64
        )


def count_cells(members: Memberships, groups: int, distinct: int) -> CellCounts:
    """Count how often each distinct row occurs in each group.

    Args:
        members: The rows of all members.
        groups: How many groups there are.
        distinct: How many distinct rows there are.

    Returns:
        The cells that occur.
    """
    together = members.group * distinct + members.code
    if groups * distinct <= _MOST_COMBINATIONS:
        counts = np.bincount(together, minlength=groups * distinct)
        found = np.flatnonzero(counts)
        return CellCounts(found // distinct, found % distinct, counts[found])
    found, counts = np.unique(together, return_counts=True)
    return CellCounts(found // distinct, found % distinct, counts)


def merge_cells(
    rows: StatisticsRows, cells: CellCounts, merges: Mapping[str, MergeKind]
) -> pl.DataFrame:
    """Merge the statistics of each group.

    Sums are exact before they are rounded once, so they do not depend on any order.

    Args:
        rows: The statistics.
        cells: How often each distinct row occurs in each group.
        merges: How each column merges, where not by `sum`.

    Returns:
        `group`, the keys, and the merged columns, sorted by group and keys.
    """
    key_frame, key_of_code = rows.numbered_keys
    together = cells.group * max(1, key_frame.height) + key_of_code[cells.code]
    order = np.argsort(together, kind="stable")
    sorted_cells = CellCounts(*(part[order] for part in cells))
    together = together[order]
    starts = np.flatnonzero(np.diff(together, prepend=-1))
    merged = pl.DataFrame(
        {"group": sorted_cells.group[starts]}, schema={"group": pl.Int64}
    )
    if rows.keys:
        merged = merged.hstack(key_frame[together[starts] % key_frame.height])
    values = {
        name: rows.distinct[name].to_numpy()[sorted_cells.code] for name in rows.columns
    }
    times = sorted_cells.times
    for name in rows.columns:
        merge = merges.get(name, "sum")
        merged = merged.with_columns(
            _merge_column(name, merge, values[name], times, starts)
        )
    lengths = np.diff(np.append(starts, len(together)))
    for one, other in pairs_of_moments(rows.columns, merges):
        with np.errstate(over="ignore", invalid="ignore"):
            products = np.prod(
                [
                    values[name] - np.repeat(merged[f"{name}_mean"], lengths)
                    for name in (one, other)
                ],
                axis=0,
            )
        comoments = weighted_sums(products, times, starts)
        merged = merged.with_columns(
            pl.Series(f"{one}_{other}_comoment", comoments, dtype=pl.Float64)
        )
    return merged


def _merge_column(
    name: str, merge: MergeKind, values: Floats, counts: Codes, starts: Codes
) -> list[pl.Series]:
    if merge == "sum":
        return [pl.Series(name, weighted_sums(values, counts, starts))]
    if merge == "moments":
        return _moments(name, values, counts, starts)
    if merge == "values":
        lengths = np.diff(np.append(starts, len(values)))
        part = np.repeat(np.repeat(np.arange(len(starts)), lengths), counts)
        flat = pl.DataFrame({"part": part, "value": np.repeat(values, counts)})
        grouped = flat.group_by("part", maintain_order=True).agg("value")
        return [grouped["value"].cast(pl.List(pl.Float64)).alias(name)]
    reduce = np.minimum if merge == "min" else np.maximum
    found = reduce.reduceat(values, starts) if len(starts) else np.empty(0)
    return [pl.Series(name, found, dtype=pl.Float64)]


def _moments(
    name: str, values: Floats, counts: Codes, starts: Codes
) -> list[pl.Series]:
    sizes = np.add.reduceat(counts, starts) if len(starts) else np.empty(0)
    means = weighted_sums(values, counts, starts) / sizes
    lengths = np.diff(np.append(starts, len(values)))
    with np.errstate(over="ignore", invalid="ignore"):
        squares = (values - np.repeat(means, lengths)) ** 2
    return [
        pl.Series(f"{name}_count", sizes, dtype=pl.Float64),
        pl.Series(f"{name}_mean", means, dtype=pl.Float64),
        pl.Series(f"{name}_m2", weighted_sums(squares, counts, starts)),
    ]


def weighted_sums(values: Floats, counts: Codes | Floats, starts: Codes) -> Floats:
    """Sum parts of an array, each value as often as it is counted.

    Args:
        values: The values, of shape (n,).
        counts: How often each counts, of shape (n,).
        starts: Where each part starts.

    Returns:
        One sum for each part, rounded once; infinite where it is too large.
    """
    if not len(starts):
        return np.empty(0)
    if (values == np.rint(values)).all() and (
        float(np.abs(values).max()) * float(counts.sum()) < 2**53
    ):
        # sums of whole numbers are exact, whatever the order
        whole: Floats = np.add.reduceat(values * counts, starts)
        return whole
    return np.array(
        [exact_sum(values[p], counts[p]) for p in _parts(starts, len(values))]
    )


def _parts(starts: Codes, length: int) -> Iterator[slice]:
    return (slice(*ends) for ends in pairwise([*starts.tolist(), length]))


def exact_sum(values: Floats, counts: Codes | Floats) -> float:
    """Sum numbers, each as often as counted, rounding once (Shewchuk 1997)."""
    try:
        if (counts == 1).all():
            return math.fsum(values.tolist())
        # half the digits at a time: then each product is exact
        high = (values.view(np.int64) & _HIGH_DIGITS).view(np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            low = np.where(np.isfinite(values), values - high, 0.0)
            products = np.concatenate([high * counts, low * counts])
        return math.fsum(products.tolist())
    except (OverflowError, ValueError):
        # beyond the range of floats, or infinities of both signs
        with np.errstate(over="ignore", invalid="ignore"):
            return float(np.sum(values * counts))


def _distinct_rows(frame: pl.DataFrame) -> tuple[pl.DataFrame, Codes]:
    """Return the distinct rows, sorted, and the number of each row's own."""
    combined = np.zeros(frame.height, dtype=np.int64)
    size = 1
    for name in frame.columns:
        coded = _column_codes(unnamed(frame[name]))
        if coded is None or size * coded[1] > _MOST_COMBINATIONS:
            return _sorted_rows(frame)
        codes, count = coded
        if count > 1:
            combined = combined * count + codes
            size *= count
    first = np.full(size, -1, dtype=np.int64)
    first[combined] = np.arange(frame.height)
    used = np.flatnonzero(first >= 0)
    distinct = frame[first[used]]
    order = _order(distinct)
    rank = np.empty(size, dtype=np.int64)
    rank[used[order]] = np.arange(len(used))
    return distinct[order], rank[combined]


def _column_codes(column: pl.Series) -> tuple[Codes, int] | None:
    """Number the distinct values of a column; None where there are many."""
    if column.slice(0, _SAMPLE).n_unique() > _FEW:
        return None
    if column.dtype == pl.String:
        filled = column.cast(pl.Categorical).to_physical()
        highest = filled.max()
        nothing = 0 if highest is None else int(str(highest)) + 1
        codes = filled.fill_null(nothing).to_numpy().astype(np.int64)
        return codes, nothing + 1
    unique = column.unique().sort(nulls_last=True)
    if len(unique) > _MOST_COMBINATIONS:
        return None
    if len(unique) < 2:
        return np.zeros(len(column), dtype=np.int64), 1
    if column.dtype == pl.Float64 and not column.null_count():
        codes = np.searchsorted(unique.to_numpy(), column.to_numpy()).astype(np.int64)
        return codes, len(unique)
    numbers = pl.DataFrame({"value": unique}).with_row_index("number")
    joined = pl.DataFrame({"value": column}).join(
        numbers, on="value", nulls_equal=True, how="left", maintain_order="left"
    )
    return joined["number"].to_numpy().astype(np.int64), len(unique)


def _sorted_rows(frame: pl.DataFrame) -> tuple[pl.DataFrame, Codes]:
    """Take every row for distinct, sorted, so that their order is that of content."""
    order = _order(frame)
    rank = np.empty(frame.height, dtype=np.int64)
    rank[order] = np.arange(frame.height)
    return frame[order], rank


def _order(frame: pl.DataFrame) -> Codes:
    columns = all_named(frame.columns)
    indexed = frame.with_row_index("__row").sort(columns, maintain_order=True)
    return indexed["__row"].to_numpy().astype(np.int64)
