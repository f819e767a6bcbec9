"""`to_dyff_arrow` gives what Dyff's own functions gave, in every case."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pydantic import BaseModel, Field

from evalkit import EvalkitError
from evalkit.errors import SchemaError
from evalkit_schemas_standard import Float32, Float64, Int64, embedding, to_dyff_arrow

SEED = """\
_index_: int64
  -- field metadata --
  __doc__: 'The index of the item in the dataset'
_replication_: string
  -- field metadata --
  __doc__: 'ID of the replication the item belongs to.'
responses: list<item: struct<_response_index_: int64, text: string, label: string>>
  child 0, item: struct<_response_index_: int64, text: string, label: string>
      child 0, _response_index_: int64
      -- field metadata --
      __doc__: 'The index of the response among responses to the correspo' + 13
      child 1, text: string
      -- field metadata --
      __doc__: 'Text data'
      child 2, label: string
      -- field metadata --
      __doc__: 'The discrete label of the item'
  -- field metadata --
  __doc__: 'Inference responses'"""

# of two kinds of cases the source is no list of names
SOURCES: dict[str, Any] = {
    "embedding(float32(),4)": lambda: embedding(Float32, 4),
    "embedding(float64(),2)": lambda: embedding(Float64, 2),
    "embedding(float32(),0)": lambda: embedding(Float32, 0),
    "schema([text: string not null {__doc__}, v: fixed_size_list<float>[3]], {k:v})": (
        lambda: pa.schema(
            [
                pa.field("text", pa.string(), False, {"__doc__": "the text"}),
                pa.field("v", pa.list_(pa.float32(), 3)),
            ],
            {"k": "v"},
        )
    ),
}


def outcome(case: dict[str, Any]) -> pa.Schema | None:
    """Return our schema of a case; None for an error."""
    components = case["components"]
    source = SOURCES.get(components[0] if components else "", lambda: components)
    try:
        return to_dyff_arrow(source(), case["kind"].rpartition("_")[2])
    except EvalkitError:
        return None


def is_right(case: dict[str, Any]) -> bool:
    found = outcome(case)
    if "error" in case or found is None:
        return "error" in case and found is None
    message = pa.py_buffer(base64.b64decode(case["arrow_b64"]))
    expected = pa.ipc.read_schema(message)
    text = found.to_string(truncate_metadata=False)
    return bool(
        found.equals(expected, check_metadata=True)
        and found.names == [field["name"] for field in case["arrow_fields"]]
        and text == case["arrow_schema_string_full"]
    )


@pytest.mark.known_result
@pytest.mark.slow
def test_schemas_and_errors_of_dyff(oracles: Path) -> None:
    lines = (oracles / "dyff_schemas.jsonl").read_text(encoding="utf-8").splitlines()
    cases = [json.loads(line) for line in lines]
    assert [case["id"] for case in cases if not is_right(case)] == []
    assert len(cases) >= 60
    assert len([case for case in cases if "error" in case]) >= 20


def test_the_seed_example_needs_no_numpy() -> None:
    code = (
        "import sys; sys.modules['numpy'] = None\n"
        "from evalkit_schemas_standard import to_dyff_arrow\n"
        "print(to_dyff_arrow(['classification.Label', 'text.Text'], 'output'))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert ran.stdout.rstrip("\n") == SEED


class Nested(BaseModel):
    score: Float32 | None = Field(default=None, description="a score")
    tags: list[list[str]]


class Author(BaseModel):
    """An author's own model."""

    index: str = Field(min_length=1)
    ratio: Float64 = Field(ge=0, le=1)
    count: Int64 | None
    nested: Nested | None = None
    several: list[Nested]


def test_a_model_of_the_users_own_keeps_all_fields_of_rows() -> None:
    found = to_dyff_arrow(Author, "input")
    nested = pa.struct(
        [pa.field("score", pa.float32()), ("tags", pa.list_(pa.list_(pa.string())))]
    )
    expected = pa.schema(
        [
            ("_index_", pa.int64()),
            ("index", pa.string()),
            ("ratio", pa.float64()),
            ("count", pa.int64()),
            ("nested", nested),
            ("several", pa.list_(nested)),
        ]
    )
    assert found.equals(expected)
    assert found.names == expected.names
    assert found.field("nested").type.field("score").metadata == {
        b"__doc__": b"a score"
    }


class OfIntegers(BaseModel):
    count: int


class OfMaps(BaseModel):
    inner: list[dict[str, str]]


class OfItself(BaseModel):
    children: list[OfItself]


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (OfIntegers, r"OfIntegers\.count: .* an integer needs a size"),
        (OfMaps, r"OfMaps\.inner: Dyff has no Arrow type of dict\[str, str\]"),
        (OfItself, r"OfItself\.children: OfItself holds itself"),
        ([], "at least one component"),
        (7, "wanted are names of schemas"),
    ],
)
def test_what_dyff_has_no_type_of_is_an_error(model: Any, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        to_dyff_arrow(model)


def test_an_unknown_kind_of_rows_is_an_error() -> None:
    rows: Any = "outputs"
    with pytest.raises(SchemaError, match="bare, input or output, not 'outputs'"):
        to_dyff_arrow(["text.Text"], rows)
