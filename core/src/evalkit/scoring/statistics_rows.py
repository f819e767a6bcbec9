"""A metric's statistics, in which equal rows are told apart by nothing.

Most metrics give few distinct rows: right or wrong, or a pair of labels. What a group
sums to then follows from how often each distinct row occurs in it, and a scan over the
memberships that only counts is all that depends on the number of examples.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, pairwise
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from evalkit.base.columns import all_named
from evalkit.base.terms import MergeKind
from evalkit.statistics.clusters import Floats

Codes = NDArray[np.int64]

_HIGH_DIGITS = np.int64(-(2**26))
"""Mask of the bits of a float without the lower half of its digits."""


class CellCounts(NamedTuple):
    """How often each distinct row occurs in each group, sorted by both."""

    group: Codes
    code: Codes
    """Number of the distinct row."""
    times: Codes


class Memberships(NamedTuple):
    """One entry for each row of statistics of each example of a group."""

    position: Codes
    code: Codes


@dataclass(frozen=True)
class StatisticsRows:
    """The distinct rows of statistics of a set of examples."""

    keys: list[str]
    """Names of the key columns."""
    columns: list[str]
    """Names of the number columns."""
    distinct: pl.DataFrame
    """The keys and number columns of every distinct row, sorted."""
    is_single: bool
    """Whether no example has several rows."""

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


def merge_cells(
    rows: StatisticsRows, cells: CellCounts, merges: Mapping[str, MergeKind]
) -> pl.DataFrame:
    """Merge the statistics of each group.

    Sums are exact before they are rounded once, so they do not depend on any order.
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


def pairs_of_moments(
    columns: Sequence[str], merges: Mapping[str, MergeKind]
) -> list[tuple[str, str]]:
    """Return the pairs of columns that have a co-moment."""
    moments = sorted(name for name in columns if merges.get(name) == "moments")
    return list(combinations(moments, 2))


def weighted_sums(values: Floats, counts: Codes | Floats, starts: Codes) -> Floats:
    """Sum parts of an array, each value as often as it is counted."""
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
