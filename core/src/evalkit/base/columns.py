"""Makes polars columns of Python values, without guessing, and takes them by name."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Sequence
from datetime import date, time
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

import numpy as np
import polars as pl
import polars.selectors as cs

_INT64 = range(-(2**63), 2**63)
_FLOAT64 = range(-(10**308), 10**308)


def is_pattern(name: str) -> bool:
    """Tell whether polars may take a name for a pattern: `*`, `^a.*$`."""
    return "*" in name or name.startswith("^")


def named(name: str) -> pl.Expr:
    """Return the expression of the one column that has a name.

    `pl.col` takes `*` and `^a.*$` for patterns; a user's columns may be called so.
    """
    return all_named([name]).as_expr() if is_pattern(name) else pl.col(name)


def all_named(names: Iterable[str]) -> cs.Selector:
    """Return a selector of the columns that have these names, each once, in this order.

    Polars' methods take texts such as `*` and `^a.*$` for patterns, and never a
    selector of names.
    """
    return cs.by_name(*names)


def unnamed(column: pl.Series) -> pl.Series:
    """Return a column without its name, which many methods of a series would parse."""
    return column.alias("")


def frame_of(columns: Iterable[pl.Series]) -> pl.DataFrame:
    """Make a frame of columns that keep their names, also one with an empty name."""
    return pl.DataFrame({column.name: column for column in columns})


def to_series(name: str, values: Sequence[Any]) -> pl.Series:
    """Make a column of values of one type.

    Texts, booleans, integers, floats and bytes become columns of their type; lists of
    texts become list columns. Dates, times and UUIDs are taken as their texts, Decimals
    as numbers, Enums as their values. Anything else, also values of several types, is
    stored as text: a text as it is, any other value as canonical JSON.
    """
    dtype = _common_type(values)
    if dtype is None:
        values = [native(value) for value in values]
        dtype = _common_type(values)
    if dtype is None:
        values = [encode(value, _known) for value in values]
    if dtype == pl.Float64:
        values = [None if value is None else float(value) for value in values]
    if isinstance(dtype, pl.List):
        return list_column(str(name), values)
    return pl.Series(str(name), values, dtype=dtype or pl.String)


def join_parts(
    name: str,
    parts: Sequence[pl.Series],
    values: Sequence[Any],
    make: Callable[[str, Sequence[Any]], pl.Series] = to_series,
) -> pl.Series:
    """Join columns and further values into one column.

    Mappings to numbers become a column of structs, with the keys in alphabetical order
    and null where one lacks a key, unless most lack most of them. The column is of the
    parts' type where the values have it too.
    """
    joined = pl.concat(parts).alias(name) if parts else None
    if joined is not None and all(value is None for value in values):
        return joined.extend_constant(None, len(values)) if values else joined
    rest = _number_structs(name, values)
    if rest is None:
        rest = make(name, values)
    if joined is None:
        return rest
    if joined.dtype == rest.dtype:
        return joined.append(rest)
    if isinstance(joined.dtype, pl.Struct):
        present = (
            each and {key: part for key, part in each.items() if part is not None}
            for each in joined.to_list()
        )
        together = _number_structs(name, [*present, *values])
        if together is not None:
            return together
    return make(name, [*joined.to_list(), *values])


def _number_structs(name: str, values: Sequence[Any]) -> pl.Series | None:
    mappings = [value for value in values if value is not None]
    if not mappings or not all(isinstance(value, dict) for value in mappings):
        return None
    keys = {key for value in mappings for key in value}
    if not keys or len(keys) > 2 * max(map(len, mappings)):
        return None
    numbers = [number for value in mappings for number in value.values()]
    if {type(number) for number in numbers} - {int, float} or not (
        _are_within(_FLOAT64, numbers)
    ):
        return None
    dtype = pl.Struct({str(key): pl.Float64 for key in sorted(keys, key=str)})
    return pl.Series(name, list(values), dtype=dtype, strict=False)


def list_column(name: str, values: Sequence[Sequence[str] | None]) -> pl.Series:
    """Make a column of lists of texts, without a polars series for every list."""
    count = len(values)
    lengths = [0 if value is None else len(value) for value in values]
    texts = [text for value in values if value is not None for text in value]
    filled = pl.DataFrame(
        {
            "row": np.arange(count).repeat(lengths),
            "texts": pl.Series(texts, dtype=pl.String),
        }
    )
    lists = filled.group_by("row", maintain_order=True).agg("texts")
    given = pl.Series([value is not None for value in values], dtype=pl.Boolean)
    return (
        pl.DataFrame({"row": np.arange(count), "given": given})
        .join(lists, on="row", how="left", maintain_order="left")
        .select(
            pl.when("given")
            .then(pl.col("texts").fill_null(pl.lit([], dtype=pl.List(pl.String))))
            .alias(name)
        )
        .to_series()
    )


def _common_type(values: Sequence[Any]) -> Any:
    types = {type(value) for value in values if value is not None}
    if not types or types == {str}:
        return pl.String
    if types == {bool}:
        return pl.Boolean
    if types == {bytes}:
        return pl.Binary
    if types == {int}:
        return pl.Int64 if _are_within(_INT64, values) else None
    if types <= {int, float}:
        return pl.Float64 if _are_within(_FLOAT64, values) else None
    if types == {list}:
        return _list_type(values)
    return None


def _list_type(values: Sequence[Any]) -> Any:
    items = {type(item) for value in values if value is not None for item in value}
    return pl.List(pl.String) if items <= {str} else None


def _are_within(span: range, values: Sequence[Any]) -> bool:
    return all(value in span for value in values if isinstance(value, int))


def native(value: Any) -> Any:
    """Return the plain Python value of a subclass, a numpy value, a date and so on."""
    if isinstance(value, np.generic | np.ndarray | pl.Series):
        value = value.to_list() if isinstance(value, pl.Series) else value.tolist()
    if isinstance(value, Enum):
        return native(value.value)
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, Decimal):
        # as numbers of tables: without decimal places an integer
        return int(value) if value.as_tuple().exponent == 0 else _as_float(value)
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, float):
        return float(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return int(value)
    if isinstance(value, list | tuple):
        return [native(item) for item in value]
    return value


def _as_float(value: Decimal) -> float:
    number = float(value)
    if value.is_finite() and (math.isinf(number) or (number == 0) != (value == 0)):
        raise ValueError("a Decimal that no float holds")
    return number


def encode(value: Any, default: Callable[[Any], Any] = str) -> str | None:
    """Write a value as text: a text as it is, anything else as canonical JSON.

    `default` returns what stands for a value that JSON lacks.
    """
    if value is None or isinstance(value, str):
        return value
    try:
        return json.dumps(value, ensure_ascii=False, sort_keys=True, default=default)
    except (TypeError, RecursionError) as error:
        raise ValueError(str(error)) from error


def _known(value: Any) -> Any:
    """Return a value as JSON knows it; refuse what would only look like a text."""
    plain = native(value)
    if plain is value:
        kind = type(value)
        raise ValueError(f"{kind.__module__}.{kind.__qualname__} is not known to JSON")
    return plain


def is_text_only(values: Sequence[Any]) -> bool:
    """Tell whether all values are texts or None."""
    return {type(value) for value in values} <= {str, type(None)}


def unstorable_place(values: Sequence[Any]) -> int:
    """Find the value for which `to_series` cannot make a column.

    That is the first that cannot be stored by itself; else the first bytes, which
    cannot stand beside values of other types.
    """
    for place, value in enumerate(values):
        try:
            to_series("", [value])
        except ValueError:
            return place
    return next((n for n, each in enumerate(values) if isinstance(each, bytes)), 0)
