"""Arrow schemas: made of models, and read into models."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError

from evalkit.errors import SchemaError
from evalkit_schemas_standard.constraints import normal
from evalkit_schemas_standard.field_names import DEFINED, check_members
from evalkit_schemas_standard.from_models import shape_of_model
from evalkit_schemas_standard.scalars import (
    ANY_ZONE,
    NO_ZONE,
    Kind,
    Member,
    Shape,
    as_document,
)
from evalkit_schemas_standard.to_models import model_of_shape

if TYPE_CHECKING:
    import pyarrow as pa

DOCUMENTATION = b"__doc__"
"""Key of a field's documentation, as Dyff has it."""
FIELD = b"evalkit.field"
"""Key of what the type does not say of a field, as JSON."""
STRUCT = b"evalkit.struct"
"""Key of what a schema says as a whole, as JSON."""

_OF_STRUCT = ("closed", "strict", "rules", "title", "description")


def arrow_schema(model: type[BaseModel]) -> pa.Schema:
    """Return the Arrow schema of a model.

    A field is not null unless its annotation has None. Its documentation is metadata
    under `__doc__`, and constraints, default, unit and semantics are under
    `evalkit.field`, so that `model_from_arrow` makes the same schema of it.

    Args:
        model: The schema.

    Returns:
        The fields in the model's order, under the names that they have in the data.

    Raises:
        SchemaError: The model is outside of what a schema can say.
    """
    import pyarrow as pa

    shape = shape_of_model(model)
    fields = [_arrow_field(member) for member in shape.fields]
    whole = {
        key: value for key, value in as_document(shape).items() if key in _OF_STRUCT
    }
    return pa.schema(fields, metadata={STRUCT: _encode(whole)})


def model_from_arrow(schema: pa.Schema, name: str = "Row") -> type[BaseModel]:
    """Make a model of an Arrow schema.

    Of a schema that `arrow_schema` made, it has the same identity. Of another one, each
    type has the nearest kind, and a field that may be null is not required.

    Args:
        schema: Any Arrow schema.
        name: Name of the class, where the schema does not have it.

    Raises:
        SchemaError: A type has no counterpart; the message names the field. Or metadata
            and types contradict each other.
    """
    try:
        return model_of_shape(shape_of_arrow(schema, name), name)
    except RecursionError:
        raise SchemaError(f"{name}: nested too deeply") from None


def shape_of_arrow(schema: pa.Schema, name: str) -> Shape:
    """Read an Arrow schema."""
    members = tuple(_member(field, f"{name}.{field.name}") for field in schema)
    whole = _decode(schema.metadata, STRUCT, name)
    check_members(name, members)
    try:
        return Shape.model_validate({"kind": "struct", **whole}).changed(fields=members)
    except ValidationError as error:
        raise SchemaError(f"{name}: its metadata is not evalkit's: {error}") from error


def _encode(document: Mapping[str, Any]) -> str:
    return json.dumps(
        document, sort_keys=True, separators=(",", ":"), ensure_ascii=False
    )


def _decode(metadata: Any, key: bytes, where: str) -> dict[str, Any]:
    """Return what metadata holds under a key; nothing where it has no such key."""
    text = (metadata or {}).get(key)
    if text is None:
        return {}
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SchemaError(f"{where}: its metadata is no JSON: {error}") from error
    if not isinstance(found, dict):
        raise SchemaError(f"{where}: its metadata is no JSON object")
    return found


def _arrow_field(member: Member) -> pa.Field:
    """Return a field; what its type does not say stands in the metadata."""
    import pyarrow as pa

    metadata = {FIELD: _encode(_further(member))}
    if member.description:
        metadata[DOCUMENTATION] = member.description
    kind = _arrow_type(member.shape)
    return pa.field(member.name, kind, member.shape.nullable, metadata)


def _further(member: Member) -> dict[str, Any]:
    document = as_document(member)
    del document["name"]
    document.pop("description", None)
    return document


def _arrow_type(shape: Shape) -> pa.DataType:
    import pyarrow as pa

    if shape.kind == "struct":
        return pa.struct([_arrow_field(member) for member in shape.fields])
    if shape.kind == "list":
        assert shape.items is not None
        item = pa.field("item", _arrow_type(shape.items), shape.items.nullable)
        return pa.list_(item, -1 if shape.size is None else shape.size)
    if shape.kind == "map":
        assert shape.map_keys is not None
        assert shape.items is not None
        key = pa.field("key", _arrow_type(shape.map_keys), nullable=False)
        value = pa.field("value", _arrow_type(shape.items), shape.items.nullable)
        return pa.map_(key, value)
    if shape.kind == "decimal":
        assert shape.precision is not None
        assert shape.scale is not None
        make = pa.decimal128 if shape.precision <= 38 else pa.decimal256
        return make(shape.precision, shape.scale)
    if shape.kind == "datetime":
        zone = {ANY_ZONE: "UTC", NO_ZONE: None}.get(shape.zone or ANY_ZONE, shape.zone)
        return pa.timestamp("us", zone)
    plain = {
        "string": pa.string(),
        "boolean": pa.bool_(),
        "float16": pa.float16(),
        "float32": pa.float32(),
        "float64": pa.float64(),
        "bytes": pa.binary(),
        "uuid": pa.string(),
        "date": pa.date32(),
        "time": pa.time64("us"),
        "duration": pa.duration("us"),
    }
    return plain.get(shape.kind) or getattr(pa, shape.kind)()


def _member(field: pa.Field, where: str) -> Member:
    """Read a field: what its metadata says, which must be true of its type."""
    found = _shape(field.type, where).changed(nullable=field.nullable)
    documentation = (field.metadata or {}).get(DOCUMENTATION)
    try:
        description = documentation.decode() if documentation else None
    except UnicodeDecodeError as error:
        raise SchemaError(f"{where}: its documentation is not UTF-8") from error
    said = _decode(field.metadata, FIELD, where)
    if not said:
        defined = DEFINED.get(field.name)
        # elsewhere every field may be null, and no bounds are told
        is_defined = defined is not None and defined.kind == found.kind
        return Member(
            name=field.name,
            shape=defined if defined is not None and is_defined else found,
            required=is_defined or not field.nullable,
            description=description,
        )
    try:
        member = Member.model_validate(
            {"name": field.name, "description": description, **said}
        )
    except ValidationError as error:
        raise SchemaError(f"{where}: its metadata is not evalkit's: {error}") from error
    if _bare(member.shape) != _bare(found):
        raise SchemaError(
            f"{where}: its metadata says {member.shape.kind}, its type is {field.type}"
        )
    return member


def _bare(shape: Shape) -> Shape:
    """Return what an Arrow type alone says of a shape."""
    kind: Kind = "string" if shape.kind == "uuid" else shape.kind
    zone = "UTC" if shape.zone == ANY_ZONE else shape.zone
    items = None if shape.items is None else _bare(shape.items)
    size = shape.size
    fields = tuple(
        Member(name=member.name, shape=_bare(member.shape)) for member in shape.fields
    )
    return Shape(
        kind=kind,
        zone=zone,
        precision=shape.precision,
        scale=shape.scale,
        items=items,
        fields=fields,
        min_length=size,
        max_length=size,
        nullable=shape.nullable,
    )


def _shape(kind: pa.DataType, where: str) -> Shape:
    """Return the shape that a type alone says."""
    import pyarrow as pa
    import pyarrow.types as are

    if isinstance(kind, pa.BaseExtensionType):
        if kind.extension_name == "arrow.uuid":
            return Shape(kind="uuid")
        return _shape(kind.storage_type, where)
    if are.is_dictionary(kind) or are.is_run_end_encoded(kind):
        return _shape(kind.value_type, where)
    if are.is_struct(kind):
        return _struct(kind, where)
    if are.is_map(kind):
        return _map(kind, where)
    if are.is_list(kind) or are.is_large_list(kind) or are.is_fixed_size_list(kind):
        item = kind.value_field
        items = _shape(item.type, where).changed(nullable=item.nullable)
        size = kind.list_size if are.is_fixed_size_list(kind) else None
        return Shape(kind="list", items=items, min_length=size, max_length=size)
    if are.is_decimal(kind):
        shape = Shape(kind="decimal", precision=kind.precision, scale=kind.scale)
        return normal(shape, where)
    if are.is_timestamp(kind):
        if kind.unit == "ns":
            raise SchemaError(
                f"{where}: {kind} is finer than a microsecond, which Python's "
                "datetime does not hold"
            )
        return Shape(kind="datetime", zone=kind.tz or NO_ZONE)
    return Shape(kind=_scalar(kind, where))


def _struct(kind: Any, where: str) -> Shape:
    members = tuple(_member(each, f"{where}.{each.name}") for each in kind)
    if not members:
        raise SchemaError(f"{where}: a struct without fields")
    check_members(where, members)
    return Shape(kind="struct", fields=members)


def _map(kind: Any, where: str) -> Shape:
    keys = _shape(kind.key_type, where)
    if keys.kind != "string":
        raise SchemaError(f"{where}: the keys of a map are texts, as in JSON")
    item = kind.item_field
    items = _shape(item.type, where).changed(nullable=item.nullable)
    return Shape(kind="map", map_keys=keys, items=items)


def _scalar(kind: pa.DataType, where: str) -> Kind:
    import pyarrow.types as are

    if are.is_integer(kind):
        name: Kind = str(kind)  # type: ignore[assignment]  # called alike
        return name
    kinds: dict[Kind, tuple[Any, ...]] = {
        "string": (are.is_string, are.is_large_string, are.is_string_view),
        "boolean": (are.is_boolean,),
        "float16": (are.is_float16,),
        "float32": (are.is_float32,),
        "float64": (are.is_float64,),
        "bytes": (
            are.is_binary,
            are.is_large_binary,
            are.is_binary_view,
            are.is_fixed_size_binary,
        ),
        "date": (are.is_date,),
        "time": (are.is_time,),
        "duration": (are.is_duration,),
    }
    for name, tests in kinds.items():
        if any(test(kind) for test in tests):
            return name
    raise SchemaError(f"{where}: {kind} has no counterpart in Python")
