"""Writes the JSON Schemas of benchmark files and of suite files, for editors.

They are made of the models of these files and of the texts below their fields.
"""

from __future__ import annotations

import ast
import inspect
import json
import sys
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from evalkit_analysis_suites.schema import Suite
from evalkit_benchmarks_declared.schema import Benchmark

FOLDER = Path(__file__).parent / "schema"


def schema_of(model: type[BaseModel]) -> dict[str, Any]:
    """Return the JSON Schema of the files of a model."""
    schema = model.model_json_schema()
    _describe(schema, model)
    for name, definition in schema["$defs"].items():
        if "properties" in definition:
            _describe(definition, getattr(sys.modules[model.__module__], name))
    schema["title"] = f"A {model.__name__.lower()} file of evalkit"
    version = "https://json-schema.org/draft/2020-12/schema"
    return {"$schema": version, **_in_order(schema)}


def _in_order(value: Any) -> Any:
    """Sort enumerations, whose order depends on what was imported before."""
    if isinstance(value, list):
        return [*map(_in_order, value)]
    if not isinstance(value, dict):
        return value
    return {k: sorted(v) if k == "enum" else _in_order(v) for k, v in value.items()}


def _describe(definition: dict[str, Any], model: type) -> None:
    """Add the texts below the fields of a model, and leave out the titles."""
    definition.pop("title")
    classes = [
        base for base in reversed(model.__mro__) if hasattr(base, "model_fields")
    ]
    bodies = [ast.parse(inspect.getsource(each)).body[0] for each in classes[1:]]
    texts = {
        field.target.id: text.value.value
        for body in bodies
        if isinstance(body, ast.ClassDef)
        for field, text in zip(body.body, body.body[1:], strict=False)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(text, ast.Expr)
        and isinstance(text.value, ast.Constant)
        and isinstance(text.value.value, str)
    }
    for name, key in definition["properties"].items():
        key.pop("title", None)
        if name in texts:
            key["description"] = " ".join(texts[name].split())


def main() -> None:
    """Write the schemas."""
    for model in (Benchmark, Suite):
        text = json.dumps(schema_of(model), indent=2, ensure_ascii=False)
        page = FOLDER / f"{model.__name__.lower()}.schema.json"
        page.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
