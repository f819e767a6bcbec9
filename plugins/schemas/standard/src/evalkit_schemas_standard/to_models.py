"""Pydantic models, made of JSON Schema documents."""

from __future__ import annotations

import keyword
from collections.abc import Container
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import cache
from typing import Annotated, Any, Literal, Optional, Union
from uuid import UUID

from pydantic import (
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    NaiveDatetime,
    PydanticUserError,
    TypeAdapter,
    ValidationError,
    create_model,
)
from pydantic_core import SchemaError as PydanticSchemaError

from evalkit.errors import SchemaError
from evalkit_schemas_standard.documents import (
    Document,
    fields_of,
    kind_of,
    normal,
    plain_of,
    rules_of,
    zone_of,
)
from evalkit_schemas_standard.scalars import (
    ANY_ZONE,
    BOUNDS,
    FLOATS,
    INTEGERS,
    MORE,
    NO_ZONE,
    Semantics,
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
_TAKEN = frozenset(dir(BaseModel))


def model_from_json_schema(document: Document, name: str = "Row") -> type[BaseModel]:
    """Make a model of a JSON Schema document.

    Of a document that `json_schema` made, it has the same identity. In another one an
    integer has 64 bits; a property that is neither required nor has a default may be
    null. Formats other than those of dates, times, durations, UUIDs and bytes are
    notes, as the specification has it.

    Args:
        document: A document whose root is an object with properties; references are
            followed inside of it.
        name: Name of the class, where the document has no title.

    Raises:
        SchemaError: A keyword says what no column can, such as `oneOf` of two types;
            the message names the place in the document.
    """
    return model_of(normal(document), name)


def model_of(document: Document, name: str) -> type[BaseModel]:
    """Make a model of a document in the one form."""
    title = document.get("title") or name
    more = document.get(MORE, {})
    fields: dict[str, Any] = {}
    for number, (column, part, required) in enumerate(fields_of(document)):
        attribute = python_name(column, number, fields)
        where = f"{title}.{column}"
        fields[attribute] = _field(column, part, required, attribute, where)
    config = ConfigDict(title=title, strict=bool(more.get("strict")))
    if document.get("additionalProperties") is False:
        config["extra"] = "forbid"
    try:
        model: type[BaseModel] = create_model(
            title if title.isidentifier() else name,
            __config__=config,
            # beside a field `description` is the field's
            __doc__=(document if "$schema" in document else more).get("description"),
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


def _field(
    column: str, part: Document, required: bool, attribute: str, where: str
) -> tuple[Any, Any]:
    annotation, more = _annotation(part, where), part.get(MORE, {})
    notes = [
        note(more[key])
        for key, note in (("unit", Unit), ("semantics", Semantics))
        if key in more
    ]
    if notes:
        annotation = Annotated[(annotation, *notes)]
    settings: dict[str, Any] = {
        "alias": None if attribute == column else column,
        "description": part.get("description"),
    }
    if not required:
        settings["default"] = _default(part["default"], annotation, where)
    return annotation, Field(**settings)


def _default(written: Any, annotation: Any, where: str) -> Any:
    if written is None:
        return None
    adapter: TypeAdapter[Any] = TypeAdapter(annotation)
    try:
        return adapter.validate_python(written, strict=False)
    except ValidationError as error:
        raise SchemaError(f"{where}: its default is no value of it: {error}") from error


def _annotation(part: Document, where: str) -> Any:
    plain, nullable = plain_of(part)
    annotation = _base(plain, where)
    notes = [*_rules(plain, where), *_stored(plain)]
    if notes:
        annotation = Annotated[(annotation, *notes)]
    return Optional[annotation] if nullable else annotation  # noqa: UP045


def _base(plain: Document, where: str) -> Any:
    kind = kind_of(plain)
    if kind == "json":
        return Union[tuple(_annotation(each, where) for each in plain["anyOf"])]  # noqa: UP007
    if "enum" in plain:
        return Literal[tuple(plain["enum"])]
    if kind == "struct":
        return model_of(plain, where.rpartition(".")[2].title())
    if kind == "list":
        inner = _annotation(plain["items"], where)
        return set[inner] if plain.get("uniqueItems") else list[inner]  # type: ignore[valid-type]
    if kind == "map":
        keys = _annotation(plain.get("propertyNames", {"type": "string"}), where)
        items = _annotation(plain["additionalProperties"], where)
        return dict[keys, items]  # type: ignore[valid-type]
    if kind == "datetime":
        zones = {ANY_ZONE: datetime, NO_ZONE: NaiveDatetime}
        return zones.get(zone_of(plain), AwareDatetime)
    if kind not in _TYPES:
        raise SchemaError(f"{where}: there is no kind {kind!r} of values")
    return _TYPES[kind]


def _rules(plain: Document, where: str) -> list[Any]:
    if kind_of(plain) == "json":
        return []
    rules = rules_of(plain)
    if kind_of(plain) not in (*INTEGERS, *FLOATS):
        bounds = {name: rules[name] for name in BOUNDS if name in rules}
        rules |= {name: _bound(plain, name, bounds[name], where) for name in bounds}
    try:
        return [Field(**rules)] if rules else []
    except (TypeError, ValueError) as error:
        raise SchemaError(f"{where}: {error}") from error


def _bound(plain: Document, name: str, value: Any, where: str) -> Any:
    """Return a bound as Python has it."""
    kind = kind_of(plain)
    try:
        return _adapter(kind).validate_python(value)
    except ValidationError as error:
        raise SchemaError(
            f"{where}: {name} is {value!r}, no value of {kind}"
        ) from error


def _stored(plain: Document) -> list[Stored]:
    """Return what the type in Python leaves open."""
    kind = kind_of(plain)
    is_sized = kind in INTEGERS or kind in FLOATS
    if is_sized and kind not in ("int64", "float64") and "enum" not in plain:
        return [Stored(kind)]
    if kind == "datetime" and zone_of(plain) not in (ANY_ZONE, NO_ZONE, "UTC"):
        return [Stored("datetime", zone_of(plain))]
    return []


@cache
def _adapter(kind: str) -> TypeAdapter[Any]:
    return TypeAdapter(datetime if kind == "datetime" else _TYPES[kind])
