"""Code that is written for Dyff runs with its imports changed."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pydantic import BaseModel, ValidationError

from evalkit.errors import EvalkitError, SchemaError
from evalkit_schemas_standard import model_from_arrow, to_dyff_arrow
from evalkit_schemas_standard.dyff import DataSchema, DyffDataSchema, arrow

NAMES = ["classification.Label", "text.Text"]
ANSWER = {
    "_index_": 3,
    "_replication_": "r",
    "responses": [{"_response_index_": 0, "label": "a", "text": "b"}],
}
MAKE = {
    "bare": lambda schema: DataSchema.from_model(schema.model_type()),
    "input": DataSchema.make_input_schema,
    "output": DataSchema.make_output_schema,
}


def encoded(schema: pa.Schema) -> str:
    return arrow.encode_schema(schema)


@pytest.mark.known_result
@pytest.mark.slow
def test_documents_are_those_of_dyff_and_are_read(oracles: Path) -> None:
    lines = (oracles / "dyff_schemas.jsonl").read_text(encoding="utf-8").splitlines()
    made = refused = 0
    for case in map(json.loads, lines):
        if case["kind"] not in MAKE:
            continue
        try:
            schema = DyffDataSchema(components=case["components"])
            found = MAKE[case["kind"]](schema)
        except (EvalkitError, ValidationError):
            assert "error" in case, case["id"]
            refused += 1
            continue
        expected = arrow.decode_schema(case["arrow_b64"])
        ours = arrow.decode_schema(found.arrowSchema)
        assert ours.equals(expected, check_metadata=True), case["id"]
        assert found.jsonSchema == case["json_schema"], case["id"]
        assert DataSchema.model_validate(found.model_dump()) == found
        views = {"arrowSchema": case["arrow_b64"], "jsonSchema": case["json_schema"]}
        assert DataSchema.model_validate({**views, "dyffSchema": schema})
        made += 1
    assert (made, refused) >= (45, 15)


def test_an_arrow_schema_keeps_what_dyff_keeps_of_it() -> None:
    source = pa.schema([pa.field("v", pa.list_(pa.float32(), 3), nullable=False)])
    found = arrow.decode_schema(DataSchema.make_output_schema(source).arrowSchema)
    assert found.names == ["_replication_", "_index_", "responses"]


OTHERS: dict[str, dict[str, Any]] = {
    "another field": {"arrowSchema": encoded(pa.schema([("x", pa.string())]))},
    "other components": {"dyffSchema": {"components": ["text.Text", "text.Tokens"]}},
    "no Arrow": {"arrowSchema": "zzz"},
    "no base64": {"arrowSchema": "!"},
    "no IPC": {"arrowSchema": "YWJj"},
    "unknown component": {"dyffSchema": {"components": ["text.Nope"]}},
}


@pytest.mark.parametrize("change", OTHERS.values(), ids=OTHERS)
def test_views_that_contradict_each_other_are_refused(change: dict[str, Any]) -> None:
    whole = DataSchema.make_output_schema(DyffDataSchema(components=NAMES))
    with pytest.raises(EvalkitError):
        DataSchema.model_validate({**whole.model_dump(), **change})


def test_an_arrow_schema_of_dyff_alone_becomes_a_model() -> None:
    model = model_from_arrow(to_dyff_arrow(NAMES, "output"))
    assert model.model_validate(ANSWER).model_dump(by_alias=True) == ANSWER
    with pytest.raises(ValidationError, match="greater than or equal to 0"):
        model.model_validate({**ANSWER, "_index_": -1})


def test_what_arrow_has_no_type_of_is_refused() -> None:
    class Counted(BaseModel):
        count: int

    with pytest.raises(SchemaError, match="an integer needs a size"):
        DataSchema.make_input_schema(Counted)
