from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.scoring.numbering import (
    Ragged,
    number_column,
    number_rows,
    number_sequences,
)

lists = st.lists(st.lists(st.integers(0, 3), max_size=9), min_size=1, max_size=20)


def ragged(sequences: list[list[int]]) -> Ragged:
    lengths = np.array([len(one) for one in sequences], dtype=np.int64)
    items = np.array([item for one in sequences for item in one], dtype=np.int64)
    return Ragged(items, lengths)


@given(lists)
def test_equal_sequences_have_equal_numbers(sequences: list[list[int]]) -> None:
    numbers, first = number_sequences(ragged(sequences))
    by_number: dict[int, list[int]] = {}
    for number, sequence in zip(numbers.tolist(), sequences, strict=True):
        assert by_number.setdefault(number, sequence) == sequence
    distinct = {tuple(sequence) for sequence in sequences}
    assert sorted(by_number) == list(range(len(distinct)))
    assert [by_number[n] for n in range(len(first))] == [sequences[p] for p in first]


@given(lists, st.randoms())
def test_numbers_of_sequences_do_not_depend_on_order(
    sequences: list[list[int]], random: Any
) -> None:
    numbers, _ = number_sequences(ragged(sequences))
    order = list(range(len(sequences)))
    random.shuffle(order)
    shuffled = [sequences[place] for place in [*order, *order]]
    again, _ = number_sequences(ragged(shuffled))
    assert again.tolist() == numbers[[*order, *order]].tolist()


@pytest.mark.parametrize(
    "values",
    [
        [3, 1, None, 3],
        [0.5, -0.25, None, 0.5],
        [1e300, -1e300, float("inf"), 1e300],
        ["b", "a", None, "b"],
        [True, False, None, True],
        [None, None],
        [],
    ],
)
def test_columns_are_numbered_in_sorted_order(values: list[Any]) -> None:
    column = pl.Series("column", values, strict=False)
    codes, count = number_column(column)
    distinct = sorted({value for value in values if value is not None})
    expected = [*distinct, None] if None in values else distinct
    assert codes.tolist() == [expected.index(value) for value in values]
    assert count == max(1, len(expected)) or not values


def test_rows_are_sorted_by_their_columns() -> None:
    frame = pl.DataFrame({"key": ["b", "a", "b"], "number": [1.0, 2.0, 0.5]})
    codes, distinct = number_rows(frame)
    assert codes.tolist() == [2, 0, 1]
    assert distinct.rows() == [("a", 2.0), ("b", 0.5), ("b", 1.0)]


def test_long_sequences_take_linear_time() -> None:
    items = np.arange(1_000_000, dtype=np.int64)
    lengths = np.array([999_000, 1_000], dtype=np.int64)
    numbers, _ = number_sequences(Ragged(items, lengths))
    assert sorted(numbers.tolist()) == [0, 1]
