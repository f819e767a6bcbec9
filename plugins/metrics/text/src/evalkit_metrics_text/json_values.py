"""JSON as the values that it holds, by their places."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

Place = tuple[tuple[str, str | int], ...]
"""Keys (`("key", "city")`) and indices (`("index", 0)`) that lead to a value."""

Leaves = dict[Place, tuple[str, Any]]
"""Kind and value of everything that is no list or object, or an empty one."""

_EMPTY: tuple[Any, ...] = (None, {}, [])


def read_column(
    column: pl.Series, *, several: bool = False
) -> Iterator[list[Leaves | None]]:
    """Read a column of JSON texts, or of values of any type.

    Args:
        column: Predictions or answers.
        several: Whether each is a list of acceptable ones.

    Yields:
        For each row its values; None where there is none, or no JSON.
    """
    dtype: Any = column.dtype
    inner = dtype.inner if several else dtype
    for value in column.to_list():
        rows = (value or []) if several else [value]
        yield [None if row is None else _leaves(row, inner) for row in rows]


def _leaves(value: Any, dtype: Any) -> Leaves | None:
    try:
        found = (
            json.loads(value, parse_constant=_refuse)
            if isinstance(value, str)
            else _without_entries(value, dtype)
        )
        return leaves_of(found)
    except (ValueError, RecursionError):
        return None


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is no JSON")


def leaves_of(value: Any, place: Place = ()) -> Leaves:
    """Return what a value holds, by place.

    Args:
        value: Anything that JSON can be, or that polars has.
        place: Where it stands.

    Returns:
        At least one leaf. Two values are the same where their leaves are.
    """
    parts: Sequence[tuple[tuple[str, Any], Any]] = ()
    if isinstance(value, Mapping):
        parts = [(("key", key), part) for key, part in value.items()]
    elif isinstance(value, list):
        parts = [(("index", i), part) for i, part in enumerate(value)]
    if not parts:
        return {place: (_kind(value), None if value in _EMPTY else value)}
    found: Leaves = {}
    for step, part in parts:
        found |= leaves_of(part, (*place, step))
    return found


def _kind(value: Any) -> str:
    """Say of which kind a value is, as True and 1 are equal in Python."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return "number"
    return type(value).__name__


def _without_entries(value: Any, dtype: Any) -> Any:
    """Turn maps, which columns have as lists of entries, into dicts."""
    if isinstance(dtype, pl.Struct) and value is not None:
        return {
            field.name: _without_entries(value[field.name], field.dtype)
            for field in dtype.fields
        }
    if not isinstance(dtype, pl.List) or value is None:
        return value
    entry = dtype.inner
    if isinstance(entry, pl.Struct):
        types = {field.name: field.dtype for field in entry.fields}
        if list(types) == ["key", "value"]:
            held = types["value"]
            return {
                each["key"]: _without_entries(each["value"], held) for each in value
            }
    return [_without_entries(each, entry) for each in value]
