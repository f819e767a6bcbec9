"""What the examples of each group sum to.

A sum is exact before it is rounded once, so that it depends on no order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations, pairwise
from typing import NamedTuple

import numpy as np
import polars as pl

from evalkit.base.columns import all_named
from evalkit.base.terms import MergeKind
from evalkit.scoring.statistics_rows import exact_sum
from evalkit.tallies.numbering import Codes, Ragged, expanded, number_rows, summed
from evalkit.tallies.patterns import REPLICATION, Floats, Patterns
from evalkit.tallies.tally import Tally


class GroupCounts(NamedTuple):
    """How many examples of each group have each pattern, or each row; sorted."""

    group: Codes
    code: Codes
    """Number of the pattern, or of the row."""
    times: Codes

    def starts(self, groups: int) -> Codes:
        """Return where each group starts, and where the last one ends."""
        return np.searchsorted(self.group, np.arange(groups + 1))


def count_patterns(tally: Tally, groups: Ragged) -> GroupCounts:
    """Count the patterns of each group.

    Args:
        tally: The tally.
        groups: The groups of each tag set.

    Returns:
        The counts.
    """
    size, (tag_set, _, pattern, times) = len(tally.patterns), tally.entries
    keys, times = summed(tag_set * size + pattern, len(groups.lengths) * size, times)
    tag_set, pattern = np.divmod(keys, max(1, size))
    return _spread(tag_set, pattern, times, groups, size)


def count_rows(patterns: Patterns, counts: GroupCounts) -> GroupCounts:
    """Count the rows of statistics of each group.

    Args:
        patterns: The patterns.
        counts: The patterns of each group.

    Returns:
        The counts of rows with numbers.
    """
    items = patterns.sequences.items
    if len(items) == len(patterns) and (items[1:] > items[:-1]).all():
        # each pattern is one row
        kept = patterns.has_numbers[items[counts.code]]
        group, code, times = (part[kept] for part in counts)
        return GroupCounts(group, items[code], times)
    lengths = patterns.sequences.lengths[counts.code]
    starts = patterns.sequences.starts[counts.code]
    rows = items[expanded(starts, lengths)]
    has_numbers = patterns.has_numbers[rows]
    group, times = np.repeat(counts.group, lengths), np.repeat(counts.times, lengths)
    size, groups = patterns.rows.height, int(counts.group.max(initial=0)) + 1
    keys = group[has_numbers] * size + rows[has_numbers]
    keys, times = summed(keys, groups * size, times[has_numbers])
    return GroupCounts(*np.divmod(keys, max(1, size)), times)


def _spread(
    tag_set: Codes, pattern: Codes, times: Codes, groups: Ragged, size: int
) -> GroupCounts:
    """Count what tag sets have for each of their groups."""
    lengths = groups.lengths[tag_set]
    group = groups.items[expanded(groups.starts[tag_set], lengths)]
    keys = group * size + np.repeat(pattern, lengths)
    count = int(groups.items.max(initial=0)) + 1
    keys, times = summed(keys, count * size, np.repeat(times, lengths))
    return GroupCounts(*np.divmod(keys, max(1, size)), times)


def merge_rows(
    patterns: Patterns,
    counts: GroupCounts,
    merges: Mapping[str, MergeKind],
    is_apart: bool = False,
) -> pl.DataFrame:
    """Merge the statistics of each group.

    Args:
        patterns: The patterns.
        counts: The rows of each group.
        merges: How each number column merges, where not by `sum`.
        is_apart: Whether replications are kept apart, as the first of the keys.

    Returns:
        `group`, the keys, and the merged columns, sorted by group and keys.
    """
    keys = [*([REPLICATION] if is_apart else []), *patterns.keys]
    key_of_row, distinct = number_rows(patterns.rows.select(all_named(keys)))
    if not keys:
        key_of_row = np.zeros(patterns.rows.height, dtype=np.int64)
    together = counts.group * max(1, distinct.height) + key_of_row[counts.code]
    code, times = counts.code, counts.times
    if (together[1:] < together[:-1]).any():
        order = np.argsort(together, kind="stable")
        together, code, times = (part[order] for part in (together, code, times))
    starts = np.flatnonzero(np.diff(together, prepend=-1))
    group, key = np.divmod(together[starts], max(1, distinct.height))
    values = {name: patterns.values(name)[code] for name in patterns.columns}
    merged = [pl.Series("group", group, dtype=pl.Int64)]
    if keys:
        merged += distinct[key].get_columns()
    for name, numbers in values.items():
        merged += _merge_column(name, merges.get(name, "sum"), numbers, times, starts)
    frame = pl.DataFrame(merged)
    return frame.with_columns(_comoments(frame, values, merges, times, starts))


def _merge_column(
    name: str, merge: MergeKind, values: Floats, times: Codes, starts: Codes
) -> list[pl.Series]:
    if merge == "sum":
        return [pl.Series(name, exact_sums(values, times, starts))]
    if merge == "moments":
        return _moments(name, values, times, starts)
    if merge == "values":
        lengths = np.diff(np.append(starts, len(values)))
        part = np.repeat(np.repeat(np.arange(len(starts)), lengths), times)
        flat = pl.DataFrame({"part": part, "value": np.repeat(values, times)})
        lists = flat.group_by("part", maintain_order=True).agg("value")["value"]
        return [lists.cast(pl.List(pl.Float64)).alias(name)]
    reduce = np.minimum if merge == "min" else np.maximum
    extremes = reduce.reduceat(values, starts) if len(starts) else np.empty(0)
    return [pl.Series(name, extremes, dtype=pl.Float64)]


def _moments(name: str, values: Floats, times: Codes, starts: Codes) -> list[pl.Series]:
    sizes = np.add.reduceat(times, starts) if len(starts) else np.empty(0)
    means = exact_sums(values, times, starts) / sizes
    lengths = np.diff(np.append(starts, len(values)))
    with np.errstate(over="ignore", invalid="ignore"):
        squares = (values - np.repeat(means, lengths)) ** 2
    return [
        pl.Series(f"{name}_count", sizes, dtype=pl.Float64),
        pl.Series(f"{name}_mean", means, dtype=pl.Float64),
        pl.Series(f"{name}_m2", exact_sums(squares, times, starts), dtype=pl.Float64),
    ]


def _comoments(
    frame: pl.DataFrame,
    values: Mapping[str, Floats],
    merges: Mapping[str, MergeKind],
    times: Codes,
    starts: Codes,
) -> list[pl.Series]:
    columns = []
    for pair in moment_pairs([*values], merges):
        lengths = np.diff(np.append(starts, len(times)))
        with np.errstate(over="ignore", invalid="ignore"):
            one, other = (
                values[name] - np.repeat(frame[f"{name}_mean"].to_numpy(), lengths)
                for name in pair
            )
            products = one * other
        sums = exact_sums(products, times, starts)
        columns.append(
            pl.Series(f"{pair[0]}_{pair[1]}_comoment", sums, dtype=pl.Float64)
        )
    return columns


def moment_pairs(
    columns: Sequence[str], merges: Mapping[str, MergeKind]
) -> list[tuple[str, str]]:
    """Return the pairs of columns that have a co-moment, in alphabetical order."""
    moments = sorted(name for name in columns if merges.get(name) == "moments")
    return list(combinations(moments, 2))


def exact_sums(values: Floats, times: Codes, starts: Codes) -> Floats:
    """Sum parts of an array, each value as often as it is counted.

    Args:
        values: The values.
        times: How often each counts.
        starts: Where each part starts.

    Returns:
        One sum for each part, rounded once; infinite where it is too large.
    """
    if not len(starts):
        return np.empty(0)
    is_whole = (values == np.rint(values)).all()
    if is_whole and float(np.abs(values).max()) * float(times.sum()) < 2**53:
        # sums of whole numbers are exact in any order
        whole: Floats = np.add.reduceat(values * times, starts)
        return whole
    ends = pairwise([*starts.tolist(), len(values)])
    return np.array([exact_sum(values[a:b], times[a:b]) for a, b in ends])
