"""Schemas as source code of pydantic, which can be copied, and as its classes."""

from __future__ import annotations

import json
import keyword
import re
from collections.abc import Container, Iterator, Mapping
from itertools import count
from typing import Annotated, Any

from pydantic import (
    BaseModel,
    PydanticUserError,
    TypeAdapter,
    ValidationError,
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
from evalkit_schemas_standard.from_models import json_schema
from evalkit_schemas_standard.scalars import (
    ANY_ZONE,
    BOUNDS,
    FLOATS,
    INTEGERS,
    MORE,
    NO_ZONE,
)

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
    "typing": ("Annotated", "ClassVar", "Literal"),
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


_TAKEN = frozenset(dir(BaseModel))


def model_source(model: type[BaseModel]) -> str:
    """Return a schema as source code."""
    return _Writer(json_schema(model), model.__name__).source


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
    """Make the class that the source code of a document in the one form defines."""
    writer = _Writer(document, name)
    space: dict[str, Any] = {"__name__": __name__}
    title = document.get("title") or name
    try:
        # all that comes from the document stands there as a literal or an identifier
        code = compile(writer.source, "<schema>", "exec", dont_inherit=True)
        exec(code, space)
    except (PydanticUserError, PydanticSchemaError, TypeError, ValueError) as error:
        raise SchemaError(f"{title}: pydantic cannot build it: {error}") from error
    model: type[BaseModel] = space[writer.name]
    for column, field in model.model_fields.items():
        if not (field.is_required() or field.default is None):
            try:
                annotation: Any = Annotated[(field.annotation, *field.metadata, None)]
                TypeAdapter(annotation).validate_python(field.default)
            except ValidationError as error:
                where = f"{title}.{field.alias or column}"
                raise SchemaError(
                    f"{where}: its default is no value of it: {error}"
                ) from error
    return model


def _python_name(name: str, number: int, taken: Container[str]) -> str:
    """Return the attribute of a field: its name, where Python and pydantic take it."""
    wanted = name + "_" if keyword.iskeyword(name) else name
    is_python = wanted.isidentifier() and wanted.isascii()
    if not is_python or wanted in _TAKEN or wanted.startswith(("_", "model_")):
        wanted = f"field_{number}"
    while wanted in taken:
        wanted += "_"
    return wanted


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
    """Writes the class of a document, and before it those that it holds."""

    def __init__(self, document: Document, name: str) -> None:
        self._fields = {*_field_names(document)}
        self._bodies: dict[str, str] = {}
        self.name = self._class(document, name)
        body = "\n\n\n".join(self._bodies.values())
        self.source = f"{_imports(body)}\n\n\n{body}"

    def _class(self, document: Document, name: str) -> str:
        """Write a class once; return its name."""
        more = document.get(MORE, {})
        title = document.get("title") or name
        name = title if title.isidentifier() and title.isascii() else name
        # beside a field `description` is the field's
        described = (document if "$schema" in document else more).get("description")
        is_closed = document.get("additionalProperties") is False
        settings = {
            "extra": '"forbid"' if is_closed else None,
            "strict": "True" if more.get("strict") else None,
        }
        lines, version = _checks(document), more.get("version")
        taken = {"version"} if version else set[str]()
        for number, (column, part, required) in enumerate(fields_of(document)):
            attribute = _python_name(column, number, taken | _USED | {*self._bodies})
            taken.add(attribute)
            lines += _checks(plain_of(part)[0]) if "properties" not in part else []
            lines.append(f"    {self._member(column, part, required, attribute)}")
        for number in count(1):
            free = f"{name}{number}" if number > 1 else name
            own = {"title": _text(title) if title != free else None, **settings}
            config = f"    model_config = ConfigDict({_keywords(own)})"
            head = [f"    {_text(described)}"] if described else []
            head += [config] if any(own.values()) else []
            head += [f"    version: ClassVar[str] = {version!r}"] if version else []
            body = "\n".join(
                [f"class {free}(BaseModel):", *(head + lines or ["    pass"])]
            )
            is_taken = keyword.iskeyword(free) or free in self._fields | _USED
            if self._bodies.get(free, body) == body and not is_taken:
                self._bodies[free] = body
                break
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
            return self._class(plain, name)
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
    is_sound = value.isprintable() or value.isascii()
    return json.dumps(value, ensure_ascii=False) if is_sound else repr(value)


def _keywords(values: Mapping[str, str | None]) -> str:
    return ", ".join(f"{key}={value}" for key, value in values.items() if value)
