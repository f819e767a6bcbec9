"""The one type that a field of a model has as a column, and values of that type.

The type follows from the annotation alone, never from the values that happen to be
there, so that it is the same whichever way the rows came.
"""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from functools import reduce
from operator import or_
from pathlib import PurePath
from typing import (
    Annotated,
    Any,
    Literal,
    NotRequired,
    Required,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)
from uuid import UUID

import polars as pl
from pydantic import (
    AnyUrl,
    AwareDatetime,
    BaseModel,
    NaiveDatetime,
    PlainSerializer,
    WrapSerializer,
)
from pydantic.fields import FieldInfo

from evalkit.base.columns import is_pattern, list_column

_DATETIME = pl.Datetime("us", "UTC")

_PLAIN: Mapping[Any, pl.DataType] = {
    str: pl.String(),
    bool: pl.Boolean(),
    int: pl.Int64(),
    float: pl.Float64(),
    bytes: pl.Binary(),
    Decimal: pl.Float64(),
    date: pl.Date(),
    datetime: _DATETIME,
    AwareDatetime: _DATETIME,
    NaiveDatetime: pl.Datetime("us"),
    time: pl.Time(),
    timedelta: pl.Duration("us"),
    UUID: pl.String(),
}

_ALIKE = (list, tuple, set, frozenset, Sequence)
_KEY, _VALUE = "key", "value"
_INT64 = range(-(2**63), 2**63)


class MisfitError(ValueError):
    """A value is not of the type of its column; the text says what it is."""


def field_type(
    annotation: Any, labels: Sequence[str] | None = None
) -> pl.DataType | None:
    """Return the type of a field's column.

    | annotation | type |
    |---|---|
    | `str`, UUID, path, URL, `Literal` and `Enum` of texts | String |
    | `bool` | Boolean |
    | `int`, `Literal` and `Enum` of integers | Int64 |
    | `float`, Decimal, `int` or `float` | Float64 |
    | `bytes` | Binary |
    | `date`, `time`, `timedelta` | Date, Time, Duration in microseconds |
    | `datetime` | Datetime in microseconds, UTC; a time without a zone is one of UTC |
    | pydantic's `NaiveDatetime` | Datetime in microseconds, without a zone |
    | `list[T]`, `tuple[T, ...]`, `set[T]`, `Sequence[T]` | List of the type of T |
    | model, `TypedDict`, dataclass | Struct of its fields, in their order |
    | `dict[str, T]`, `Mapping[str, T]` | List of Struct of `key` and `value`, by key |
    | `dict[str, float]` or `dict[str, Any]`, with labels | Struct: Float64 by label |
    | `Optional[T]`, `Annotated[T, …]` | the type of T; every column may hold null |

    Args:
        annotation: The annotation of a field.
        labels: The labels, for a field that maps them to numbers.

    Returns:
        The type; None for an annotation that says no type, such as `Any`, a union of
        several, or a model that holds itself. Values of such a field are told apart by
        what they are: see `evalkit.base.columns.to_series`.
    """
    if labels and bare(annotation) in (dict[str, Any], dict[str, float]):
        return pl.Struct({label: pl.Float64() for label in sorted({*labels})})
    return _type_of(annotation, ())


def bare(annotation: Any) -> Any:
    """Return what is annotated, without `None`, `Annotated` and names of types."""
    while True:
        origin, arguments = get_origin(annotation), get_args(annotation)
        if origin in (Annotated, Required, NotRequired):
            annotation = arguments[0]
        elif origin in (Union, types.UnionType) and type(None) in arguments:
            others = tuple(each for each in arguments if each is not type(None))
            annotation = reduce(or_, others)
        elif hasattr(annotation, "__value__"):
            annotation = annotation.__value__
        elif hasattr(annotation, "__supertype__"):
            annotation = annotation.__supertype__
        else:
            return annotation


def _type_of(annotation: Any, within: tuple[Any, ...]) -> pl.DataType | None:
    """Return the type of a field of models that are being looked at."""
    if _is_serialized(annotation):
        return None
    annotation = bare(annotation)
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return _joint(_PLAIN.get(type(choice)) for choice in arguments)
    if origin is not None:
        kinds = [_type_of(each, within) for each in arguments if each is not Ellipsis]
        return _generic(origin, kinds)
    if not isinstance(annotation, type) or annotation in within:
        return None
    if annotation in _PLAIN:
        return _PLAIN[annotation]
    if issubclass(annotation, Enum):
        return _joint(_PLAIN.get(type(member.value)) for member in annotation)
    if issubclass(annotation, PurePath | AnyUrl):
        return pl.String()
    return _struct(_fields_of(annotation), (*within, annotation))


def _generic(origin: Any, kinds: Sequence[pl.DataType | None]) -> pl.DataType | None:
    """Return the type of a union, a list or a map of other types."""
    if origin in (Union, types.UnionType):
        return _joint(kinds)
    if origin in _ALIKE:
        inner = _joint(kinds)
        return None if inner is None else pl.List(inner)
    if origin not in (dict, Mapping) or kinds[0] != pl.String or kinds[1] is None:
        return None
    return pl.List(pl.Struct({_KEY: pl.String(), _VALUE: kinds[1]}))


def _is_serialized(annotation: Any) -> bool:
    """Tell whether pydantic gives something else than what is annotated."""
    rules = getattr(annotation, "__metadata__", ())
    return any(isinstance(rule, PlainSerializer | WrapSerializer) for rule in rules)


def _joint(kinds: Iterable[pl.DataType | None]) -> pl.DataType | None:
    """Return the one type that all are; integers and floats are floats."""
    found = list(dict.fromkeys(kinds))
    if len(found) == 2 and {*found} == {pl.Int64(), pl.Float64()}:
        return pl.Float64()
    return found[0] if len(found) == 1 else None


def _struct(
    fields: Mapping[str, Any] | None, within: tuple[Any, ...]
) -> pl.DataType | None:
    if not fields:
        return None
    kinds = {name: _type_of(kind, within) for name, kind in fields.items()}
    if any(map(is_pattern, kinds)):
        return None
    known = {name: kind for name, kind in kinds.items() if kind is not None}
    return pl.Struct(known) if len(known) == len(kinds) else None


def _fields_of(kind: type) -> Mapping[str, Any] | None:
    """Return the annotations of what a class holds; None where that is not known."""
    if issubclass(kind, BaseModel):
        fields = kind.model_fields.values()
        is_plain = not (
            kind.__pydantic_root_model__
            or kind.__pydantic_decorators__.model_serializers
            or kind.__pydantic_decorators__.field_serializers
            or kind.__pydantic_decorators__.computed_fields
            or kind.model_config.get("extra") == "allow"
            or any(field.exclude for field in fields)
        )
        return annotations_of(kind) if is_plain else None
    # pydantic takes those of typing_extensions too, which are no classes of `typing`
    if hasattr(kind, "__required_keys__") or dataclasses.is_dataclass(kind):
        return get_type_hints(kind, include_extras=True)
    return None


def annotations_of(model: type[BaseModel]) -> dict[str, Any]:
    """Return the annotation of each field of a model, with what is said beside it."""
    return {name: _whole(field) for name, field in model.model_fields.items()}


def _whole(field: FieldInfo) -> Any:
    serializers = [
        rule
        for rule in field.metadata
        if isinstance(rule, PlainSerializer | WrapSerializer)
    ]
    return (
        Annotated[field.annotation, serializers[0]]
        if serializers
        else (field.annotation)
    )


def model_types(
    model: type[BaseModel], labels: Sequence[str] | None = None
) -> dict[str, pl.DataType]:
    """Return the types of those fields of a model that have one.

    Args:
        model: The model.
        labels: The labels, for fields that map them to numbers.

    Returns:
        The types by name of the field. A field that has a serializer of its own has
        none, as only the serializer knows what it gives.
    """
    decorators = model.__pydantic_decorators__
    if decorators.model_serializers:
        return {}
    serialized = {
        name
        for each in decorators.field_serializers.values()
        for name in each.info.fields
    }
    if "*" in serialized:
        return {}
    found = {}
    for name, annotation in annotations_of(model).items():
        kind = None
        if name not in serialized and not _is_serialized(annotation):
            kind = field_type(annotation, labels)
        if kind is not None:
            found[name] = kind
    return found


def typed_series(name: str, values: Sequence[Any], dtype: pl.DataType) -> pl.Series:
    """Make a column of a field's type.

    Args:
        name: Name of the column.
        values: The field's values as pydantic returns them; None for null.
        dtype: From `field_type`.

    Returns:
        The column.

    Raises:
        MisfitError: A value is not of that type; `fits` finds it.
    """
    if dtype == pl.List(pl.String) and {*map(type, values)} <= {list, type(None)}:
        items = {type(item) for value in values for item in value or ()}
        if items <= {str}:
            return list_column(name, values)
    try:
        fitted = [fit(value, dtype) for value in values]
        return pl.Series(name, fitted, dtype=dtype)
    except (TypeError, OverflowError, pl.exceptions.PolarsError) as error:
        raise MisfitError(str(error)) from error


def fits(value: Any, dtype: pl.DataType) -> bool:
    """Tell whether a value is of a type."""
    try:
        typed_series("", [value], dtype)
    except ValueError:
        return False
    return True


def fit(value: Any, dtype: pl.DataType) -> Any:
    """Return a value as a column of a type holds it.

    Args:
        value: The value as pydantic returns it.
        dtype: From `field_type`.

    Returns:
        The value: an Enum's own one, a mapping as its entries by key where the type is
        a list, a set as a sorted list.

    Raises:
        MisfitError: It is not of that type.
    """
    if isinstance(value, Enum):
        value = value.value
    if value is None:
        return None
    if isinstance(dtype, pl.List):
        inner = _instance(dtype.inner)
        found: Any = [fit(item, inner) for item in _items(value)]
    elif isinstance(dtype, pl.Struct):
        found = _fields(value, dtype)
    else:
        found = _in_zone(_FITTING[type(dtype)](value), dtype)
    if found is None:
        raise MisfitError(f"a value of the type {type(value).__name__}")
    return found


def _items(value: Any) -> Sequence[Any]:
    if isinstance(value, Mapping):
        return [{_KEY: key, _VALUE: value[key]} for key in sorted(value)]
    if isinstance(value, set | frozenset):
        return sorted(value, key=lambda item: (str(type(item)), item))
    if isinstance(value, list | tuple):
        return value
    raise MisfitError(f"a value of the type {type(value).__name__}")


def _fields(value: Any, dtype: pl.Struct) -> dict[str, Any] | None:
    kinds = {field.name: _instance(field.dtype) for field in dtype.fields}
    if not isinstance(value, Mapping) or not value.keys() <= kinds.keys():
        return None
    return {name: fit(value.get(name), kind) for name, kind in kinds.items()}


def _instance(dtype: Any) -> pl.DataType:
    found: pl.DataType = dtype() if isinstance(dtype, type) else dtype
    return found


def _in_zone(value: Any, dtype: pl.DataType) -> Any:
    """Return a time without a zone as one of the column's, which is UTC or none."""
    if not isinstance(dtype, pl.Datetime):
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
        return float(value) if is_number else None
    except OverflowError:
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

    Args:
        model: The model.
        row: The row.

    Returns:
        The row without the nulls of fields of the model, and with mappings for maps.
    """
    found = dict(row)
    for name, field in model.model_fields.items():
        alias = field.validation_alias
        keys = {name, alias} if isinstance(alias, str) else {name}
        for key in keys & row.keys():
            if row[key] is not None:
                found[key] = _as_mappings(row[key], field.annotation)
            elif not (field.is_required() and may_be_null(field.annotation)):
                del found[key]
    return found


def may_be_null(annotation: Any) -> bool:
    """Tell whether an annotation takes None."""
    while get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    return annotation in (None, type(None), Any) or type(None) in get_args(annotation)


def _as_mappings(value: Any, annotation: Any) -> Any:
    """Return a value with mappings in the place of entries of maps, without nulls."""
    annotation = bare(annotation)
    origin, arguments = get_origin(annotation), get_args(annotation)
    if isinstance(value, list):
        if origin in (dict, Mapping) and all(map(_is_entry, value)):
            value = {entry[_KEY]: entry[_VALUE] for entry in value}
        else:
            inner = arguments[0] if arguments else None
            return [_as_mappings(item, inner) for item in value]
    if isinstance(value, Mapping):
        fields: Mapping[str, Any] = {}
        if isinstance(annotation, type):
            fields = _fields_of(annotation) or {}
        other = arguments[1] if len(arguments) == 2 else None
        return {
            key: _as_mappings(item, fields.get(key, other))
            for key, item in value.items()
            if item is not None
        }
    return value


def _is_entry(item: Any) -> bool:
    return isinstance(item, Mapping) and item.keys() == {_KEY, _VALUE}
