"""Says which values can be scored as they are, and makes columns of them.

Scored are texts, numbers, booleans, and lists of these. Some other values mean one of
them: a date, a time and a UUID their usual text (ISO 8601), a Decimal its number, an
Enum its value. What is left, such as dicts, sets, bytes and objects of a library, has
no column that would keep it, and as a text it would be equal to nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from evalkit.base.columns import encode, native, to_series

PLAIN_TYPES = frozenset({str, bool, int, float, type(None)})
"""Types of values that are scored as they are."""

_MOST_INTEGER = 2**53
"""Where floats begin to lack integers."""


class UnscorableError(ValueError):
    """A value cannot be scored as it is; the text says what it is."""


def scored_value(value: Any) -> Any:
    """Return a value as it is scored."""
    if type(value) in PLAIN_TYPES:
        return value
    kind = unscorable_kind(value)
    if kind is not None:
        raise UnscorableError(
            f"{kind}, which cannot be scored; texts, numbers, booleans and lists of "
            "them can"
        )
    return native(value)


def unscorable_kind(value: Any) -> str | None:
    """Say what a value is that cannot be scored."""
    try:
        return _unscorable(native(value))
    except RecursionError:
        return "nested too deeply"
    except ValueError as error:
        return str(error)


def _unscorable(value: Any) -> str | None:
    """Say what a plain value is that cannot be scored; None for one that can."""
    if type(value) in PLAIN_TYPES:
        return None
    if isinstance(value, list):
        kind = next(filter(None, map(_unscorable, value)), None)
        return kind and f"a list with {kind}"
    if isinstance(value, Mapping):
        return "a dict"
    if isinstance(value, set | frozenset):
        return "a set"
    if isinstance(value, bytes | bytearray | memoryview):
        return "bytes"
    kind_of_it = type(value)
    return f"an object of the type {kind_of_it.__module__}.{kind_of_it.__qualname__}"


def value_column(name: str, values: Sequence[Any]) -> pl.Series:
    """Make a column of values that are scored."""
    if {*map(type, values)} - {type(None)} != {list}:
        return to_series(name, values)
    kind = _list_type(values)
    if kind is not None and kind != pl.List(pl.String):
        return pl.Series(name, values, dtype=kind, strict=False)
    is_deep = any(isinstance(item, list) for value in values for item in value or ())
    if kind is None and not is_deep:
        values = [value and [encode(item) for item in value] for value in values]
    return to_series(name, values)


def _list_type(values: Sequence[Any]) -> Any:
    """Return the type of a column of lists; None where items have no common one."""
    items = [item for value in values if value is not None for item in value]
    types = {type(item) for item in items if item is not None}
    if types == {list}:
        inner = _list_type(items)
        return None if inner is None else pl.List(inner)
    if types <= {str}:
        return pl.List(pl.String)
    if types == {bool}:
        return pl.List(pl.Boolean)
    if not types <= {int, float}:
        return None
    if any(isinstance(item, int) and abs(item) > _MOST_INTEGER for item in items):
        return None
    return pl.List(pl.Int64 if types == {int} else pl.Float64)
