"""Pydantic models, made of shapes."""

from __future__ import annotations

import keyword
from collections.abc import Callable, Container
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import cache
from typing import Annotated, Any, Literal, Optional
from uuid import UUID

from annotated_types import Ge, Gt, Le, Lt, MaxLen, MinLen, MultipleOf
from pydantic import (
    AllowInfNan,
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    NaiveDatetime,
    PydanticUserError,
    Strict,
    TypeAdapter,
    ValidationError,
    create_model,
)
from pydantic_core import SchemaError as PydanticSchemaError

from evalkit.errors import SchemaError
from evalkit_schemas_standard.field_names import check_members
from evalkit_schemas_standard.scalars import (
    ANY_ZONE,
    FLOATS,
    INTEGERS,
    NO_ZONE,
    Member,
    Semantics,
    Shape,
    Stored,
    Unit,
)

_TYPES: dict[str, Any] = {
    "string": str,
    "boolean": bool,
    **dict.fromkeys(INTEGERS, int),
    **dict.fromkeys(FLOATS, float),
    "decimal": Decimal,
    "bytes": bytes,
    "uuid": UUID,
    "date": date,
    "time": time,
    "duration": timedelta,
}
_RULES: dict[str, Callable[[Any], Any]] = {
    "ge": Ge,
    "gt": Gt,
    "le": Le,
    "lt": Lt,
    "multiple_of": MultipleOf,
    "min_length": MinLen,
    "max_length": MaxLen,
}
_TAKEN = frozenset(dir(BaseModel))


def model_of_shape(shape: Shape, name: str) -> type[BaseModel]:
    """Make a model."""
    title = shape.title or name
    check_members(title, shape.fields)
    fields: dict[str, Any] = {}
    for number, member in enumerate(shape.fields):
        where = f"{title}.{member.name}"
        attribute = python_name(member.name, number, fields)
        fields[attribute] = _field(member, attribute, where)
    config = ConfigDict(title=title, strict=shape.strict)
    if shape.closed:
        config["extra"] = "forbid"
    class_name = title if title.isidentifier() else name
    try:
        model: type[BaseModel] = create_model(
            class_name,
            __config__=config,
            __doc__=shape.description,
            __module__=__name__,
            **fields,
        )
    except (PydanticUserError, PydanticSchemaError, TypeError, ValueError) as error:
        raise SchemaError(f"{title}: pydantic cannot build it: {error}") from error
    return model


def python_name(name: str, number: int, taken: Container[str]) -> str:
    """Return the attribute of a field: its name, where Python and pydantic take it."""
    wanted = name + "_" if keyword.iskeyword(name) else name
    is_python = wanted.isidentifier() and wanted.isascii()
    if not is_python or wanted in _TAKEN or wanted.startswith(("_", "model_")):
        wanted = f"field_{number}"
    while wanted in taken:
        wanted += "_"
    return wanted


def _field(member: Member, attribute: str, where: str) -> tuple[Any, Any]:
    annotation = annotation_of(member.shape, where)
    notes = [
        *([Unit(member.unit)] if member.unit is not None else []),
        *([Semantics(member.semantics)] if member.semantics is not None else []),
    ]
    if notes:
        annotation = Annotated[(annotation, *notes)]
    alias = None if attribute == member.name else member.name
    settings: dict[str, Any] = {"alias": alias, "description": member.description}
    if not member.required:
        settings["default"] = _default(member, annotation, where)
    return annotation, Field(**settings)


def _default(member: Member, annotation: Any, where: str) -> Any:
    if member.default is None:
        return None
    adapter: TypeAdapter[Any] = TypeAdapter(annotation)
    try:
        return adapter.validate_python(member.default, strict=False)
    except ValidationError as error:
        raise SchemaError(f"{where}: its default is no value of it: {error}") from error


def annotation_of(shape: Shape, where: str) -> Any:
    """Make the annotation of a field."""
    annotation = _base(shape, where)
    rules = _rules(shape, where)
    if rules:
        annotation = Annotated[(annotation, *rules)]
    return Optional[annotation] if shape.nullable else annotation  # noqa: UP045


def _base(shape: Shape, where: str) -> Any:
    if shape.values is not None:
        return Literal[shape.values]
    if shape.kind == "struct":
        return model_of_shape(shape, where.rpartition(".")[2].title())
    if shape.kind == "list":
        assert shape.items is not None
        inner = annotation_of(shape.items, where)
        return set[inner] if shape.unique else list[inner]  # type: ignore[valid-type]
    if shape.kind == "map":
        assert shape.map_keys is not None
        assert shape.items is not None
        keys, items = (
            annotation_of(each, where) for each in (shape.map_keys, shape.items)
        )
        return dict[keys, items]  # type: ignore[valid-type]
    if shape.kind == "datetime":
        zones = {ANY_ZONE: datetime, NO_ZONE: NaiveDatetime}
        return zones.get(shape.zone or ANY_ZONE, AwareDatetime)
    return _TYPES[shape.kind]


def _rules(shape: Shape, where: str) -> list[Any]:
    found = [] if shape.values is not None else _bounds(shape, where)
    for name in ("multiple_of", "min_length", "max_length"):
        value = getattr(shape, name)
        if value is not None:
            found.append(_RULES[name](value))
    if shape.pattern is not None:
        found.append(Field(pattern=shape.pattern))
    if shape.kind == "decimal":
        found.append(Field(max_digits=shape.precision, decimal_places=shape.scale))
    if shape.finite:
        found.append(AllowInfNan(False))
    if shape.strict and shape.kind != "struct":
        found.append(Strict())
    return found + _stored(shape)


def _bounds(shape: Shape, where: str) -> list[Any]:
    return [
        _RULES[name](_bound(shape, name, where))
        for name in ("ge", "gt", "le", "lt")
        if getattr(shape, name) is not None
    ]


def _stored(shape: Shape) -> list[Stored]:
    """Return what the type in Python leaves open."""
    is_number = shape.kind in INTEGERS or shape.kind in FLOATS
    if is_number and shape.kind != "float64" and shape.values is None:
        return [Stored(shape.kind)]
    if shape.kind == "datetime" and shape.zone not in (ANY_ZONE, NO_ZONE, "UTC"):
        return [Stored("datetime", shape.zone)]
    return []


def _bound(shape: Shape, name: str, where: str) -> Any:
    """Return a bound as Python has it."""
    value = getattr(shape, name)
    try:
        return _adapter(shape.kind).validate_python(value)
    except ValidationError as error:
        raise SchemaError(
            f"{where}: {name} is {value!r}, no value of {shape.kind}"
        ) from error


@cache
def _adapter(kind: str) -> TypeAdapter[Any]:
    return TypeAdapter(datetime if kind == "datetime" else _TYPES[kind])
