"""Types of columns that are inferred from values, merged from parts to the whole."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from typing import Any

import polars as pl

from evalkit.base.columns import encode, frame_of, native


def type_of(column: pl.Series) -> pl.DataType | None:
    """Return the type of a column; None for one without a value, which says nothing."""
    return column.dtype if column.count() else None


def common_type(types: Iterable[pl.DataType | None]) -> pl.DataType | None:
    """Return the type of a column of which parts have these types.

    Integers and floats are floats. Other types that differ are texts: a text as it is,
    any other value as JSON.
    """
    known = dict.fromkeys(each for each in types if each is not None)
    return reduce(_pair, known) if known else None


def _pair(one: pl.DataType, other: pl.DataType) -> pl.DataType:
    if one == other:
        return one
    if {one, other} == {pl.Int64(), pl.Float64()}:
        return pl.Float64()
    if isinstance(one, pl.List) and isinstance(other, pl.List):
        inner: Any = [each.inner for each in (one, other) if each.inner != pl.Null]
        return pl.List(common_type(inner) or pl.String)
    if isinstance(one, pl.Struct) and isinstance(other, pl.Struct):
        fields = {f.name: f.dtype for each in (one, other) for f in each.fields}
        return pl.Struct({name: fields[name] for name in sorted(fields)})
    return pl.String()


def conformed(column: pl.Series, dtype: pl.DataType | None) -> pl.Series:
    """Bring a column of a part into the type that it has in the whole."""
    if dtype is None or column.dtype == dtype:
        return column
    if not column.count():
        return pl.Series(column.name, [None] * len(column), dtype)
    if isinstance(dtype, pl.Struct):
        return pl.Series(
            column.name, [value and dict(value) for value in column], dtype
        )
    if dtype == pl.String:
        return pl.Series(column.name, _texts(column.to_list()), dtype)
    if dtype == pl.List(pl.String):
        lists = [value and _texts(value) for value in column.to_list()]
        return pl.Series(column.name, lists, dtype)
    return column.cast(dtype)


def _texts(values: Sequence[object]) -> list[str | None]:
    return [encode(native(value)) for value in values]


def conformed_frame(
    frame: pl.DataFrame, schema: Mapping[str, pl.DataType]
) -> pl.DataFrame:
    """Bring a table of a part into the columns and types of the whole."""
    nothing = pl.Series([None]).new_from_index(0, frame.height)
    return frame_of(
        conformed(frame[name] if name in frame.columns else nothing.alias(name), dtype)
        for name, dtype in schema.items()
    )
