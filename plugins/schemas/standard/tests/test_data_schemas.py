import base64
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pydantic import BaseModel, Field, ValidationError, field_validator

from evalkit.errors import EvalkitError, SchemaError
from evalkit_schemas_standard import (
    DataSchema,
    Int32,
    arrow_schema,
    json_schema,
    make_input_schema,
    make_output_schema,
    model_from_arrow,
    schema_identity,
    to_dyff_arrow,
)

NAMES = ["classification.Label", "text.Text"]
ROW = {"_index_": 3, "label": "a", "text": "b"}
ANSWER = {
    "_index_": 3,
    "_replication_": "r",
    "responses": [{"_response_index_": 0, "label": "a", "text": "b"}],
}


class Rated(BaseModel):
    stars: Int32 = Field(ge=1, le=5, description="How good it is")
    note: str | None = None

    @field_validator("note")
    @classmethod
    def is_short(cls, value: str | None) -> str | None:
        assert value is None or len(value) < 9, "must be short"
        return value


def encoded(schema: pa.Schema) -> str:
    return base64.b64encode(schema.serialize().to_pybytes()).decode()


def test_all_views_are_filled_from_one_model() -> None:
    found = DataSchema.of(Rated)
    assert found.arrow_schema().equals(arrow_schema(Rated), check_metadata=True)
    assert found.json_document == json_schema(Rated)
    assert found.components is None
    assert found.model_type() is Rated
    written = json.loads(found.model_dump_json(by_alias=True, exclude_none=True))
    assert {*written} == {"arrowSchema", "jsonSchema"}
    read = DataSchema.model_validate(written)
    assert read.model_dump() == found.model_dump()


@pytest.mark.parametrize("key", ["arrowSchema", "jsonSchema", "dyffSchema"])
def test_one_view_is_enough_for_the_others(key: str) -> None:
    whole = DataSchema.of(NAMES)
    document = whole.model_dump(by_alias=True, mode="json")
    found = DataSchema.model_validate({key: document[key]})
    identity = schema_identity(whole.model_type())
    for model in (found.model_type(), model_from_arrow(found.arrow_schema())):
        assert schema_identity(model) == identity
    assert found.json_document["properties"].keys() == {"label", "text"}
    assert [*found.json_document["properties"]] == ["label", "text"]


def test_inputs_and_outputs_have_their_fields_in_front() -> None:
    given = make_input_schema(NAMES)
    assert given.arrow_schema().names == ["_index_", "label", "text"]
    assert not any(field.nullable for field in given.arrow_schema())
    assert given.model_type().model_validate(ROW).model_dump(by_alias=True) == ROW
    answered = make_output_schema(DataSchema.of(NAMES))
    assert answered.arrow_schema().names == ["_index_", "_replication_", "responses"]
    response = answered.arrow_schema().field("responses").type.value_type
    assert [field.name for field in response] == ["_response_index_", "label", "text"]
    model = answered.model_type()
    assert model.model_validate(ANSWER).model_dump(by_alias=True) == ANSWER
    for found in (given, answered):
        assert found.components is not None
        assert found.components.components == tuple(NAMES)
        document = found.model_dump(by_alias=True, mode="json")
        assert DataSchema.model_validate(document).arrow == found.arrow


def test_a_schema_may_come_from_arrow() -> None:
    source = pa.schema([pa.field("v", pa.list_(pa.float32(), 3), nullable=False)])
    found = make_output_schema(source).arrow_schema()
    expected = ["_index_", "_replication_", "responses"]
    assert found.names == expected
    assert found.field("responses").type.value_type.field("v").type.list_size == 3


OTHERS: dict[str, dict[str, Any]] = {
    "another field": {"arrowSchema": encoded(pa.schema([("x", pa.string())]))},
    "another type": {
        "arrowSchema": encoded(pa.schema([("label", pa.int8()), ("text", pa.string())]))
    },
    "another rule": {
        "arrowSchema": DataSchema.of(Rated).arrow,
        "jsonSchema": json_schema(Rated)
        | {"properties": json_schema(Rated)["properties"] | {"stars": {}}},
    },
    "other components": {"dyffSchema": {"components": ["text.Text", "text.Tokens"]}},
    "no Arrow": {"arrowSchema": "zzz"},
    "no base64": {"arrowSchema": "!"},
    "no IPC": {"arrowSchema": base64.b64encode(b"abc").decode()},
    "unknown component": {"dyffSchema": {"components": ["text.Nope"]}},
}


@pytest.mark.parametrize("change", OTHERS.values(), ids=OTHERS)
def test_views_that_contradict_each_other_are_refused(change: dict[str, Any]) -> None:
    document = DataSchema.of(NAMES).model_dump(by_alias=True, mode="json")
    with pytest.raises(EvalkitError):
        DataSchema.model_validate({**document, **change})


def test_rules_that_contradict_each_other_are_refused() -> None:
    document = DataSchema.of(Rated).model_dump(by_alias=True)
    document["jsonSchema"]["properties"]["stars"]["maximum"] = 6
    with pytest.raises(SchemaError, match="their fields are the same, and their rules"):
        DataSchema.model_validate(document)


def test_a_schema_without_any_view_is_refused() -> None:
    with pytest.raises(SchemaError, match="and has none"):
        DataSchema.model_validate({})


@pytest.mark.known_result
@pytest.mark.slow
def test_documents_of_dyff_are_read(oracles: Path) -> None:
    """Dyff stores these three views; its order and nulls are not ours."""
    lines = (oracles / "dyff_schemas.jsonl").read_text(encoding="utf-8").splitlines()
    cases = [json.loads(line) for line in lines]
    kinds = ("bare", "input", "output")
    read = 0
    for case in cases:
        if "error" in case or case["kind"] not in kinds or "DyffS" in case["id"]:
            continue
        found = DataSchema.model_validate(
            {
                "arrowSchema": case["arrow_b64"],
                "dyffSchema": {
                    "components": case["components"],
                    "schemaVersion": "0.1",
                },
                "jsonSchema": case["json_schema"],
            }
        )
        ours = arrow_schema(found.model_type())
        assert {*ours.names} == {field["name"] for field in case["arrow_fields"]}
        read += 1
    assert read >= 40


def test_an_arrow_schema_of_dyff_alone_becomes_a_model() -> None:
    model = model_from_arrow(to_dyff_arrow(NAMES, "output"))
    assert model.model_validate(ANSWER).model_dump(by_alias=True) == ANSWER
    with pytest.raises(ValidationError, match="greater than or equal to 0"):
        model.model_validate({**ANSWER, "_index_": -1})
