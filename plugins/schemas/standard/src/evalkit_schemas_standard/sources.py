"""Schemas as source code: classes of pydantic that can be copied into a module."""

from __future__ import annotations

import json
import keyword
import re
from collections.abc import Iterator, Mapping, Set
from typing import Any

from pydantic import BaseModel

from evalkit_schemas_standard.documents import (
    Document,
    fields_of,
    kind_of,
    plain_of,
    rules_of,
    zone_of,
)
from evalkit_schemas_standard.from_models import json_schema
from evalkit_schemas_standard.scalars import (
    ANY_ZONE,
    BOUNDS,
    FLOATS,
    INTEGERS,
    MORE,
    NO_ZONE,
)
from evalkit_schemas_standard.to_models import python_name

_SIZED = {
    kind: kind.capitalize().replace("Uint", "UInt") for kind in (*INTEGERS, *FLOATS)
}
_AS_TEXT = {
    "uuid": "UUID",
    "decimal": "Decimal",
    "date": "date",
    "datetime": "datetime",
    "time": "time",
    "duration": "timedelta",
    "bytes": "bytes",
}
"""Kinds whose values are texts in JSON, and their types."""
_PLAIN = {**_AS_TEXT, "string": "str", "boolean": "bool", "float64": "float"}
_HOMES = {
    "datetime": ("date", "datetime", "time", "timedelta"),
    "decimal": ("Decimal",),
    "typing": ("Annotated", "Literal"),
    "uuid": ("UUID",),
    "pydantic": (
        *("AwareDatetime", "BaseModel", "ConfigDict", "Field", "NaiveDatetime"),
        "TypeAdapter",
    ),
    "evalkit_schemas_standard": (*sorted(_SIZED.values()), "Semantics", "Unit"),
    "evalkit_schemas_standard.scalars": ("Stored",),
}
_USED = {
    *("bool", "bytes", "dict", "float", "list", "set", "str"),
    *(name for names in _HOMES.values() for name in names),
}
"""Names that annotations need, which a field of the class would hide."""


def model_source(model: type[BaseModel]) -> str:
    """Return a schema as source code."""
    document = json_schema(model)
    writer = _Writer({*_field_names(document)})
    writer.write_class(document, model.__name__)
    body = "\n\n\n".join(writer.classes)
    return f"{_imports(body)}\n\n\n{body}"


def _imports(body: str) -> str:
    lines = []
    for home, names in _HOMES.items():
        used = [name for name in names if re.search(rf"\b{name}\b", body)]
        if used:
            lines.append(f"from {home} import {', '.join(used)}")
    return "\n".join(lines)


def _field_names(document: Any) -> Iterator[str]:
    """Yield the names of fields, at any depth."""
    if isinstance(document, dict):
        yield from document.get("properties", ())
    if isinstance(document, dict | list):
        for each in document.values() if isinstance(document, dict) else document:
            yield from _field_names(each)


class _Writer:
    """Writes classes, those that others hold first.

    Args:
        field_names: Names of all fields, which would hide a class of the same name.
    """

    def __init__(self, field_names: Set[str]) -> None:
        self._field_names = field_names
        self.classes: list[str] = []
        self._names: dict[str, str] = {}

    def write_class(self, document: Document, name: str) -> str:
        """Write a class once; return its name."""
        wanted, more = document.get("title") or name, document.get(MORE, {})
        name = wanted if wanted.isidentifier() else name
        lines = []
        # beside a field `description` is the field's
        whole = document if "$schema" in document else more
        if whole.get("description"):
            lines.append(f"    {_text(whole['description'])}")
        is_closed = document.get("additionalProperties") is False
        settings = {
            "title": _text(wanted) if wanted != name else None,
            "extra": '"forbid"' if is_closed else None,
            "strict": "True" if more.get("strict") else None,
        }
        if any(settings.values()):
            lines.append(f"    model_config = ConfigDict({_keywords(settings)})")
        lines += _checks(document)
        taken: set[str] = set()
        for number, (column, part, required) in enumerate(fields_of(document)):
            hidden = {*taken, *_USED, *self._names}
            attribute = python_name(column, number, hidden)
            taken.add(attribute)
            lines += _checks(plain_of(part)[0]) if "properties" not in part else []
            lines.append(f"    {self._member(column, part, required, attribute)}")
        return self._add(name, "\n".join(lines or ["    pass"]))

    def _add(self, name: str, body: str) -> str:
        free, number = name, 2
        while (
            self._names.get(free, body) != body
            or keyword.iskeyword(free)
            or free in self._field_names
        ):
            free, number = f"{name}{number}", number + 1
        if free not in self._names:
            self._names[free] = body
            self.classes.append(f"class {free}(BaseModel):\n{body}")
        return free

    def _member(
        self, column: str, part: Document, required: bool, attribute: str
    ) -> str:
        annotation, more = self._annotation(part, attribute.title()), part.get(MORE, {})
        notes = [
            f"{key.title()}({more[key]!r})"
            for key in ("unit", "semantics")
            if more.get(key) is not None
        ]
        if notes:
            annotation = f"Annotated[{annotation}, {', '.join(notes)}]"
        described = part.get("description")
        settings = {
            "default": None if required else self._default(part, column),
            "alias": None if attribute == column else _text(column),
            "description": None if described is None else _text(described),
        }
        said = _keywords(settings)
        return f"{attribute}: {annotation}" + (f" = Field({said})" if said else "")

    def _default(self, part: Document, name: str) -> str:
        kind, value = kind_of(plain_of(part)[0]), part["default"]
        if value is None:
            return "None"
        if kind not in (*_AS_TEXT, "struct", "list", "map"):
            return repr(value)
        annotation = self._annotation(part, name)
        return f"TypeAdapter({annotation}).validate_python({value!r}, strict=False)"

    def _annotation(self, part: Document, name: str) -> str:
        plain, nullable = plain_of(part)
        base, kind = self._base(plain, name), kind_of(plain)
        rules = {} if kind == "json" else rules_of(plain)
        texts = {key: _value(kind, key, value) for key, value in rules.items()}
        if texts:
            base = f"Annotated[{base}, Field({_keywords(texts)})]"
        return f"{base} | None" if nullable else base

    def _base(self, plain: Document, name: str) -> str:
        kind = kind_of(plain)
        if kind == "json":
            return " | ".join(self._annotation(each, name) for each in plain["anyOf"])
        if "enum" in plain:
            return f"Literal[{', '.join(map(repr, plain['enum']))}]"
        if kind == "struct":
            return self.write_class(plain, name)
        if kind == "list":
            inner = self._annotation(plain["items"], name)
            return f"set[{inner}]" if plain.get("uniqueItems") else f"list[{inner}]"
        if kind == "map":
            keys = self._annotation(
                plain.get("propertyNames", {"type": "string"}), name
            )
            return (
                f"dict[{keys}, {self._annotation(plain['additionalProperties'], name)}]"
            )
        if kind == "datetime":
            zone = zone_of(plain)
            known = {ANY_ZONE: "datetime", NO_ZONE: "NaiveDatetime"}
            known["UTC"] = "AwareDatetime"
            other = f'Annotated[AwareDatetime, Stored("datetime", {zone!r})]'
            return known.get(zone, other)
        return _PLAIN.get(kind) or _SIZED[kind]


def _checks(document: Document) -> list[str]:
    rules = document.get(MORE, {}).get("rules", ())
    return [f"    # checked by {rule}, in Python only" for rule in rules]


def _value(kind: str, key: str, value: Any) -> str:
    if key not in BOUNDS or kind not in _AS_TEXT:
        return repr(value)
    return f"TypeAdapter({_AS_TEXT[kind]}).validate_python({value!r})"


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)


def _keywords(values: Mapping[str, str | None]) -> str:
    return ", ".join(f"{key}={value}" for key, value in values.items() if value)
