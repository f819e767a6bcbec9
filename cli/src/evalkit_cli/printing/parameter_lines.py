"""Says in words what parameters a plugin takes."""

from __future__ import annotations

import ast
import inspect
import json
import textwrap
from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydantic import BaseModel

_WIDTH = 80
_TYPES = {
    "string": "text",
    "integer": "integer",
    "number": "number",
    "boolean": "true or false",
    "null": "null",
}
_LIMITS = (
    ("minimum", "from {}"),
    ("exclusiveMinimum", "above {}"),
    ("maximum", "to {}"),
    ("exclusiveMaximum", "below {}"),
)


def describe_parameters(model: type[BaseModel]) -> dict[str, Any]:
    """Describe the parameters of a plugin."""
    schema = model.model_json_schema()
    definitions = schema.get("$defs", {})
    texts = _documented(model)
    described = {}
    for name, given in schema.get("properties", {}).items():
        found = _resolved(given, definitions)
        if name in texts:
            found.setdefault("description", texts[name])
        if name in schema.get("required", ()):
            found["required"] = True
        described[name] = found
    return described


def _resolved(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> Any:
    """Put what a schema refers to in its place."""
    name = str(schema.get("$ref", "")).rpartition("/")[2]
    return {**definitions.get(name, {}), **schema}


def _documented(model: type[BaseModel]) -> dict[str, str]:
    """Read the texts below the fields in the code of a model and of its bases."""
    found: dict[str, str] = {}
    for cls in reversed(model.__mro__):
        if cls.__module__.startswith("pydantic") or cls is object:
            continue
        try:
            tree = ast.parse(textwrap.dedent(inspect.getsource(cls)))
        except (OSError, TypeError, SyntaxError):
            continue  # made where there is no file, or by a program
        body = getattr(tree.body[0], "body", [])
        for field, below in pairwise(body):
            if (
                isinstance(field, ast.AnnAssign)
                and isinstance(field.target, ast.Name)
                and isinstance(below, ast.Expr)
                and isinstance(below.value, ast.Constant)
                and isinstance(below.value.value, str)
            ):
                found[field.target.id] = inspect.cleandoc(below.value.value)
    return found


def parameter_lines(described: Mapping[str, Any]) -> list[str]:
    """Write parameters for a person."""
    width = max(map(len, described))
    lines = []
    for name, schema in described.items():
        indent = " " * (width + 4)
        kind = f"{_kind(schema)}{_default(schema)}"
        text = " ".join(str(schema.get("description", "")).split())
        lines += _wrapped(kind, f"  {name.ljust(width)}  ", indent)
        lines += _wrapped(text, indent, indent)
    return lines


def _wrapped(text: str, first: str, later: str) -> list[str]:
    return textwrap.wrap(
        text,
        _WIDTH,
        initial_indent=first,
        subsequent_indent=later,
        break_on_hyphens=False,
    )


def _default(schema: Mapping[str, Any]) -> str:
    if schema.get("required"):
        return ", required"
    default = schema.get("default")
    return "" if default is None else f", default {_written(default)}"


def _written(value: Any) -> str:
    return value if isinstance(value, str) and value.strip() else json.dumps(value)


def is_path(schema: Mapping[str, Any]) -> bool:
    """Tell whether a parameter is the path of a file or folder, or none."""
    kinds = [schema, *schema.get("anyOf", ())]
    return any(
        kind.get("format") in ("path", "file-path", "directory-path") for kind in kinds
    )


def _kind(schema: Mapping[str, Any]) -> str:
    if is_path(schema):
        return "path"
    if "enum" in schema:
        return " or ".join(map(_written, schema["enum"]))
    if "const" in schema:
        return _written(schema["const"])
    if "anyOf" in schema:
        kinds = [_kind(each) for each in schema["anyOf"] if each.get("type") != "null"]
        return " or ".join(dict.fromkeys(kinds))
    if schema.get("type") == "array":
        return f"list of {_kind(schema.get('items', {}))}"
    if schema.get("type") == "object" and "$ref" not in schema:
        values = schema.get("additionalProperties")
        held = _kind(values) if isinstance(values, Mapping) else ""
        return f"object of {held}" if held else "object"
    kind = _TYPES.get(str(schema.get("type")), "value")
    limits = [text.format(schema[key]) for key, text in _LIMITS if key in schema]
    return " ".join([kind, *limits])
