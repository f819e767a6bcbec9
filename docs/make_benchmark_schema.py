"""Writes `docs/schema/benchmark.schema.json`, by which editors check benchmark files.

It is made of the model of a benchmark file and of the texts below its fields.
"""

from __future__ import annotations

import ast
import inspect
import json
from pathlib import Path
from typing import Any

from evalkit_benchmarks_declared import schema as parts
from evalkit_benchmarks_declared.schema import Benchmark

PAGE = Path(__file__).parent / "schema" / "benchmark.schema.json"


def benchmark_schema() -> dict[str, Any]:
    """Return the JSON Schema of benchmark files."""
    schema = Benchmark.model_json_schema()
    _describe(schema, Benchmark)
    for name, definition in schema["$defs"].items():
        if "properties" in definition:
            _describe(definition, getattr(parts, name))
    schema["title"] = "A benchmark file of evalkit"
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
        base for base in reversed(model.__mro__) if issubclass(base, parts.Declared)
    ]
    bodies = [ast.parse(inspect.getsource(each)).body[0] for each in classes]
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
    """Write the schema."""
    text = json.dumps(benchmark_schema(), indent=2, ensure_ascii=False)
    PAGE.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
