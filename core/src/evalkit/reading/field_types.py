"""The one type that a field of a model has as a column.

The type follows from the annotation alone, never from the values that happen to be
there, so that it is the same whichever way the rows came.
"""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, time, timedelta
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

from evalkit.base.columns import is_pattern

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

_SERIALIZERS = (PlainSerializer, WrapSerializer)
_ALIKE = (list, tuple, set, frozenset, Sequence)
KEY, VALUE = "key", "value"
"""Fields of an entry of a map."""


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
    return _struct(fields_of(annotation), (*within, annotation))


def _generic(origin: Any, kinds: Sequence[pl.DataType | None]) -> pl.DataType | None:
    """Return the type of a union, a list or a map of other types."""
    if origin in (Union, types.UnionType):
        return _joint(kinds)
    if origin in _ALIKE:
        inner = _joint(kinds)
        return None if inner is None else pl.List(inner)
    if origin not in (dict, Mapping) or kinds[0] != pl.String or kinds[1] is None:
        return None
    return pl.List(pl.Struct({KEY: pl.String(), VALUE: kinds[1]}))


def _is_serialized(annotation: Any) -> bool:
    """Tell whether pydantic gives something else than what is annotated."""
    rules = getattr(annotation, "__metadata__", ())
    return any(isinstance(rule, _SERIALIZERS) for rule in rules)


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


def fields_of(kind: type) -> Mapping[str, Any] | None:
    """Return the annotations of what a plain model, `TypedDict` or dataclass holds."""
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
    """Return the annotation of each field of a model, with its serializer."""
    found = {}
    for name, field in model.model_fields.items():
        rules = [rule for rule in field.metadata if isinstance(rule, _SERIALIZERS)]
        found[name] = (
            Annotated[field.annotation, rules[0]] if rules else (field.annotation)
        )
    return found


def holds_decimals(annotation: Any, within: tuple[Any, ...] = ()) -> bool:
    """Tell whether an annotation takes a Decimal, also in lists, maps and models."""
    annotation = bare(annotation)
    if annotation is Decimal:
        return True
    inner = get_args(annotation)
    if isinstance(annotation, type) and annotation not in within:
        inner, within = (
            tuple((fields_of(annotation) or {}).values()),
            (*within, annotation),
        )
    return any(holds_decimals(each, within) for each in inner)


def holds_more_than_plain(dtype: pl.DataType | None) -> bool:
    """Tell whether values of a type are bytes, times or structs, also in lists."""
    if isinstance(dtype, pl.List):
        inner: Any = dtype.inner
        return holds_more_than_plain(inner)
    return dtype is not None and (
        dtype == pl.Binary or isinstance(dtype, pl.Struct) or dtype.is_temporal()
    )


def model_types(
    model: type[BaseModel], labels: Sequence[str] | None = None
) -> dict[str, pl.DataType]:
    """Return the types of those fields of a model that have one.

    A field that has a serializer of its own has none, as only the serializer knows what
    it returns.
    """
    decorators = model.__pydantic_decorators__
    serialized = {
        name
        for each in decorators.field_serializers.values()
        for name in each.info.fields
    }
    if decorators.model_serializers or "*" in serialized:
        return {}
    found = {
        name: None if _is_serialized(annotation) else field_type(annotation, labels)
        for name, annotation in annotations_of(model).items()
        if name not in serialized
    }
    return {name: kind for name, kind in found.items() if kind is not None}
