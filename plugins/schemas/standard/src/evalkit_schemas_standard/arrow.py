"""Arrow schemas: made of models, and read into models."""

from __future__ import annotations

import base64
import binascii
import json
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from evalkit.errors import SchemaError
from evalkit_schemas_standard.documents import (
    Document,
    fields_of,
    kind_of,
    normal,
    plain_of,
    size_of,
    zone_of,
)
from evalkit_schemas_standard.field_names import DEFINED
from evalkit_schemas_standard.from_models import json_schema
from evalkit_schemas_standard.scalars import ANY_ZONE, MORE, NO_ZONE
from evalkit_schemas_standard.sources import model_of

if TYPE_CHECKING:
    import pyarrow as pa

DOCUMENTATION = b"__doc__"
"""Key of a field's documentation, as Dyff has it."""
SCHEMA = b"evalkit.schema"
"""Key of the JSON Schema, which says what types do not."""


def arrow_schema(model: type[BaseModel]) -> pa.Schema:
    """Return the Arrow schema of a model.

    A field is not null unless its annotation has None. Its documentation is metadata
    under `__doc__`; the JSON Schema is that of the whole, under `evalkit.schema`, so
    that `model_from_arrow` makes the same schema of it.

    Args:
        model: The schema.

    Returns:
        The fields in the model's order, under the names that they have in the data.

    Raises:
        SchemaError: The model is outside of what a schema can say.
    """
    import pyarrow as pa

    document = json_schema(model)
    text = json.dumps(
        document, sort_keys=False, separators=(",", ":"), ensure_ascii=False
    )
    return pa.schema(_arrow_fields(document), metadata={SCHEMA: text})


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
        return model_of(_document(schema, name), name)
    except RecursionError:
        raise SchemaError(f"{name}: nested too deeply") from None


def encode_schema(schema: pa.Schema) -> str:
    """Return an Arrow schema as an IPC message in base64.

    Args:
        schema: Any Arrow schema.
    """
    return base64.b64encode(schema.serialize().to_pybytes()).decode()


def decode_schema(encoded: str) -> pa.Schema:
    """Return the Arrow schema that `encode_schema` wrote.

    Args:
        encoded: An IPC message in base64.

    Raises:
        SchemaError: It holds no Arrow schema.
    """
    import pyarrow as pa

    try:
        message = base64.b64decode(encoded, validate=True)
        return pa.ipc.read_schema(pa.py_buffer(message))
    except (binascii.Error, ValueError, OSError, pa.ArrowException) as error:
        raise SchemaError(f"arrowSchema holds no Arrow schema: {error}") from error


def _document(schema: pa.Schema, name: str) -> Document:
    """Read an Arrow schema: what its metadata says, which must be true of its types."""
    said = _said(schema.metadata, name)
    known = said.get("properties", {})
    found = _struct(schema, name)
    for field in schema:
        if field.name not in known:
            continue
        part = known[field.name]
        if not _arrow_field(field.name, part).equals(field):
            said_kind = kind_of(plain_of(part)[0])
            raise SchemaError(
                f"{name}.{field.name}: its metadata says {said_kind}, its type is "
                f"{field.type}"
            )
        found["properties"][field.name] = part
    found["required"] = [
        column
        for column in found["properties"]
        if column in (said if column in known else found)["required"]
    ]
    whole = {
        key: said[key] for key in ("title", "additionalProperties", MORE) if key in said
    }
    described = {"description": said["description"]} if "description" in said else {}
    return normal({**found, **whole, **described}, name, is_own=True)


def _said(metadata: Any, name: str) -> Document:
    """Return the document in the metadata; an empty one where it has none."""
    text = (metadata or {}).get(SCHEMA)
    if text is None:
        return {}
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SchemaError(f"{name}: its metadata is no JSON: {error}") from error
    return normal(found, f"{name}: its metadata")


def _arrow_fields(document: Document) -> list[pa.Field]:
    return [_arrow_field(name, part) for name, part, _ in fields_of(document)]


def _arrow_field(name: str, part: Document) -> pa.Field:
    import pyarrow as pa

    plain, nullable = plain_of(part)
    described = part.get("description")
    metadata = {DOCUMENTATION: described} if described else None
    return pa.field(name, _arrow_type(plain), nullable, metadata)


def _arrow_type(plain: Document) -> pa.DataType:
    import pyarrow as pa

    kind, more = kind_of(plain), plain.get(MORE, {})
    if kind == "struct":
        return pa.struct(_arrow_fields(plain))
    if kind == "list":
        size = size_of(plain)
        item = _arrow_field("item", plain["items"])
        return pa.list_(item, -1 if size is None else size)
    if kind == "map":
        item = _arrow_field("value", plain["additionalProperties"])
        return pa.map_(pa.field("key", pa.string(), nullable=False), item)
    if kind == "decimal":
        make = pa.decimal128 if more["precision"] <= 38 else pa.decimal256
        return make(more["precision"], more["scale"])
    if kind == "datetime":
        zone = zone_of(plain)
        return pa.timestamp("us", {ANY_ZONE: "UTC", NO_ZONE: None}.get(zone, zone))
    named = {
        "boolean": pa.bool_(),
        "bytes": pa.binary(),
        "uuid": pa.string(),
        "json": pa.string(),
        "date": pa.date32(),
        "time": pa.time64("us"),
        "duration": pa.duration("us"),
    }
    return named.get(kind) or getattr(pa, kind)()


def _struct(fields: Any, where: str) -> Document:
    """Read fields by their types alone."""
    found: Document = {"type": "object", "properties": {}, "required": []}
    for field in fields:
        inner = f"{where}.{field.name}"
        if field.name in found["properties"]:
            raise SchemaError(
                f"{where}: the field name {field.name!r} is the name of two fields"
            )
        part = _nullable(field, inner)
        documentation = (field.metadata or {}).get(DOCUMENTATION)
        defined = DEFINED.get(field.name)
        plain = plain_of(part)[0]
        # elsewhere every field may be null, and no bounds are told
        if defined is not None and plain["type"] == defined["type"]:
            part = dict(defined)
        if "anyOf" in part:
            part["default"] = None
        else:
            found["required"].append(field.name)
        if documentation:
            try:
                part["description"] = documentation.decode()
            except UnicodeDecodeError as error:
                raise SchemaError(f"{inner}: its documentation is not UTF-8") from error
        found["properties"][field.name] = part
    return found


def _nullable(field: Any, where: str) -> Document:
    plain = _plain(field.type, where)
    return {"anyOf": [plain, {"type": "null"}]} if field.nullable else plain


def _plain(kind: pa.DataType, where: str) -> Document:
    """Return what a type alone says."""
    import pyarrow as pa
    import pyarrow.types as are

    if isinstance(kind, pa.BaseExtensionType):
        if kind.extension_name == "arrow.uuid":
            return {"type": "string", "format": "uuid"}
        return _plain(kind.storage_type, where)
    if are.is_dictionary(kind) or are.is_run_end_encoded(kind):
        return _plain(kind.value_type, where)
    if are.is_nested(kind):
        return _nested(kind, where)
    if are.is_decimal(kind):
        more = {"kind": "decimal", "precision": kind.precision, "scale": kind.scale}
        return {"type": ["number", "string"], MORE: more}
    if are.is_integer(kind):
        return {"type": "integer", MORE: {"kind": str(kind)}}
    if are.is_floating(kind):
        return {"type": "number", MORE: {"kind": f"float{kind.bit_width}"}}
    if are.is_timestamp(kind) and kind.unit == "ns":
        raise SchemaError(
            f"{where}: {kind} is finer than a microsecond, which Python's datetime "
            "does not hold"
        )
    found = _scalar(kind, where)
    zone = {MORE: {"zone": kind.tz or NO_ZONE}} if are.is_timestamp(kind) else {}
    return {**found, **zone}


def _nested(kind: Any, where: str) -> Document:
    import pyarrow.types as are

    if are.is_struct(kind):
        if not kind.num_fields:
            raise SchemaError(f"{where}: a struct without fields")
        return _struct(kind, where)
    if are.is_map(kind):
        items = _nullable(kind.item_field, where)
        keys = _plain(kind.key_type, where)
        return {"type": "object", "additionalProperties": items, "propertyNames": keys}
    if are.is_union(kind):
        raise SchemaError(f"{where}: {kind} has no counterpart in Python")
    found = {"type": "array", "items": _nullable(kind.value_field, where)}
    if not are.is_fixed_size_list(kind):
        return found
    return {**found, "minItems": kind.list_size, "maxItems": kind.list_size}


def _scalar(kind: pa.DataType, where: str) -> Document:
    """Return a type without parameters, whose values are texts in JSON or a boolean."""
    name = str(kind).replace("large_", "").replace("_view", "").partition("[")[0]
    formats = {
        "string": "",
        "binary": "binary",
        "fixed_size_binary": "binary",
        "date32": "date",
        "date64": "date",
        "time32": "time",
        "time64": "time",
        "timestamp": "date-time",
        "duration": "duration",
    }
    if name == "bool":
        return {"type": "boolean"}
    if name not in formats:
        raise SchemaError(f"{where}: {kind} has no counterpart in Python")
    return {"type": "string"} | ({"format": formats[name]} if formats[name] else {})
