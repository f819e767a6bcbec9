"""Types of columns that are inferred from values, merged from parts to the whole."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import reduce
from typing import Any

import polars as pl

from evalkit.base.columns import encode, native


def type_of(column: pl.Series) -> pl.DataType:
    """Return the type of a column; Null for one without a value, which says nothing."""
    return column.dtype if column.count() else pl.Null()


def common_type(types: Iterable[pl.DataType]) -> pl.DataType:
    """Return the type of a column of which parts have these types.

    Integers and floats are floats. Other types that differ are texts: a text as it is,
    any other value as JSON.
    """
    known = dict.fromkeys(dtype for dtype in types if dtype != pl.Null)
    return reduce(_pair, known) if known else pl.Null()


def common_types(
    parts: Iterable[Mapping[str, pl.DataType]],
) -> dict[str, pl.DataType]:
    """Return the types of the columns of all parts; texts for one without a value."""
    types = defaultdict[str, list[pl.DataType]](list)
    for part in parts:
        for name, dtype in part.items():
            types[name].append(dtype)
    known = {name: common_type(own) for name, own in types.items()}
    return {n: pl.String() if each == pl.Null else each for n, each in known.items()}


def _pair(one: Any, other: Any) -> pl.DataType:
    if one == other:
        return one  # type: ignore[no-any-return]
    if {one, other} == {pl.Int64(), pl.Float64()}:
        return pl.Float64()
    if isinstance(one, pl.List) and isinstance(other, pl.List):
        return pl.List(common_type([one.inner, other.inner]))  # type: ignore[list-item]
    if isinstance(one, pl.Struct) and isinstance(other, pl.Struct):
        fields = {f.name: f.dtype for each in (one, other) for f in each.fields}
        return pl.Struct({name: fields[name] for name in sorted(fields)})
    return pl.String()


def conformed(column: pl.Series, dtype: pl.DataType) -> pl.Series:
    """Bring a column of a part into the type that it has in the whole."""
    if column.dtype == dtype or dtype == pl.Float64:
        return column.cast(dtype)
    values = column.to_list()
    if dtype == pl.String:
        values = [encode(native(value)) for value in values]
    if dtype == pl.List(pl.String):
        values = [v and [encode(native(item)) for item in v] for v in values]
    return pl.Series(column.name, values, dtype)
