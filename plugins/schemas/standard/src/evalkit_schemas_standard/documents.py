"""JSON Schema documents (draft 2020-12), each schema in one form.

All views of a schema are made from this form. The keyword `x-evalkit` holds what JSON
Schema has no word for: the width of numbers, time zones, digits, units, and bounds of
what is written as text.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, ValidationError

from evalkit.errors import SchemaError
from evalkit_schemas_standard.field_names import check_names
from evalkit_schemas_standard.scalars import (
    BOUNDS,
    FLOATS,
    INTEGERS,
    MORE,
    with_more,
)

Document: TypeAlias = dict[str, Any]

DIALECT = "https://json-schema.org/draft/2020-12/schema"
FORMATS = {
    "binary": "bytes",
    "uuid": "uuid",
    "date": "date",
    "date-time": "datetime",
    "time": "time",
    "duration": "duration",
}
"""Kinds of values by the format of their texts."""
LENGTHS = {
    "string": ("minLength", "maxLength"),
    "bytes": ("minLength", "maxLength"),
    "list": ("minItems", "maxItems"),
    "map": ("minProperties", "maxProperties"),
}
"""Keywords of the least and the greatest length."""
MOST_PARTS = 100_000
"""Parts of a document beyond which it is refused; references may repeat one another."""
MOST_LEVELS = 50
"""Models within one another."""

LIMITS: dict[str, tuple[float, float]] = {
    **INTEGERS,
    **{kind: (-most, most) for kind, most in FLOATS.items()},
}
"""Least and greatest value of each type of numbers."""

_NULL = {"type": "null"}
_NOTES = {
    *("$schema", "$id", "$comment", "$defs", "definitions", "title", "description"),
    *("examples", "deprecated", "readOnly", "writeOnly", "format", "default", MORE),
    *("contentEncoding", "contentMediaType", "contentSchema", "$anchor"),
}
"""Keywords that refuse no value."""
_KEYWORDS = {
    "string": {*LENGTHS["string"], "pattern"},
    "integer": {*BOUNDS.values()},
    "number": {*BOUNDS.values()},
    "boolean": set(),
    "array": {*LENGTHS["list"], "uniqueItems", "items", "prefixItems"},
    "map": {*LENGTHS["map"], "additionalProperties", "propertyNames"},
    "struct": {"properties", "required", "additionalProperties"},
}


_SHAPES: dict[type | tuple[type, ...], tuple[str, ...]] = {
    int: tuple(word for words in LENGTHS.values() for word in words),
    (int, float): tuple(BOUNDS.values()),
    str: ("pattern", "title", "description", "format"),
    list: ("enum", "required", "prefixItems"),
    dict: ("properties", "propertyNames"),
}
"""Keywords by the types of their values."""


class _More(BaseModel):
    """What may stand under `x-evalkit`."""

    model_config = ConfigDict(strict=True, extra="forbid", defer_build=True)

    kind: Literal[(*INTEGERS, *FLOATS, "decimal")] = "int64"  # type: ignore[valid-type]
    strict: bool = False
    finite: bool = False
    rules: list[str] = []
    precision: int | None = None
    scale: int | None = None
    zone: str = ""
    version: str = ""
    description: str = ""
    unit: str = ""
    semantics: str = ""
    ge: int | float | str = 0
    gt: int | float | str = 0
    le: int | float | str = 0
    lt: int | float | str = 0
    multiple_of: int | float | str = 0


_TYPES = {bool: "boolean", int: "integer", str: "string"}
_OF_FIELDS = ("unit", "semantics")
_ORDERED = {*INTEGERS, *FLOATS, "decimal", "date", "datetime", "time", "duration"}


def plain_of(document: Document) -> tuple[Document, bool]:
    """Return what a value that is not null is, and whether it may be null."""
    options = document.get("anyOf")
    if options is None:
        return document, False
    others = [each for each in options if each != _NULL]
    plain = others[0] if len(others) == 1 else {"anyOf": others}
    return plain, len(others) < len(options)


def kind_of(plain: Document) -> str:
    """Return the kind of values that are not null; `json` for a union."""
    if "anyOf" in plain:
        return "json"
    if found := plain.get(MORE, {}).get("kind"):
        return str(found)
    match plain["type"]:
        case "string":
            return FORMATS.get(plain.get("format", ""), "string")
        case "object":
            return "struct" if "properties" in plain else "map"
        case name:
            named = {"integer": "int64", "number": "float64", "array": "list"}
            return named.get(name, str(name))


def rules_of(plain: Document) -> dict[str, Any]:
    """Return the rules for values that are not null, as pydantic's `Field` has them."""
    kind, more = kind_of(plain), plain.get(MORE, {})
    found: dict[str, Any] = {}
    if kind in LIMITS:
        limits = dict(zip(("ge", "le"), LIMITS[kind], strict=True))
        for name, keyword in BOUNDS.items():
            if keyword in plain and plain[keyword] != limits.get(name):
                found[name] = plain[keyword]
    else:
        found = {name: more[name] for name in BOUNDS if name in more}
    lengths = zip(("min_length", "max_length"), LENGTHS.get(kind, ()), strict=False)
    found |= {name: plain[word] for name, word in lengths if word in plain}
    renamed = {"precision": "max_digits", "scale": "decimal_places"}
    found |= {new: more[old] for old, new in renamed.items() if old in more}
    found |= {"pattern": plain["pattern"]} if "pattern" in plain else {}
    found |= {"allow_inf_nan": False} if more.get("finite") else {}
    is_strict = more.get("strict") and kind != "struct"
    return found | ({"strict": True} if is_strict else {})


def size_of(plain: Document) -> int | None:
    """Return the number of elements of each list, where it is fixed."""
    least, most = plain.get("minItems"), plain.get("maxItems")
    return most if least == most and not plain.get("uniqueItems") else None


def canonical(document: Document) -> str:
    """Return the one text of a schema: no titles and descriptions, keys sorted.

    The order of fields counts, as it does in Arrow.
    """
    return json.dumps(
        _without_notes(document),
        sort_keys=True,
        separators=(",", ":"),
        ensure_ascii=False,
    )


def _without_notes(document: Any) -> Any:
    if not isinstance(document, dict):
        return document
    found = {
        key: value
        for key, value in document.items()
        if key not in ("title", "description", "$schema")
    }
    if MORE in found:
        notes = ("description", "version")
        more = {k: v for k, v in found.pop(MORE).items() if k not in notes}
        found |= {MORE: more} if more else {}
    for key in ("items", "additionalProperties", "propertyNames"):
        if key in found:
            found[key] = _without_notes(found[key])
    if "anyOf" in found:
        found["anyOf"] = [_without_notes(each) for each in found["anyOf"]]
    if "properties" in found:
        members = found["properties"].items()
        found["properties"] = [[name, _without_notes(part)] for name, part in members]
    return found


def normal(document: Any, name: str = "#", *, is_own: bool = False) -> Document:
    """Return a document in the one form, without references.

    Args:
        document: Any document whose root is an object with properties.
        name: What messages call it.
        is_own: Whether pydantic made it of a model, which checks what is unknown here.

    Raises:
        SchemaError: A keyword says what no column can.
    """
    try:
        found = _Reader(document, is_own).part(document, name)
    except RecursionError:
        raise SchemaError(f"{name}: nested too deeply") from None
    if "properties" not in found:
        raise SchemaError(f"{name}: a row is an object with properties, and not null")
    description = document.get("description") or found.get(MORE, {}).get("description")
    found = _trimmed(found, "description")
    described = {} if description is None else {"description": description}
    return {"$schema": DIALECT, **found, **described}


def _trimmed(document: Document, *names: str) -> Document:
    """Leave out what `x-evalkit` says under names."""
    more = {k: v for k, v in document.get(MORE, {}).items() if k not in names}
    found = {key: value for key, value in document.items() if key != MORE}
    return {**found, MORE: more} if more else found


class _Reader:
    """Reads the parts of a document.

    Args:
        root: The whole document, in which references are looked up.
        is_own: Whether pydantic made it.
    """

    def __init__(self, root: Any, is_own: bool) -> None:
        self._root, self._is_own = root, is_own
        self._within: list[str] = []
        self._parts = 0

    def part(self, document: Any, place: str) -> Document:
        """Read what a value is."""
        self._parts += 1
        if self._parts > MOST_PARTS:
            raise SchemaError(f"{place}: more than {MOST_PARTS:,} parts")
        if not isinstance(document, dict):
            raise SchemaError(f"{place}: a schema is an object, not {document!r:.60}")
        self._check(document, place)
        if "$ref" in document:
            return self._reference(document, place)
        for keyword in ("anyOf", "oneOf", "allOf"):
            if keyword in document:
                return self._alternatives(document, keyword, place)
        return self._plain(document, place)

    def _check(self, document: Document, place: str) -> None:
        """Refuse keywords whose values are no values of theirs."""
        more = document.get(MORE, {})
        if not isinstance(more, dict):
            raise SchemaError(f"{place}: {MORE} is an object")
        if "problem" in more:
            raise SchemaError(f"{place}: {more['problem']}")
        for types, words in _SHAPES.items():
            for word in words:
                if word in document and not isinstance(document[word], types):
                    value = f"{document[word]!r:.60}"
                    raise SchemaError(f"{place}: {value} is no value of {word}")
        try:
            _More.model_validate(more)
        except ValidationError as error:
            raise SchemaError(f"{place}: {MORE}: {error}") from error

    def _reference(self, document: Document, place: str) -> Document:
        reference = document["$ref"]
        if reference in self._within:
            raise SchemaError(
                f"{place}: {reference} holds itself, and so has no columns"
            )
        if len(self._within) >= MOST_LEVELS:
            raise SchemaError(
                f"{place}: is within more than {MOST_LEVELS} other models"
            )
        target = self._find(reference, place)
        self._within.append(reference)
        try:
            found = self._joined(target, document, "$ref", place)
        finally:
            self._within.pop()
        plain, _ = plain_of(found)
        description = target.get("description") if isinstance(target, dict) else None
        if description and "properties" in plain and plain is found:
            found = with_more(
                found, **{"description": description, **plain.get(MORE, {})}
            )
        return found

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

    def _joined(
        self, inner: Any, around: Document, keyword: str, place: str
    ) -> Document:
        """Read a part with notes, and nothing else, beside it."""
        further = {*around} - _NOTES - {keyword}
        if further and not self._is_own:
            raise SchemaError(f"{place}: {min(further)} beside a reference or choice")
        found = self.part(inner, place)
        more = around.get(MORE, {})
        rules = {key: more[key] for key in more if key not in _OF_FIELDS}
        if not rules:
            return found
        plain, nullable = plain_of(found)
        made = _finished(with_more(plain, **rules), kind_of(plain), place)
        return _nullable(made) if nullable else made

    def _alternatives(self, document: Document, keyword: str, place: str) -> Document:
        listed = document[keyword]
        if not isinstance(listed, list):
            raise SchemaError(f"{place}: {keyword} is a list")
        others = [each for each in listed if each != _NULL]
        if {"type": "number"} in others:
            others = [each for each in others if each != {"type": "integer"}]
        nullable = len(listed) > 1 and _NULL in listed
        if not others or (keyword == "allOf" and len(listed) != 1):
            names = len(others)
            raise SchemaError(
                f"{place}: a column has one type; {keyword} names {names}"
            )
        made: list[Document] = []
        for other in others:
            plain, may_be_null = plain_of(self._joined(other, document, keyword, place))
            nullable = nullable or may_be_null
            made += [] if plain in made else [plain]
        if len(made) > 1:
            if {"type": "string"} not in made or {"type": "number"} not in made[:2]:
                kinds = " or ".join(sorted({kind_of(each) for each in made}))
                rule = f"a column has one type; {keyword} names {len(made)}"
                raise SchemaError(f"{place}: {rule}: {kinds}")
            return {"anyOf": [*made, *([_NULL] if nullable else [])]}
        return _nullable(made[0]) if nullable else made[0]

    def _plain(self, document: Document, place: str) -> Document:
        name, nullable = _type_of(document, place)
        more = _trimmed({MORE: document.get(MORE, {})}, *_OF_FIELDS).get(MORE, {})
        if self._is_own:
            # pydantic names rules so that it checks beside a type
            more |= {key: document[key] for key in BOUNDS if key in document}
        else:
            known = {*_NOTES, *_KEYWORDS[name], "type", "enum", "const"}
            for other in sorted(document.keys() - known):
                raise SchemaError(f"{place}: the keyword {other} is not supported")
        found: Document = {"type": "object" if name in ("map", "struct") else name}
        read = {"array": self._items, "map": self._map, "struct": self._struct}
        if name in read:
            found |= read[name](document, place)
        if more.get("kind") == "decimal":
            found["type"] = ["number", "string"]
        if document.get("format") in FORMATS:
            found["format"] = document["format"]
        if "enum" in document or "const" in document:
            if len({_TYPES.get(type(each)) for each in _values(document)} | {name}) > 1:
                raise SchemaError(f"{place}: allowed values are no {name}s")
            # Python takes Literal[1, 2] for Literal[2, 1]
            found["enum"] = sorted(dict.fromkeys(_values(document)))
            nullable = nullable and None in document.get("enum", [None])
        kept = (*LENGTHS.get("list" if name == "array" else name, ()), "pattern")
        kept += () if "enum" in found else tuple(BOUNDS.values())
        found |= {word: document[word] for word in kept if word in document}
        made = _finished({**found, MORE: more}, kind_of({**found, MORE: more}), place)
        return _nullable(made) if nullable else made

    def _items(self, document: Document, place: str) -> Document:
        listed = document.get("prefixItems")
        unique = {"uniqueItems": True} if document.get("uniqueItems") else {}
        if listed is None:
            if document.get("items") in (None, True, {}):
                hint = "; write list[…]" if self._is_own else ""
                raise SchemaError(f"{place}: an array without items says no type{hint}")
            return {"items": self.part(document["items"], f"{place}/items"), **unique}
        made: list[Document] = []
        for number, each in enumerate(listed):
            part = self.part(each, f"{place}/prefixItems/{number}")
            made += [] if part in made else [part]
        size = len(listed)
        is_closed = document.get("items") is False or document.get("maxItems") == size
        if len(made) != 1 or not is_closed:
            raise SchemaError(f"{place}: the elements of a list have one type")
        return {"items": made[0], "minItems": size, "maxItems": size}

    def _map(self, document: Document, place: str) -> Document:
        if not isinstance(document.get("additionalProperties"), dict):
            raise SchemaError(f"{place}: an object does not say what it holds")
        inner = f"{place}/additionalProperties"
        found: Document = {
            "additionalProperties": self.part(document["additionalProperties"], inner)
        }
        given = {"type": "string", **document.get("propertyNames", {})}
        names = self.part(given, f"{place}/propertyNames")
        if names.get("type") != "string":
            raise SchemaError(f"{place}: the keys of a map are texts, as in JSON")
        return (
            found if names == {"type": "string"} else {**found, "propertyNames": names}
        )

    def _struct(self, document: Document, place: str) -> Document:
        further = document.get("additionalProperties", True)
        if isinstance(further, dict) and further:
            raise SchemaError(f"{place}: properties, and others beside them")
        properties, required = document["properties"], document.get("required", [])
        missing = sorted({*map(str, required)} - properties.keys())
        if missing:
            raise SchemaError(f"{place}: {missing[0]} is required and no property")
        title = document.get("title")
        found: Document = {} if title is None else {"title": str(title)}
        own = title or place
        found["properties"] = {
            name: self._member(
                part,
                name in required,
                f"{own}.{name}" if self._is_own else f"{place}/properties/{name}",
            )
            for name, part in properties.items()
        }
        check_names(str(own), found["properties"], required)
        found["required"] = [name for name in properties if name in required]
        return found | ({"additionalProperties": False} if further is False else {})

    def _member(self, document: Any, required: bool, place: str) -> Document:
        found = self.part(document, place)
        if not required:
            default = document.get("default")
            nullable = plain_of(found)[1]
            if default is None and not nullable:
                if self._is_own:
                    raise SchemaError(
                        f"{place}: its default is None, which its annotation does not "
                        "allow"
                    )
                found = _nullable(found)
            found = {**found, "default": default}
        if document.get("description") is not None:
            found = {**found, "description": document["description"]}
        notes = {**_notes(document), **_notes(document.get("anyOf"))}
        return with_more(found, **notes) if notes else found


def _notes(document: Any) -> Document:
    """Return the notes of a field, which may stand on either side of `| None`."""
    if isinstance(document, list):
        return {key: value for each in document for key, value in _notes(each).items()}
    more = document.get(MORE, {}) if isinstance(document, dict) else {}
    return {key: more[key] for key in _OF_FIELDS if key in more}


def _nullable(plain: Document) -> Document:
    if "anyOf" in plain:
        return plain if plain_of(plain)[1] else {"anyOf": [*plain["anyOf"], _NULL]}
    return {"anyOf": [plain, _NULL]}


def _type_of(document: Document, place: str) -> tuple[str, bool]:
    """Return the one type of a part, and whether null is one as well."""
    given = document.get("type")
    if given is None and ("enum" in document or "const" in document):
        given = sorted({_TYPES.get(type(each), "?") for each in _values(document)})
        given += ["null"] if None in document.get("enum", ()) else []
    listed = [given] if isinstance(given, str) else given
    if not isinstance(listed, list):
        raise SchemaError(f"{place}: it says no type of a column")
    kinds = [each for each in listed if each != "null"]
    if {*kinds} == {"number", "string"} and document.get(MORE, {}).get("kind"):
        kinds = ["number"]
    name = kinds[0] if kinds else ""
    if name == "object":
        name = "struct" if "properties" in document else "map"
    if len(kinds) != 1 or name not in _KEYWORDS:
        raise SchemaError(f"{place}: a column has one type, and not {listed!r:.60}")
    return name, "null" in listed


def _values(document: Document) -> Sequence[Any]:
    listed = document["enum"] if "enum" in document else [document["const"]]
    return [each for each in listed if each is not None]


def _finished(found: Document, kind: str, place: str) -> Document:
    """Write the rules of a value as all that say the same have them."""
    usual = {"kind": ("int64", "float64"), "zone": ("UTC",)}
    more = {
        key: value
        for key, value in found.get(MORE, {}).items()
        if not (
            value is None or value is False or value in ("", [], *usual.get(key, ()))
        )
        or (key in (*BOUNDS, "scale") and value is not None)
    }
    for name in {*more} & {*BOUNDS} if kind not in _ORDERED else ():
        raise SchemaError(f"{place}: {name} is no rule for {kind}")
    shortest = {least for least, _ in LENGTHS.values()}
    found = {k: v for k, v in found.items() if k != MORE and (v or k not in shortest)}
    if kind == "decimal":
        _check_digits(more, place)
    elif kind in LIMITS and "enum" not in found:
        found |= {BOUNDS[k]: more.pop(k) for k in BOUNDS if k in more}
        found = _bounded(found, kind, place)
    return {**found, MORE: more} if more else found


def _bounded(found: Document, kind: str, place: str) -> Document:
    """Add the bounds of a type of numbers to those of the field."""
    least, most = LIMITS[kind]
    if kind in INTEGERS and kind != "int64":
        for name, limit, sign in (("ge", least, 1), ("le", most, -1)):
            value = found.get(BOUNDS[name], limit)
            if sign * (value - limit) < 0:
                raise SchemaError(
                    f"{place}: {name}={value} takes values that {kind} does not hold"
                )
    number = int if kind in INTEGERS else float
    bounds = {"minimum": least, "maximum": most}
    bounds |= {word: found[word] for word in BOUNDS.values() if word in found}
    found = {key: value for key, value in found.items() if key not in BOUNDS.values()}
    return found | {
        word: number(value) if number(value) == value else value
        for word, value in bounds.items()
        if math.isfinite(value)
    }


def _check_digits(more: Document, place: str) -> None:
    precision, scale = more.get("precision"), more.get("scale")
    if precision is None or scale is None:
        raise SchemaError(
            f"{place}: a Decimal needs max_digits and decimal_places, so that its "
            "column holds each value exactly"
        )
    if not 0 <= scale <= precision or not 1 <= precision <= 76:
        raise SchemaError(
            f"{place}: a decimal has 1 to 76 digits, and not more behind the point"
        )


def fields_of(document: Document) -> Iterator[tuple[str, Document, bool]]:
    """Yield name, document and whether it is required, of each field of a struct."""
    for name, part in document["properties"].items():
        yield name, part, name in document["required"]


def zone_of(plain: Document) -> str:
    """Return the zone of a datetime: a time zone, "any" or "none"."""
    return str(plain.get(MORE, {}).get("zone", "UTC"))
