"""JSON Schema documents (draft 2020-12), made of models.

The keyword `x-evalkit` holds what JSON Schema has no word for: the width of numbers,
time zones, digits, units, and bounds of what is written as text.
"""

from __future__ import annotations

from pydantic import BaseModel

from evalkit_schemas_standard.from_models import shape_of_model
from evalkit_schemas_standard.json_documents import (
    DIALECT,
    FORMATS,
    FURTHER,
    NUMBERS,
    Document,
    read_document,
)
from evalkit_schemas_standard.scalars import (
    ANY_ZONE,
    FLOATS,
    INTEGERS,
    Member,
    Shape,
    as_document,
)
from evalkit_schemas_standard.to_models import model_of_shape

_TYPES = {"string": "string", "boolean": "boolean", "float64": "number"}
_BOUNDS = {
    "ge": "minimum",
    "gt": "exclusiveMinimum",
    "le": "maximum",
    "lt": "exclusiveMaximum",
    "multiple_of": "multipleOf",
}
_LENGTHS = {
    "string": ("minLength", "maxLength"),
    "list": ("minItems", "maxItems"),
    "map": ("minProperties", "maxProperties"),
}


def json_schema(model: type[BaseModel]) -> Document:
    """Return the JSON Schema of a model.

    It describes rows as they are written: no value counts that pydantic would convert,
    such as "1" for an integer.

    Args:
        model: The schema.

    Returns:
        A document of draft 2020-12 without references.

    Raises:
        SchemaError: The model is outside of what a schema can say.
    """
    shape = shape_of_model(model)
    document = {"$schema": DIALECT, **_plain(shape.changed(description=None))}
    if shape.description is not None:
        document["description"] = shape.description
    return document


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
    return model_of_shape(read_document(document), name)


def _member(member: Member) -> Document:
    document = _schema(member.shape)
    further = dict(document.pop(FURTHER, {}))
    if member.description is not None:
        document["description"] = member.description
    if not member.required:
        document["default"] = member.default
    for key in ("unit", "semantics"):
        value = getattr(member, key)
        if value is not None:
            further[key] = value
    return {**document, FURTHER: further} if further else document


def _schema(shape: Shape) -> Document:
    if not shape.nullable:
        return _plain(shape)
    return {"anyOf": [_plain(shape), {"type": "null"}]}


def _plain(shape: Shape) -> Document:
    """Return the schema of what is not null."""
    document: Document = {}
    further: Document = {}
    if shape.kind in NUMBERS:
        document, further = _number(shape)
    elif shape.kind in FORMATS:
        document = {"type": "string", "format": FORMATS[shape.kind]}
        further = _as_further(shape, *_BOUNDS, "min_length", "max_length")
        if shape.kind == "datetime" and shape.zone != "UTC":
            further["zone"] = shape.zone or ANY_ZONE
    elif shape.kind == "list":
        assert shape.items is not None
        document = {"type": "array", "items": _schema(shape.items)}
        document |= {"uniqueItems": True} if shape.unique else {}
    elif shape.kind == "map":
        assert shape.map_keys is not None
        assert shape.items is not None
        document = {"type": "object", "additionalProperties": _schema(shape.items)}
        if shape.map_keys != Shape(kind="string"):
            document["propertyNames"] = _schema(shape.map_keys)
    elif shape.kind == "struct":
        document = _struct(shape)
    else:
        document = {"type": shape.kind}
        document |= {"pattern": shape.pattern} if shape.pattern is not None else {}
    if shape.values is not None:
        document["enum"] = list(shape.values)
    document |= _lengths(shape)
    # beside a field `description` is the field's
    further |= _as_further(shape, "strict", "rules", "description")
    return {**document, FURTHER: further} if further else document


def _number(shape: Shape) -> tuple[Document, Document]:
    if shape.kind == "decimal":
        further = _as_further(shape, "kind", "precision", "scale", "finite", *_BOUNDS)
        return {"type": ["number", "string"]}, further
    document: Document = {"type": "integer" if shape.kind in INTEGERS else "number"}
    further = {} if shape.kind in ("int64", "float64") else {"kind": shape.kind}
    further |= _as_further(shape, "finite")
    bounds = {
        keyword: value
        for name, keyword in _BOUNDS.items()
        if (value := getattr(shape, name)) is not None
    }
    if shape.kind in INTEGERS:
        least, most = INTEGERS[shape.kind]
        bounds = {"minimum": least, "maximum": most, **bounds}
    elif shape.kind != "float64":
        # the bounds of the type are not to be taken for bounds of the field
        further |= _as_further(shape, *_BOUNDS)
        most_float = FLOATS[shape.kind]
        bounds = {"minimum": -most_float, "maximum": most_float, **bounds}
    return {**document, **bounds}, further


def _lengths(shape: Shape) -> Document:
    least, most = _LENGTHS.get(shape.kind, ("", ""))
    found = {least: shape.min_length, most: shape.max_length}
    return {key: value for key, value in found.items() if key and value is not None}


def _struct(shape: Shape) -> Document:
    document: Document = {"type": "object"}
    if shape.title is not None:
        document["title"] = shape.title
    document["properties"] = {each.name: _member(each) for each in shape.fields}
    document["required"] = [each.name for each in shape.fields if each.required]
    return {**document, "additionalProperties": False} if shape.closed else document


def _as_further(shape: Shape, *names: str) -> Document:
    return {key: value for key, value in as_document(shape).items() if key in names}
