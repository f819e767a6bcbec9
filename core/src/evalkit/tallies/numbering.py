"""Numbers for equal values, rows and sequences.

Every number follows from the set of distinct values alone, in their sorted order. It
depends neither on the order of the rows nor on how often a value occurs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

Codes = NDArray[np.int64]

_MOST_FLAGS = 4_000_000
"""Size of a range of numbers that is always marked in an array instead of sorted."""


class Ragged(NamedTuple):
    """Sequences of numbers, one after the other."""

    items: Codes
    lengths: Codes

    @property
    def starts(self) -> Codes:
        """Where each sequence starts."""
        starts: Codes = np.cumsum(self.lengths) - self.lengths
        return starts

    def owners(self) -> Codes:
        """Return for each item the number of its sequence."""
        return np.repeat(np.arange(len(self.lengths)), self.lengths)

    def take(self, places: Codes) -> Ragged:
        """Return some of the sequences, in the given order."""
        lengths = self.lengths[places]
        indices = expanded(self.starts[places], lengths)
        return Ragged(self.items[indices], lengths)


def joined(parts: Sequence[Ragged]) -> Ragged:
    """Join sequences of several parts."""
    return Ragged(
        np.concatenate([part.items for part in parts]),
        np.concatenate([part.lengths for part in parts]),
    )


def expanded(starts: Codes, lengths: Codes) -> Codes:
    """Return the indices of ranges, one range after the other."""
    shift = starts - (np.cumsum(lengths) - lengths)
    indices: Codes = np.arange(int(lengths.sum())) + np.repeat(shift, lengths)
    return indices


def dense(values: Codes, size: int) -> tuple[Codes, Codes]:
    """Renumber integers without gaps, in their order.

    Args:
        values: Integers from 0 to below `size`.
        size: The size of their range.

    Returns:
        The new number of each value, and the distinct values.
    """
    if size <= max(_MOST_FLAGS, 4 * len(values)):
        is_present = np.zeros(size, dtype=bool)
        is_present[values] = True
        numbers: Codes = np.cumsum(is_present) - 1
        return numbers[values], np.flatnonzero(is_present)
    distinct, codes = np.unique(values, return_inverse=True)
    return codes, distinct


def summed(keys: Codes, size: int, times: Codes) -> tuple[Codes, Codes]:
    """Add counts of equal keys.

    Args:
        keys: Integers from 0 to below `size`.
        size: The size of their range.
        times: The count of each.

    Returns:
        The distinct keys, sorted, and the sum of their counts.
    """
    if (keys[1:] > keys[:-1]).all():
        return keys, times
    codes, distinct = dense(keys, size)
    sums = np.bincount(codes, weights=times, minlength=len(distinct))
    return distinct, sums.astype(np.int64)


def first_places(codes: Codes, count: int) -> Codes:
    """Return where each of the numbers 0 to `count` - 1 occurs first."""
    first = np.zeros(count, dtype=np.int64)
    first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
    return first


def number_column(column: pl.Series) -> tuple[Codes, int]:
    """Number the distinct values of a column in sorted order, null last.

    Args:
        column: Texts, numbers, or another type that polars sorts.

    Returns:
        The number of each value, and how many there are.
    """
    raw, size = _raw_codes(column)
    codes, distinct = dense(raw, size)
    if column.dtype.is_numeric() or column.dtype in (pl.Boolean, pl.Enum, pl.Null):
        return codes, len(distinct)
    values = column.gather(first_places(codes, len(distinct))).alias("")
    order = values.arg_sort(nulls_last=True).to_numpy()
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return rank[codes], len(order)


def _raw_codes(column: pl.Series) -> tuple[Codes, int]:
    """Give equal values equal numbers; in sorted order for numbers."""
    if column.null_count() == len(column):
        return np.zeros(len(column), dtype=np.int64), 1
    if isinstance(column.dtype, pl.Enum):
        return _number_codes(column.to_physical())
    if column.dtype == pl.String:
        physical = column.cast(pl.Categorical).to_physical().cast(pl.Int64)
        return _nulls_last(physical)
    if column.dtype == pl.Boolean:
        return _number_codes(column.cast(pl.UInt8))
    if column.dtype.is_integer() or column.dtype.is_float():
        return _number_codes(column)
    unique = column.alias("").unique(maintain_order=True)
    numbers = pl.DataFrame({"value": unique}).with_row_index("number")
    matched = pl.DataFrame({"value": column}).join(
        numbers, on="value", nulls_equal=True, how="left", maintain_order="left"
    )
    return matched["number"].to_numpy().astype(np.int64), len(unique)


def _number_codes(column: pl.Series) -> tuple[Codes, int]:
    known = column.drop_nulls() if column.null_count() else column
    values = known.to_numpy()
    low, high = float(values.min()), float(values.max())
    if low == high and len(known) == len(column):
        return np.zeros(len(column), dtype=np.int64), 1
    if high - low < _MOST_FLAGS and (values == np.rint(values)).all():
        codes = (values - values.min()).astype(np.int64)
    else:
        codes = np.unique(values, return_inverse=True)[1]
    if len(known) == len(column):
        return codes, int(codes.max()) + 1
    filled = np.full(len(column), codes.max() + 1, dtype=np.int64)
    filled[column.is_not_null().to_numpy()] = codes
    return filled, int(codes.max()) + 2


def _nulls_last(codes: pl.Series) -> tuple[Codes, int]:
    highest = codes.max()
    null = 0 if highest is None else int(str(highest)) + 1
    return codes.fill_null(null).to_numpy(), null + 1


def number_rows(frame: pl.DataFrame) -> tuple[Codes, pl.DataFrame]:
    """Number the distinct rows of a frame, sorted by its columns.

    Args:
        frame: The rows.

    Returns:
        The number of each row, and the distinct rows.
    """
    codes, count = np.zeros(frame.height, dtype=np.int64), 1
    for column in frame.get_columns():
        own, size = number_column(column)
        if size > 1:
            codes, distinct = dense(codes * size + own, count * size)
            count = len(distinct)
    return codes, frame[first_places(codes, count if frame.height else 0)]


def number_sequences(sequences: Ragged) -> tuple[Codes, Codes]:
    """Number the distinct sequences.

    Neighbors are paired and the pairs are numbered until one number is left, which
    takes time in proportion to the items.

    Args:
        sequences: Sequences of numbers from 0.

    Returns:
        The number of each sequence, and where each number occurs first.
    """
    items, lengths = sequences
    if (lengths == 1).all():
        numbers, distinct = dense(items, int(items.max(initial=0)) + 1)
        return numbers, first_places(numbers, len(distinct))
    numbers = np.zeros(len(lengths), dtype=np.int64)
    count = int((lengths == 0).any())
    active = np.flatnonzero(lengths > 0)
    lengths = lengths[active]
    while len(active):
        size = int(items.max()) + 1
        starts = np.cumsum(lengths) - lengths
        is_single = lengths == 1
        codes, distinct = dense(items[starts[is_single]], size)
        numbers[active[is_single]] = codes + count
        count += len(distinct)
        active, starts, lengths = (
            part[~is_single] for part in (active, starts, lengths)
        )
        items, lengths = _paired(items, starts, lengths, size)
    return numbers, first_places(numbers, count)


def _paired(
    items: Codes, starts: Codes, lengths: Codes, size: int
) -> tuple[Codes, Codes]:
    """Replace each two neighbors by the number of their pair."""
    halves = (lengths + 1) // 2
    within = np.arange(int(halves.sum())) - np.repeat(
        np.cumsum(halves) - halves, halves
    )
    first = np.repeat(starts, halves) + 2 * within
    has_second = 2 * within + 1 < np.repeat(lengths, halves)
    second = np.zeros(len(first), dtype=np.int64)
    second[has_second] = items[first[has_second] + 1] + 1
    pairs, _ = dense(items[first] * (size + 1) + second, size * (size + 1))
    return pairs, halves
