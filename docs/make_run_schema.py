"""Writes `docs/schema/run.schema.json` from `RunRecord` and `Score`.

The descriptions are the texts below their fields.
"""

from __future__ import annotations

import ast
import inspect
import json
from pathlib import Path
from typing import Annotated, Any, get_args, get_type_hints

from pydantic import ConfigDict, Field, create_model

from evalkit.runs import recorded
from evalkit.runs.record import RunRecord
from evalkit.runs.score_columns import Score

PAGE = Path(__file__).parent / "schema" / "run.schema.json"

EVERYTHING = {"limit": {"type": "null"}, "filters": {"maxProperties": 0}}
ENVIRONMENT = (
    *("python", "evalkit-core", "numpy", "polars", "pydantic", "pluggy", "pyarrow"),
)


def _when(key: str, value: Any, then: Any, otherwise: Any = None) -> dict[str, Any]:
    rule = {"if": {"properties": {key: value}}, "then": then}
    return rule if otherwise is None else {**rule, "else": otherwise}


def _having(**properties: Any) -> dict[str, Any]:
    return {"properties": properties}


NULL, TEXT = {"type": "null"}, {"type": "string"}
WHOLE = {"properties": EVERYTHING}
RULES = [
    _when(
        "status",
        {"const": "refused"},
        _having(scores={"maxItems": 0}, headline=NULL, baselines=NULL),
        _having(scores={"minItems": 1}, headline=TEXT),
    ),
    _when(
        "status",
        {"const": "partial"},
        {
            "anyOf": [
                _having(errors={"minItems": 1}),
                {"not": _having(selection=WHOLE)},
                {
                    "description": "Merged of runs over some examples of their data.",
                    **_having(merged={"minItems": 1}),
                },
            ]
        },
        _having(errors={"maxItems": 0}),
    ),
    _when("status", {"const": "complete"}, _having(selection=WHOLE)),
    _when(
        "selection",
        WHOLE,
        _having(counts={"not": {"required": ["unselected"]}}),
        _having(counts={"required": ["unselected"]}),
    ),
    _having(counts=_having(examples={"minimum": 1})),
]
"""What the fields of a run have to do with each other."""

RULES_OF_SCORES = [
    _when("value", NULL, _having(reason=TEXT)),
    _when(
        "ci_low",
        NULL,
        _having(ci_high=NULL, reason=TEXT),
        _having(ci_high={"type": "number"}),
    ),
]
OPTIONAL = {
    "Component": {"read_from"},
    "Counts": {"unselected", "replications"},
    "Predictions": {"job", "system"},
    "RunRecord": {"files", "headline_score"},
    "Installation": {"source", "sha256", "differing", "missing", "unnamed"},
    "InstallationSource": {"commit", "hash"},
}
"""Keys that only some runs have."""


def run_schema() -> dict[str, Any]:
    """Return the JSON Schema of the `run.json` that this version writes."""
    schema = _schema_of(RunRecord)
    definitions = schema.pop("$defs")
    score = _schema_of(_score_model())
    definitions["score"] = {**score, "allOf": RULES_OF_SCORES}
    for name, definition in definitions.items():
        if name != "score":
            _complete(definition, getattr(recorded, name))
    _complete(schema, RunRecord)
    schema["properties"]["environment"] |= {
        "additionalProperties": False,
        "required": list(ENVIRONMENT),
        "properties": {name: TEXT for name in ENVIRONMENT},
    }
    scores = {"type": "array", "items": {"$ref": "#/$defs/score"}}
    printed = "Only in what `evalkit eval --json` prints: the rows of `scores.parquet`."
    schema["properties"]["scores"] = {**scores, "description": printed}
    schema["properties"]["headline_score"] |= {"anyOf": [scores["items"], NULL]}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **_tidy({**schema, "title": "run.json", "allOf": RULES}),
        "$defs": {name: _tidy(definitions[name]) for name in sorted(definitions)},
    }


def _schema_of(model: Any) -> dict[str, Any]:
    found: dict[str, Any] = model.model_json_schema(mode="serialization")
    return found


def _score_model() -> Any:
    """Return a model with the columns of a score, as pydantic has none for tuples."""
    texts = _descriptions(Score)
    hints = get_type_hints(Score, include_extras=True)
    columns: dict[str, Any] = {}
    for name, hint in hints.items():
        marks = [mark for mark in get_args(hint) if isinstance(mark, dict)]
        rules = {key: value for mark in marks for key, value in mark.items()}
        kind = get_args(hint)[0] if hasattr(hint, "__metadata__") else hint
        extra = Field(description=texts.get(name), json_schema_extra=rules)
        columns[name] = (Annotated[kind, extra], ...)
    return create_model("score", __config__=ConfigDict(extra="forbid"), **columns)


def _complete(definition: dict[str, Any], model: Any) -> None:
    """Add what a model does not tell its schema: texts, and that all keys are there."""
    texts = _descriptions(model)
    for name, property_ in definition["properties"].items():
        if name in texts:
            property_["description"] = texts[name]
    optional = OPTIONAL.get(model.__name__, set())
    definition["required"] = [
        name for name in definition["properties"] if name not in optional
    ]
    definition["additionalProperties"] = False


def _descriptions(model: type) -> dict[str, str]:
    """Return the texts below the fields of a class."""
    [body] = ast.parse(inspect.getsource(model)).body
    assert isinstance(body, ast.ClassDef)
    return {
        field.target.id: text.value.value.replace("None", "null")
        for field, text in zip(body.body, body.body[1:], strict=False)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(text, ast.Expr)
        and isinstance(text.value, ast.Constant)
        and isinstance(text.value.value, str)
    }


def _tidy(schema: Any) -> Any:
    """Leave out titles and defaults, and write a simple choice of types as one."""
    if isinstance(schema, list):
        return [_tidy(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    found = {
        key: {name: _tidy(each) for name, each in value.items()}
        if key in ("properties", "$defs")
        else " ".join(value.split())
        if key == "description"
        else _tidy(value)
        for key, value in schema.items()
        if key != "default" and (key != "title" or value == "run.json")
    }
    choices = found.get("anyOf", [])
    if len(choices) == 2 and choices[1] == NULL and isinstance(choices[0], dict):
        one = choices[0]
        if isinstance(one.get("type"), str):
            del found["anyOf"]
            found = {**one, **found, "type": [one["type"], "null"]}
            if "enum" in found:
                found["enum"] = [*found["enum"], None]
    return found


def main() -> None:
    """Write the schema."""
    text = json.dumps(run_schema(), indent=2, ensure_ascii=False)
    PAGE.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
