"""JSON Schema documents against a validator of them, and hostile documents."""

import json
import time
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pydantic import BaseModel, ValidationError
from random_models import models, rows_of

from evalkit.errors import SchemaError
from evalkit_schemas_standard import json_schema, model_from_json_schema

NOT_SAID = ("date", "time", "duration", "uuid", "binary", "uniqueItems", "decimal")
"""JSON Schema takes formats for notes, and pydantic makes a set of equal elements."""


def is_json(value: Any) -> bool:
    """Tell whether both read a value alike: 2.0 is an integer in JSON Schema alone."""
    if isinstance(value, dict):
        return all(map(is_json, value.values()))
    if isinstance(value, list):
        return all(map(is_json, value))
    if isinstance(value, float):
        return abs(value) < 1e300 and not value.is_integer()
    return value is None or isinstance(value, bool | int | str)


@given(data=st.data())
@settings(deadline=None, suppress_health_check=list(HealthCheck))
@pytest.mark.slow
def test_a_validator_judges_rows_as_pydantic_does(data: st.DataObject) -> None:
    model = data.draw(models(1))
    document = json_schema(model)
    Draft202012Validator.check_schema(document)
    assume(not any(f'"{word}' in json.dumps(document) for word in NOT_SAID))
    validator = Draft202012Validator(document)
    for _ in range(4):
        row = data.draw(rows_of(model))
        if not is_json(row):
            continue
        try:
            model.model_validate_json(json.dumps(row), strict=True)
            accepted = True
        except ValidationError:
            accepted = False
        assert validator.is_valid(row) == accepted, (document, row)


def of(part: Any, **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"a": part}, **more}


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ({"type": "string"}, "#: a row is an object with properties"),
        ([], r"#: a schema is an object, not \[\]"),
        (of({}), "#/properties/a: it says no type"),
        (of({"type": ["string", "integer"]}), "#/properties/a: a column has one type"),
        (of({"type": "array"}), "#/properties/a: an array without items says no type"),
        (of({"type": "object"}), "#/properties/a: an object does not say"),
        (of({"type": "string", "not": {}}), "#/properties/a: the keyword not is not"),
        (
            of({"anyOf": [{"type": "string"}, {"type": "integer"}]}),
            "#/properties/a: a column has one type; anyOf names 2",
        ),
        (of({"$ref": "#/$defs/x"}), "#/properties/a: there is no #/\\$defs/x"),
        (of({"$ref": "other.json"}), "'other.json' is outside of the document"),
        (of({"$ref": "#"}), "#/properties/a/properties/a: # holds itself"),
        (of({"enum": ["a", 1]}), "#/properties/a: a column has one type"),
        (of({"type": "string"}, required=["b"]), "#: b is required and no property"),
        (of({"type": "string", "x-evalkit": 1}), "#/properties/a: x-evalkit is an obj"),
        (of({"type": "string", "minLength": "x"}), "#/properties/a: "),
        (of({"type": "string", "pattern": "("}), "pydantic cannot build it"),
        (of({"type": "string", "pattern": "(?=a)"}), "pydantic cannot build it"),
        (of({"type": "integer", "default": "x"}), "a: its default is no value of it"),
        (of({"type": "string"}, title="_"), None),
    ],
)
def test_what_no_column_can_say_is_an_error_with_its_place(
    document: Any, said: str | None
) -> None:
    if said is None:
        assert issubclass(model_from_json_schema(document), BaseModel)
        return
    with pytest.raises(SchemaError, match=said):
        model_from_json_schema(document)


@pytest.mark.slow
def test_a_document_that_repeats_itself_exponentially_is_refused() -> None:
    parts: dict[str, Any] = {"p0": {"type": "string"}}
    for number in range(1, 40):
        again = {"$ref": f"#/$defs/p{number - 1}"}
        parts[f"p{number}"] = of(again) | {"properties": {"a": again, "b": again}}
    started = time.process_time()
    with pytest.raises(SchemaError, match="more than 100,000 parts"):
        model_from_json_schema(of({"$ref": "#/$defs/p39"}, **{"$defs": parts}))
    assert time.process_time() - started < 60


def test_ten_thousand_levels_are_refused() -> None:
    part: dict[str, Any] = {"type": "string"}
    for _ in range(10_000):
        part = {"type": "array", "items": part}
    with pytest.raises(SchemaError, match="nested too deeply"):
        model_from_json_schema(of(part))
