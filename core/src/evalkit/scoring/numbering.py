"""Numbers for equal values, rows and sequences.

Every number follows from the set of distinct values alone, in their sorted order. It
depends neither on the order of the rows nor on how often a value occurs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

Codes = NDArray[np.int64]

_PACKED_BITS = 62

_MOST_FLAGS = 8
"""Numbers of a range for each value up to which they are marked instead of sorted."""


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
        return Ragged(self.items[expanded(self.starts[places], lengths)], lengths)


def expanded(starts: Codes, lengths: Codes) -> Codes:
    """Return the indices of ranges, one range after the other."""
    shift = starts - (np.cumsum(lengths) - lengths)
    indices: Codes = np.arange(int(lengths.sum())) + np.repeat(shift, lengths)
    return indices


def dense(values: Codes, size: int) -> tuple[Codes, Codes]:
    """Renumber integers without gaps, in their order."""
    if size <= _MOST_FLAGS * (len(values) + 1_000):
        is_present = np.zeros(size, dtype=bool)
        is_present[values] = True
        numbers: Codes = np.cumsum(is_present) - 1
        return numbers[values], np.flatnonzero(is_present)
    distinct, codes = np.unique(values, return_inverse=True)
    return codes, distinct


def summed(keys: Codes, size: int, times: Codes) -> tuple[Codes, Codes]:
    """Add counts of equal keys."""
    if (keys[1:] > keys[:-1]).all():
        return keys, times
    if size <= _MOST_FLAGS * (len(keys) + 1_000):
        sums = np.bincount(keys, weights=times, minlength=size)
        distinct = np.flatnonzero(sums)
        return distinct, sums[distinct].astype(np.int64)
    distinct, codes = np.unique(keys, return_inverse=True)
    return distinct, np.bincount(codes, weights=times).astype(np.int64)


def places_of(codes: Codes, count: int) -> Codes:
    """Return a place of each of the numbers 0 to `count` - 1."""
    places = np.zeros(count, dtype=np.int64)
    places[codes] = np.arange(len(codes))
    return places


def number_column(column: pl.Series) -> tuple[Codes, int]:
    """Number the distinct values of a column in sorted order, null last.

    An empty list and null are one.
    """
    column = column.alias("")  # polars would take a name such as ^a$ for a pattern
    if column.null_count() == len(column):
        return np.zeros(len(column), dtype=np.int64), 1
    if isinstance(column.dtype, pl.List):
        lengths = column.list.len().fill_null(0).to_numpy().astype(np.int64)
        items, _ = number_column(column.filter(column.list.len() > 0).explode())
        codes, first = number_sequences(Ragged(items, lengths))
        return codes, len(first)
    if column.dtype in (pl.Enum, pl.Boolean):
        column = column.to_physical().cast(pl.UInt32)
    if column.dtype.is_signed_integer():
        column = column.cast(pl.Int64)  # the range of a small type may not fit into it
    if column.dtype.is_integer() or column.dtype.is_float():
        codes, distinct = dense(*_number_codes(column))
        return codes, len(distinct)
    values = column.unique().sort(nulls_last=True)
    numbers = pl.DataFrame({"value": values}).with_row_index("number")
    matched = pl.DataFrame({"value": column}).join(
        numbers, on="value", nulls_equal=True, how="left", maintain_order="left"
    )
    return matched["number"].to_numpy().astype(np.int64), len(values)


def _number_codes(column: pl.Series) -> tuple[Codes, int]:
    known = column.drop_nulls() if column.null_count() else column
    values = known.to_numpy()
    low, high = values.min(), values.max()
    if low == high and len(known) == len(column):
        return np.zeros(len(column), dtype=np.int64), 1
    if (
        float(high) - float(low) < _MOST_FLAGS * (len(values) + 1_000)
        and (values == np.rint(values)).all()
    ):
        codes = (values - low).astype(np.int64)
    else:
        codes = np.unique(values, return_inverse=True)[1]
    if len(known) == len(column):
        return codes, int(codes.max()) + 1
    filled = np.full(len(column), codes.max() + 1, dtype=np.int64)
    filled[column.is_not_null().to_numpy()] = codes
    return filled, int(codes.max()) + 2


def number_rows(frame: pl.DataFrame) -> tuple[Codes, pl.DataFrame]:
    """Number the distinct rows of a frame, sorted by its columns."""
    codes, count = np.zeros(frame.height, dtype=np.int64), 1
    for column in frame.get_columns():
        own, size = number_column(column)
        if count == 1:
            codes, count = own, size
        elif size > 1:
            codes, distinct = dense(codes * size + own, count * size)
            count = len(distinct)
    return codes, frame[places_of(codes, count if frame.height else 0)]


def number_sequences(sequences: Ragged) -> tuple[Codes, Codes]:
    """Number the distinct sequences.

    As many neighbors as fit are packed into one number, and the numbers are numbered,
    until one is left. That takes time in proportion to the items.
    """
    items, lengths = sequences
    if len(items) and (lengths == 1).all():
        numbers, distinct = dense(items, int(items.max()) + 1)
        return numbers, places_of(numbers, len(distinct))
    longest = int(lengths.max(initial=0))
    while longest:
        base = int(items.max()) + 2
        many = min(longest, int(_PACKED_BITS / math.log2(base)))
        starts, parts = np.cumsum(lengths) - lengths, -(-lengths // many)
        place = many * expanded(np.zeros_like(parts), parts) + np.repeat(starts, parts)
        ends = np.repeat(starts + lengths, parts)
        packed = np.zeros(len(place), dtype=np.int64)
        for _ in range(many):
            packed *= base
            is_inside = place < ends
            packed[is_inside] += items[place[is_inside]] + 1
            place += 1
        items, _ = dense(packed, base**many)
        longest, lengths = (0 if longest <= many else int(parts.max())), parts
    is_empty = lengths == 0
    count = int(is_empty.any())
    numbers = np.zeros(len(lengths), dtype=np.int64)
    numbers[~is_empty] = items + count
    return numbers, places_of(numbers, count + int(items.max(initial=-1)) + 1)


def merge_sequences(
    parts: Sequence[Ragged], sizes: Sequence[int], codes: Codes
) -> tuple[Ragged, list[Codes]]:
    """Number the distinct sequences of several parts together.

    The items of each part are numbered from 0 below its size; `codes` are the new
    numbers of the items of all parts, one part after the other.
    """
    shifts = np.cumsum([0, *sizes])[:-1]
    items = [
        codes[part.items + shift] for part, shift in zip(parts, shifts, strict=True)
    ]
    lengths = [part.lengths for part in parts]
    together = Ragged(np.concatenate(items), np.concatenate(lengths))
    numbers, first = number_sequences(together)
    ends = np.cumsum([len(each) for each in lengths])[:-1]
    return together.take(first), list(np.split(numbers, ends))
