"""Which columns hold few and short values."""

from __future__ import annotations

import polars as pl

from evalkit.base.columns import unnamed

MOST_VALUES = 50
"""Distinct values that a small column may have."""
LONGEST_VALUE = 64
"""Characters that each of them may have."""


def is_small(column: pl.Series) -> bool:
    """Tell whether a column has at most 50 values of at most 64 characters.

    Args:
        column: A column; of lists or objects it is never small.
    """
    column = column.alias("value")  # polars takes some names for patterns
    dtype = column.dtype
    if dtype.is_nested() or dtype.is_object() or dtype == pl.Binary:
        return False
    if column.n_unique() - (column.null_count() > 0) > MOST_VALUES:
        return False
    if dtype != pl.String:
        return True
    longest = unnamed(column).str.len_chars().max()
    return longest is None or int(str(longest)) <= LONGEST_VALUE
