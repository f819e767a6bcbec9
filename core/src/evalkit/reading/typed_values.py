"""Values in columns of the types that fields have, and back as pydantic takes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from typing import Annotated, Any, get_args, get_origin
from uuid import UUID

import polars as pl
from pydantic import AnyUrl, BaseModel

from evalkit.base.columns import list_column, native
from evalkit.reading.field_types import KEY, VALUE, bare, fields_of

_INT64 = range(-(2**63), 2**63)


class MisfitError(ValueError):
    """A value is not of the type of its column; the text says what it is."""


def typed_series(name: str, values: Sequence[Any], dtype: pl.DataType) -> pl.Series:
    """Make a column of a field's type of values as pydantic returns them."""
    if dtype == pl.List(pl.String) and {*map(type, values)} <= {list, type(None)}:
        items = {type(item) for value in values for item in value or ()}
        if items <= {str}:
            return list_column(name, values)
    try:
        return pl.Series(name, [fit(value, dtype) for value in values], dtype=dtype)
    except (TypeError, OverflowError, pl.exceptions.PolarsError) as error:
        raise MisfitError(str(error)) from error


def fits(value: Any, dtype: pl.DataType) -> bool:
    """Tell whether a value is of a type."""
    try:
        typed_series("", [value], dtype)
    except ValueError:
        return False
    return True


def are_exact(values: Sequence[Any], dtype: pl.DataType) -> pl.Series:
    """Tell which values are just what a column of a planned type returns in Python.

    A tuple in the place of a list is not, though a column would hold the same for it.
    """
    kinds = _EXACT.get(type(dtype), frozenset())
    if kinds and {*map(type, values)} <= kinds:
        return pl.repeat(True, len(values), eager=True)
    return pl.Series([_is_exact(value, dtype) for value in values], dtype=pl.Boolean)


def _is_exact(value: Any, dtype: Any) -> bool:
    if value is None:
        return True
    if isinstance(dtype, pl.List):
        return type(value) is list and all(_is_exact(i, dtype.inner) for i in value)
    if isinstance(dtype, pl.Struct):
        kinds = dict(dtype)
        return (
            type(value) is dict
            and value.keys() <= kinds.keys()
            and all(_is_exact(item, kinds[key]) for key, item in value.items())
        )
    return type(value) in _EXACT[dtype.base_type()]


_EXACT: Mapping[Any, frozenset[type]] = {
    pl.String: frozenset({str, type(None)}),
    pl.Boolean: frozenset({bool, type(None)}),
    pl.Int64: frozenset({int, type(None)}),
    pl.Float64: frozenset({float, int, type(None)}),
}


def large_integers(
    values: Mapping[str, Any], types: Mapping[str, pl.DataType]
) -> list[str]:
    """Name the fields of integers that hold one beyond 64 bits."""
    found = []
    for name, value in values.items():
        if types.get(name) in (pl.Int64, pl.List(pl.Int64)):
            items = value if isinstance(value, list | tuple) else [value]
            if any(isinstance(item, int) and item not in _INT64 for item in items):
                found.append(name)
    return found


def fit(value: Any, dtype: pl.DataType) -> Any:
    """Return a value as a column of a type holds it.

    That is an Enum's own value, a mapping as its entries by key where the type is a
    list, a set as a sorted list.
    """
    if isinstance(value, Enum):
        value = value.value
    if value is None:
        return None
    if isinstance(dtype, pl.List):
        inner = _instance(dtype.inner)
        found: Any = [fit(item, inner) for item in _items(value)]
    elif isinstance(dtype, pl.Struct):
        found = _struct_of(value, dtype)
    else:
        found = _in_zone(_FITTING[type(dtype)](value), dtype)
    if found is None:
        raise MisfitError(f"a value of the type {type(value).__name__}")
    return found


def _items(value: Any) -> Sequence[Any]:
    if isinstance(value, Mapping):
        return [{KEY: key, VALUE: value[key]} for key in sorted(value)]
    if isinstance(value, set | frozenset):
        return sorted(value, key=lambda item: (str(type(item)), item))
    if isinstance(value, list | tuple):
        return value
    raise MisfitError(f"a value of the type {type(value).__name__}")


def _struct_of(value: Any, dtype: pl.Struct) -> dict[str, Any] | None:
    kinds = {field.name: _instance(field.dtype) for field in dtype.fields}
    if not isinstance(value, Mapping) or not value.keys() <= kinds.keys():
        return None
    return {name: fit(value.get(name), kind) for name, kind in kinds.items()}


def _instance(dtype: Any) -> pl.DataType:
    found: pl.DataType = dtype() if isinstance(dtype, type) else dtype
    return found


def _in_zone(value: Any, dtype: pl.DataType) -> Any:
    """Return a time without a zone as one of the column's, which is UTC or none."""
    if value is None or not isinstance(dtype, pl.Datetime):
        return value
    if dtype.time_zone is None:
        return value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value
    return value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC)


def _text(value: Any) -> str | None:
    if isinstance(value, str):
        return str.__str__(value)
    return str(value) if isinstance(value, UUID | PurePath | AnyUrl) else None


def _integer(value: Any) -> int | None:
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    return int(value) if is_whole and value in _INT64 else None


def _number(value: Any) -> float | None:
    is_number = isinstance(value, int | float | Decimal) and not isinstance(value, bool)
    try:
        # a Decimal that no float holds would be infinite or 0
        plain = native(value) if isinstance(value, Decimal) else value
        return float(plain) if is_number else None
    except (OverflowError, ValueError):
        return None


_FITTING: Mapping[Any, Callable[[Any], Any]] = {
    pl.String: _text,
    pl.Boolean: lambda value: value if isinstance(value, bool) else None,
    pl.Int64: _integer,
    pl.Float64: _number,
    pl.Binary: lambda value: (
        bytes(value) if isinstance(value, bytes | bytearray | memoryview) else None
    ),
    pl.Date: lambda value: (
        value if isinstance(value, date) and not isinstance(value, datetime) else None
    ),
    pl.Datetime: lambda value: value if isinstance(value, datetime) else None,
    pl.Time: lambda value: value if isinstance(value, time) else None,
    pl.Duration: lambda value: value if isinstance(value, timedelta) else None,
}


def row_of_table(model: type[BaseModel], row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row of a table as pydantic takes it.

    A table cannot leave a value out. There null is no value, but for a field that has
    no default and may be null; and a map is a list of its entries.
    """
    found = dict(row)
    for name, field in model.model_fields.items():
        alias = field.validation_alias
        keys = {name, alias} if isinstance(alias, str) else {name}
        for key in keys & row.keys():
            if row[key] is not None:
                found[key] = as_mappings(row[key], field.annotation)
            elif not holds_null(model, name):
                del found[key]
    return found


def holds_null(kind: Any, name: str) -> bool:
    """Tell whether a field of a class may be null and has no default.

    There null is a value, and not the lack of one.
    """
    if not isinstance(kind, type):
        return False
    if issubclass(kind, BaseModel) and name in kind.model_fields:
        field = kind.model_fields[name]
        return field.is_required() and may_be_null(field.annotation)
    return may_be_null((fields_of(kind) or {}).get(name, str))


def may_be_null(annotation: Any) -> bool:
    """Tell whether an annotation takes None."""
    while get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    return annotation in (None, type(None), Any) or type(None) in get_args(annotation)


def as_mappings(value: Any, annotation: Any, *, keeps_null: bool = False) -> Any:
    """Return a table's value as pydantic takes it.

    Mappings take the place of entries of maps whose keys are not repeated. Fields of
    structs that are null are left out, or kept.
    """
    annotation = bare(annotation)
    origin, arguments = get_origin(annotation), get_args(annotation)
    if isinstance(value, list):
        if origin in (dict, Mapping) and _are_entries(value):
            value = {entry[KEY]: entry[VALUE] for entry in value}
        else:
            inner = arguments[0] if arguments else None
            return [as_mappings(item, inner, keeps_null=keeps_null) for item in value]
    if isinstance(value, Mapping):
        fields: Mapping[str, Any] = {}
        if isinstance(annotation, type):
            fields = fields_of(annotation) or {}
        other = arguments[1] if len(arguments) == 2 else None
        return {
            key: as_mappings(item, fields.get(key, other), keeps_null=keeps_null)
            for key, item in value.items()
            if keeps_null or item is not None or holds_null(annotation, key)
        }
    return value


def _are_entries(items: Sequence[Any]) -> bool:
    """Tell whether items are the entries of a map, no two of which have one key."""
    are_entries = all(
        isinstance(item, Mapping) and item.keys() == {KEY, VALUE} for item in items
    )
    return are_entries and len({repr(item[KEY]) for item in items}) == len(items)
