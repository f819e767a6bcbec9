"""Schemas as source code: classes of pydantic that can be copied into a module."""

from __future__ import annotations

import json
import keyword
import re
from collections.abc import Iterator, Set
from typing import Any

from pydantic import BaseModel

from evalkit_schemas_standard.from_models import shape_of_model
from evalkit_schemas_standard.scalars import (
    ANY_ZONE,
    FLOATS,
    INTEGERS,
    NO_ZONE,
    Member,
    Shape,
)
from evalkit_schemas_standard.to_models import python_name

_SIZED = {
    **{kind: kind.replace("uint", "UInt").replace("int", "Int") for kind in INTEGERS},
    **{kind: kind.title() for kind in FLOATS},
    **{f"uint{bits}": f"UInt{bits}" for bits in (8, 16, 32, 64)},
}
_PLAIN = {
    "string": "str",
    "boolean": "bool",
    "bytes": "bytes",
    "float64": "float",
    "uuid": "UUID",
    "decimal": "Decimal",
    "date": "date",
    "time": "time",
    "duration": "timedelta",
}
_AS_TEXT = ("uuid", "decimal", "date", "datetime", "time", "duration", "bytes")
"""Kinds whose values are texts in JSON."""
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
_RULES = {
    "precision": "max_digits",
    "scale": "decimal_places",
    **{
        name: name
        for name in (
            *("ge", "gt", "le", "lt", "multiple_of"),
            *("min_length", "max_length", "pattern"),
        )
    },
}


def model_source(model: type[BaseModel]) -> str:
    """Return a schema as source code."""
    shape = shape_of_model(model)
    writer = _Writer({*_field_names(shape)})
    writer.write_class(shape, model.__name__)
    body = "\n\n\n".join(writer.classes)
    return f"{_imports(body)}\n\n\n{body}"


def _imports(body: str) -> str:
    lines = []
    for home, names in _HOMES.items():
        used = [name for name in names if re.search(rf"\b{name}\b", body)]
        if used:
            lines.append(f"from {home} import {', '.join(used)}")
    return "\n".join(lines)


def _field_names(shape: Shape) -> Iterator[str]:
    for inner in (shape.items, *(member.shape for member in shape.fields)):
        if inner is not None:
            yield from _field_names(inner)
    yield from (member.name for member in shape.fields)


class _Writer:
    """Writes classes, those that others hold first.

    Args:
        field_names: Names of all fields, which would hide a class of the same name.
    """

    def __init__(self, field_names: Set[str]) -> None:
        self._field_names = field_names
        self.classes: list[str] = []
        self._names: dict[str, str] = {}

    def write_class(self, shape: Shape, name: str) -> str:
        """Write a class once; return its name."""
        wanted = shape.title or name
        name = wanted if wanted.isidentifier() else name
        lines = []
        if shape.description:
            lines.append(f"    {_text(shape.description)}")
        settings = {
            "title": _text(wanted) if wanted != name else None,
            "extra": '"forbid"' if shape.closed else None,
            "strict": "True" if shape.strict else None,
        }
        if any(settings.values()):
            lines.append(f"    model_config = ConfigDict({_keywords(settings)})")
        lines += [f"    # checked by {rule}, in Python only" for rule in shape.rules]
        taken: set[str] = set()
        for number, member in enumerate(shape.fields):
            hidden = {*taken, *_USED, *self._names}
            attribute = python_name(member.name, number, hidden)
            taken.add(attribute)
            lines.append(f"    {self._member(member, attribute)}")
        body = "\n".join(lines or ["    pass"])
        return self._add(name, body)

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

    def _member(self, member: Member, attribute: str) -> str:
        shape = member.shape
        annotation = self._annotation(shape, attribute.title())
        notes = [
            *([f"Unit({member.unit!r})"] if member.unit is not None else []),
            *([f"Semantics({member.semantics!r})"] if member.semantics else []),
        ]
        if notes:
            annotation = f"Annotated[{annotation}, {', '.join(notes)}]"
        described = member.description
        settings = {
            "default": None if member.required else self._default(member),
            "alias": None if attribute == member.name else _text(member.name),
            "description": None if described is None else _text(described),
        }
        said = _keywords(settings)
        return f"{attribute}: {annotation}" + (f" = Field({said})" if said else "")

    def _default(self, member: Member) -> str:
        shape, value = member.shape, member.default
        if value is None:
            return "None"
        if shape.kind not in (*_AS_TEXT, "struct", "list", "map"):
            return repr(value)
        annotation = self._annotation(shape, member.name)
        return f"TypeAdapter({annotation}).validate_python({value!r}, strict=False)"

    def _annotation(self, shape: Shape, name: str) -> str:
        base = self._base(shape, name)
        rules: dict[str, str | None] = {}
        for key, keyword_ in _RULES.items():
            value = getattr(shape, key)
            if value is not None:
                rules[keyword_] = self._value(shape, key, value)
        rules["allow_inf_nan"] = "False" if shape.finite else None
        is_strict = shape.strict and shape.kind != "struct"
        rules["strict"] = "True" if is_strict else None
        if said := _keywords(rules):
            base = f"Annotated[{base}, Field({said})]"
        return f"{base} | None" if shape.nullable else base

    def _base(self, shape: Shape, name: str) -> str:
        if shape.values is not None:
            return f"Literal[{', '.join(map(repr, shape.values))}]"
        if shape.kind == "struct":
            return self.write_class(shape, name)
        if shape.items is not None:
            inner = self._annotation(shape.items, name)
            if shape.map_keys is not None:
                return f"dict[{self._annotation(shape.map_keys, name)}, {inner}]"
            return f"set[{inner}]" if shape.unique else f"list[{inner}]"
        if shape.kind == "datetime":
            zone = shape.zone or ANY_ZONE
            known = {ANY_ZONE: "datetime", NO_ZONE: "NaiveDatetime"}
            known["UTC"] = "AwareDatetime"
            other = f'Annotated[AwareDatetime, Stored("datetime", {zone!r})]'
            return known.get(zone, other)
        return _PLAIN.get(shape.kind) or _SIZED[shape.kind]

    def _value(self, shape: Shape, key: str, value: Any) -> str:
        is_bound = key in ("ge", "gt", "le", "lt")
        if not is_bound or shape.kind not in _AS_TEXT:
            return repr(value)
        kind = "datetime" if shape.kind == "datetime" else _PLAIN[shape.kind]
        return f"TypeAdapter({kind}).validate_python({value!r})"


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)


def _keywords(values: dict[str, str | None]) -> str:
    return ", ".join(f"{key}={value}" for key, value in values.items() if value)
