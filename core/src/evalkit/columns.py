"""Turns lists of Python values into polars columns, without guessing."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import polars as pl


def to_series(name: str, values: Sequence[Any]) -> pl.Series:
    """Make a column of values of one type.

    Texts, booleans, integers and floats become columns of their type; lists of texts
    become list columns. Anything else, also values of several types, is stored as
    canonical JSON text.

    Args:
        name: Name of the column.
        values: The values; None for null.

    Returns:
        The column.
    """
    dtype = _common_type(values)
    if dtype is None:
        return pl.Series(name, [encode(value) for value in values], dtype=pl.String)
    return pl.Series(name, values, dtype=dtype)


def _common_type(values: Sequence[Any]) -> Any:
    types = {type(value) for value in values if value is not None}
    if not types or types == {str}:
        return pl.String
    if types == {bool}:
        return pl.Boolean
    if types == {int}:
        return pl.Int64 if _fit_64_bits(values) else None
    if types <= {int, float}:
        return pl.Float64
    if types == {list}:
        return _list_type(values)
    return None


def _list_type(values: Sequence[Any]) -> Any:
    items = {type(item) for value in values if value is not None for item in value}
    return pl.List(pl.String) if items <= {str} else None


def _fit_64_bits(values: Sequence[Any]) -> bool:
    return all(value is None or -(2**63) <= value < 2**63 for value in values)


def encode(value: Any) -> str | None:
    """Write a value as canonical JSON text; None stays None."""
    if value is None:
        return None
    return json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
