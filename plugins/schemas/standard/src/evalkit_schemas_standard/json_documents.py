"""JSON Schema documents, read into shapes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from pydantic import ValidationError

from evalkit.errors import SchemaError
from evalkit_schemas_standard.constraints import normal
from evalkit_schemas_standard.field_names import check_members
from evalkit_schemas_standard.scalars import FLOATS, INTEGERS, Member, Shape, distinct

Document: TypeAlias = dict[str, Any]

DIALECT = "https://json-schema.org/draft/2020-12/schema"
FURTHER = "x-evalkit"
"""Keyword of what JSON Schema does not say."""
FORMATS = {
    "bytes": "binary",
    "uuid": "uuid",
    "date": "date",
    "datetime": "date-time",
    "time": "time",
    "duration": "duration",
}
NUMBERS = (*INTEGERS, *FLOATS, "decimal")

MOST_PARTS = 100_000
"""Parts of a document beyond which it is refused; references may repeat one another."""

_NOTES = {
    *("$schema", "$id", "$comment", "$defs", "definitions", "title", "description"),
    *("examples", "deprecated", "readOnly", "writeOnly", "format", "default", FURTHER),
    *("contentEncoding", "contentMediaType", "contentSchema", "$anchor"),
}
"""Keywords that refuse no value."""
_BOUNDS = {
    "minimum": "ge",
    "exclusiveMinimum": "gt",
    "maximum": "le",
    "exclusiveMaximum": "lt",
    "multipleOf": "multiple_of",
}
_KEYWORDS = {
    "string": {"minLength": "min_length", "maxLength": "max_length"}
    | {"pattern": "pattern"},
    "integer": _BOUNDS,
    "number": _BOUNDS,
    "array": {"minItems": "min_length", "maxItems": "max_length"}
    | {"uniqueItems": "unique"},
    "map": {"minProperties": "min_length", "maxProperties": "max_length"},
    "struct": {},
    "boolean": {},
}
"""Keywords of each type, and what a shape calls them."""
_STRUCTURE = {
    "array": {"items", "prefixItems"},
    "map": {"additionalProperties", "propertyNames"},
    "struct": {"properties", "required", "additionalProperties"},
}
_SIMPLE = {"string": "string", "integer": "int64", "number": "float64"} | {
    "boolean": "boolean"
}


def read_document(document: Document) -> Shape:
    """Read a JSON Schema document."""
    try:
        shape = _Reader(document).schema(document, "#")
    except RecursionError:
        raise SchemaError("#: nested too deeply") from None
    if shape.kind != "struct" or shape.nullable:
        raise SchemaError("#: a row is an object with properties, and not null")
    return shape.changed(description=document.get("description"))


class _Reader:
    """Reads the parts of a document.

    Args:
        root: The whole document, in which references are looked up.
    """

    def __init__(self, root: Document) -> None:
        self._root = root
        self._within: list[str] = []
        self._parts = 0

    def schema(self, document: Any, place: str) -> Shape:
        """Read a part."""
        self._parts += 1
        if self._parts > MOST_PARTS:
            raise SchemaError(f"{place}: more than {MOST_PARTS:,} parts")
        if not isinstance(document, dict):
            raise SchemaError(f"{place}: a schema is an object, not {document!r:.60}")
        if "$ref" in document:
            return self._reference(document, place)
        for keyword in ("anyOf", "oneOf", "allOf"):
            if keyword in document:
                return self._alternatives(document, keyword, place)
        return self._plain(document, place)

    def _reference(self, document: Document, place: str) -> Shape:
        reference = document["$ref"]
        if reference in self._within:
            raise SchemaError(f"{place}: {reference} holds itself")
        target = self._find(reference, place)
        self._within.append(reference)
        try:
            rest = {key: value for key, value in document.items() if key != "$ref"}
            shape = self._joined(target, rest, place)
            if shape.kind == "struct" and shape.description is None:
                shape = shape.changed(description=target.get("description"))
            return shape
        finally:
            self._within.pop()

    def _find(self, reference: Any, place: str) -> Any:
        if not isinstance(reference, str) or not reference.startswith("#"):
            raise SchemaError(f"{place}: {reference!r} is outside of the document")
        found: Any = self._root
        for part in reference.split("/")[1:]:
            key = part.replace("~1", "/").replace("~0", "~")
            if not isinstance(found, dict) or key not in found:
                raise SchemaError(f"{place}: there is no {reference}")
            found = found[key]
        return found

    def _joined(self, inner: Any, rest: Document, place: str) -> Shape:
        """Read a part with notes, and nothing else, beside it."""
        further = {key for key in rest if key not in _NOTES}
        if further:
            raise SchemaError(f"{place}: {min(further)} beside a reference or choice")
        shape = self.schema(inner, place)
        said = _further(rest, place)
        return _with(shape, _OF_SHAPE & said.keys(), said, place)

    def _alternatives(self, document: Document, keyword: str, place: str) -> Shape:
        listed = document[keyword]
        if not isinstance(listed, list):
            raise SchemaError(f"{place}: {keyword} is a list")
        rest = {key: value for key, value in document.items() if key != keyword}
        others = [each for each in listed if each != {"type": "null"}]
        if len(others) != 1 or (keyword == "allOf" and len(listed) != 1):
            raise SchemaError(
                f"{place}: a column has one type; {keyword} names {len(others)}"
            )
        shape = self._joined(others[0], rest, place)
        nullable = shape.nullable or len(others) < len(listed)
        return shape.changed(nullable=nullable)

    def _plain(self, document: Document, place: str) -> Shape:
        kind, nullable = _type_of(document, place)
        further = _further(document, place)
        name = kind
        if kind == "object":
            name = "struct" if "properties" in document else "map"
        self._refuse_others(document, name, place)
        values = {
            key: document[keyword]
            for keyword, key in _KEYWORDS[name].items()
            if keyword in document
        }
        if name == "array":
            values |= {"kind": "list"} | self._items(document, place)
        elif name in ("map", "struct"):
            read = self._map if name == "map" else self._struct
            values |= {"kind": name} | read(document, place)
        else:
            values |= _scalar(document, name, further)
        if "enum" in document or "const" in document:
            values["values"] = _constants(document)
            nullable = nullable and None in document.get("enum", [None])
        try:
            shape = Shape.model_validate({**values, "nullable": nullable})
        except ValidationError as error:
            raise SchemaError(f"{place}: {error}") from error
        return _with(shape, _OF_SHAPE & further.keys(), further, place)

    def _refuse_others(self, document: Document, name: str, place: str) -> None:
        known = {*_NOTES, *_KEYWORDS[name], *_STRUCTURE.get(name, ())}
        others = document.keys() - known - {"type", "enum", "const"}
        if others:
            raise SchemaError(f"{place}: the keyword {min(others)} is not supported")

    def _items(self, document: Document, place: str) -> dict[str, Any]:
        listed = document.get("prefixItems")
        if listed is None:
            if "items" not in document:
                raise SchemaError(f"{place}: an array without items says no type")
            return {"items": self.schema(document["items"], place + "/items")}
        shapes = [
            self.schema(each, f"{place}/prefixItems/{number}")
            for number, each in enumerate(listed)
        ]
        is_closed = document.get("items") is False or (
            document.get("maxItems") == len(shapes)
        )
        if len(distinct(shapes)) != 1 or not is_closed:
            raise SchemaError(f"{place}: the elements of a list have one type")
        size = len(shapes)
        return {"items": shapes[0], "min_length": size, "max_length": size}

    def _map(self, document: Document, place: str) -> dict[str, Any]:
        if not isinstance(document.get("additionalProperties"), dict):
            raise SchemaError(f"{place}: an object does not say what it holds")
        items = self.schema(
            document["additionalProperties"], place + "/additionalProperties"
        )
        names = {"type": "string", **document.get("propertyNames", {})}
        keys = self.schema(names, place + "/propertyNames")
        if keys.kind != "string" or keys.nullable:
            raise SchemaError(f"{place}: the keys of a map are texts")
        return {"items": items, "map_keys": keys}

    def _struct(self, document: Document, place: str) -> dict[str, Any]:
        further = document.get("additionalProperties", True)
        if isinstance(further, dict) and further:
            raise SchemaError(f"{place}: properties, and others beside them")
        required = document.get("required", [])
        if not isinstance(document["properties"], dict):
            raise SchemaError(f"{place}: properties is an object")
        missing = sorted({*map(str, required)} - document["properties"].keys())
        if missing:
            raise SchemaError(f"{place}: {missing[0]} is required and no property")
        members = tuple(
            self._member(name, part, name in required, f"{place}/properties/{name}")
            for name, part in document["properties"].items()
        )
        title = document.get("title")
        check_members(str(title or place), members)
        return {"fields": members, "closed": further is False, "title": title}

    def _member(self, name: str, part: Any, required: bool, place: str) -> Member:
        shape = self.schema(part, place)
        said, default = _further(part, place), part.get("default")
        if not required and default is None:
            shape = shape.changed(nullable=True)
        return Member.model_validate(
            {
                "name": name,
                "shape": shape,
                "required": required,
                "default": None if required else default,
                "description": part.get("description"),
                "unit": said.get("unit"),
                "semantics": said.get("semantics"),
            }
        )


_OF_SHAPE = {
    *("kind", "strict", "finite", "rules", "description", "zone", "precision", "scale"),
    *("ge", "gt", "le", "lt", "multiple_of", "min_length", "max_length"),
}


def _further(document: Any, place: str) -> Document:
    found = document.get(FURTHER, {}) if isinstance(document, dict) else {}
    if not isinstance(found, dict):
        raise SchemaError(f"{place}: {FURTHER} is an object")
    return found


def _with(shape: Shape, names: Iterable[str], said: Document, place: str) -> Shape:
    """Add what `x-evalkit` says."""
    values = {name: said[name] for name in names}
    if not values:
        return normal(shape, place)
    try:
        return normal(Shape.model_validate({**shape.model_dump(), **values}), place)
    except ValidationError as error:
        raise SchemaError(f"{place}/{FURTHER}: {error}") from error


def _type_of(document: Document, place: str) -> tuple[str, bool]:
    """Return the one type of a part, and whether null is one as well."""
    given = document.get("type")
    if given is None and ("enum" in document or "const" in document):
        found = {_TYPE_OF.get(type(each)) for each in _constants(document)}
        given = [name for name in found if name]
        given += ["null"] if None in document.get("enum", ()) else []
    listed = [given] if isinstance(given, str) else given
    if not isinstance(listed, list):
        raise SchemaError(f"{place}: it says no type")
    kinds = [each for each in listed if each != "null"]
    if {*kinds} == {"number", "string"} and _further(document, place).get("kind"):
        kinds = ["number"]
    if len(kinds) != 1 or kinds[0] not in (*_SIMPLE, "array", "object"):
        raise SchemaError(f"{place}: a column has one type, and not {listed!r:.60}")
    return kinds[0], "null" in listed


_TYPE_OF: Mapping[type, str] = {bool: "boolean", int: "integer", str: "string"}


def _constants(document: Document) -> tuple[Any, ...]:
    listed = document["enum"] if "enum" in document else [document["const"]]
    return tuple(each for each in listed if each is not None)


def _scalar(document: Document, name: str, further: Document) -> dict[str, Any]:
    """Return the kind of a single value, and drop what repeats its type."""
    kind = further.get("kind", _SIMPLE[name])
    found: dict[str, Any] = {"kind": kind}
    if name == "string":
        kinds = {written: kind for kind, written in FORMATS.items()}
        kind = kinds.get(str(document.get("format")), "string")
        found["kind"] = kind
        if kind == "datetime":
            found["zone"] = "UTC"
    if kind in FLOATS and kind != "float64":
        found |= dict.fromkeys(_BOUNDS.values())
    return found
