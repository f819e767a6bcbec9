"""One model, seen as Arrow and as JSON Schema, and back."""

import json
import math
from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Generic, Literal, TypeVar
from uuid import UUID

import pyarrow as pa
import pytest
from pydantic import (
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    FiniteFloat,
    ValidationError,
    create_model,
)

from evalkit.errors import SchemaError
from evalkit_schemas_standard import (
    Float32,
    Int8,
    Int16,
    Unit,
    arrow_schema,
    json_schema,
    model_from_arrow,
    model_from_json_schema,
    schema_identity,
)
from evalkit_schemas_standard.sources import model_source

Held = TypeVar("Held")


class Box(BaseModel, Generic[Held]):
    """Holds something."""

    held: Held


class Color(Enum):
    RED = "red"
    BLUE = "blue"


class Everything(BaseModel):
    """Of each kind a field."""

    model_config = {"extra": "forbid"}

    text: Annotated[str, Field(max_length=3, pattern="a", description="A text")]
    whole: int = Field(ge=3, strict=True, multiple_of=2)
    exact: Annotated[Decimal, Field(max_digits=3, decimal_places=1)]
    words: list[Annotated[str, Field(min_length=1)]]
    finite: FiniteFloat = 3.0
    maybe: Annotated[int, Field(gt=0)] | None = None
    when: AwareDatetime = Field(gt=datetime(2020, 1, 1, tzinfo=UTC))
    pair: list[int] = Field(min_length=2, max_length=2)
    small: Int8 = 3
    time: Annotated[Float32, Unit("ms")]
    counts: dict[str, list[Int16]]
    choice: Literal["a", "b"] | None
    box: Box[int]
    boxed: Box[str] | None = Field(None, description="Another")
    color: Color = Color.RED
    numbers: set[int] = Field(default_factory=set)
    point: tuple[float, float]
    key: UUID
    owned: str = Field(alias="example.org/x")


def test_arrow_and_back_is_the_same_schema() -> None:
    schema = arrow_schema(Everything)
    assert schema_identity(model_from_arrow(schema)) == schema_identity(Everything)
    assert arrow_schema(model_from_arrow(schema)).equals(schema, check_metadata=True)


def test_json_schema_and_back_is_the_same_schema() -> None:
    document = json_schema(Everything)
    read = model_from_json_schema(json.loads(json.dumps(document)))
    assert schema_identity(read) == schema_identity(Everything)
    assert json_schema(read) == document


def test_what_pydantic_says_of_itself_is_read() -> None:
    class Plain(BaseModel):
        a: int
        b: Literal["x", "y"] | None = None
        c: list[Box[str] | None] = []
        d: tuple[int, int]
        e: Box[int] | None = None

    read = model_from_json_schema(Plain.model_json_schema())
    assert schema_identity(read) == schema_identity(Plain)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("text", pa.string()),
        ("whole", pa.int64()),
        ("exact", pa.decimal128(3, 1)),
        ("finite", pa.float64()),
        ("when", pa.timestamp("us", "UTC")),
        ("pair", pa.list_(pa.field("item", pa.int64(), nullable=False), 2)),
        ("small", pa.int8()),
        ("time", pa.float32()),
        ("key", pa.string()),
    ],
)
def test_the_type_of_a_field_is_not_null(name: str, kind: pa.DataType) -> None:
    field = arrow_schema(Everything).field(name)
    assert (field.type, field.nullable) == (kind, False)


@pytest.mark.parametrize(
    ("annotation", "rule"),
    [
        (dict[int, str], "the keys of a map are texts, as in JSON"),
        (list, r"an array without items says no type; write list\["),
        (int | str, "a column has one type; anyOf names 2: int64 or string"),
        (tuple[int, str], "the elements of a list have one type"),
        (Decimal, "a Decimal needs max_digits and decimal_places"),
        (object, "it says no type of a column"),
    ],
)
def test_what_no_column_holds_is_an_error_with_model_and_field(
    annotation: object, rule: str
) -> None:
    row = type("Row", (BaseModel,), {"__annotations__": {"field": annotation}})
    with pytest.raises(SchemaError, match=rf"^Row\.field: {rule}"):
        arrow_schema(row)


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("_x_", "is reserved: names between underscores are evalkit's"),
        ("_index_", "is reserved for a required int64, 0 or more"),
        ("dyff.io/x", "is reserved: names that begin with dyff.io/ are Dyff's"),
        ("sub.dyff.io/x", "is reserved: names that begin with sub.dyff.io/"),
        ("a/b", "has a / without a domain before it"),
        ("", "is empty"),
    ],
)
def test_reserved_names_are_refused(name: str, rule: str) -> None:
    with pytest.raises(SchemaError, match=rule):
        model_from_arrow(pa.schema([(name, pa.string())]))


class Narrower(BaseModel):
    default: Int8 = Field(ge=0)
    annotated: Annotated[Int8, Field(lt=3)]


@pytest.mark.parametrize("row", [(-1, 0), (128, 0), (0, 3), (0, -129)])
def test_bounds_of_a_field_hold_beside_those_of_its_type(row: tuple[int, int]) -> None:
    Narrower(default=127, annotated=-128)
    with pytest.raises(ValidationError):
        Narrower(default=row[0], annotated=row[1])


def test_a_bound_that_takes_more_than_the_type_holds_is_refused() -> None:
    class Wider(BaseModel):
        field: Annotated[Int8, Field(ge=-200)]

    with pytest.raises(
        SchemaError, match=r"Wider\.field: ge=-200 takes values that int8"
    ):
        arrow_schema(Wider)


@pytest.mark.parametrize("default", [math.nan, math.inf])
def test_a_default_that_json_does_not_have_is_refused(default: float) -> None:
    class Timed(BaseModel):
        seconds: float = default

    with pytest.raises(SchemaError, match=r"Timed\.seconds: its default .* of JSON"):
        json_schema(Timed)


@pytest.mark.parametrize(
    "config",
    [
        ConfigDict(str_strip_whitespace=True),
        ConfigDict(str_min_length=1),
        ConfigDict(coerce_numbers_to_str=True),
        ConfigDict(regex_engine="python-re"),
    ],
)
def test_settings_that_change_a_verdict_count_in_the_identity(
    config: ConfigDict,
) -> None:
    plain = create_model("Answer", text=(str, ...))
    other = create_model("Answer", __config__=config, text=(str, ...))
    assert schema_identity(other) != schema_identity(plain)
    assert (
        next(iter(config)).encode() in arrow_schema(other).metadata[b"evalkit.schema"]
    )


@pytest.mark.parametrize(
    "names",
    [
        ["class_", "class"],
        ["class", "class_"],
        ["field_1", "a b"],
        ["a b", "field_0"],
        ["field_1", "a b", "field_1_"],
        ["str_", "str"],
    ],
)
def test_no_field_takes_the_place_of_another_in_python(names: list[str]) -> None:
    schema = pa.schema([pa.field(name, pa.string(), False) for name in names])
    model = model_from_arrow(schema)
    assert arrow_schema(model).names == names
    properties = {name: {"type": "string"} for name in names}
    document = {"type": "object", "properties": properties, "required": names}
    assert arrow_schema(model_from_json_schema(document)).names == names
    source: dict[str, Any] = {}
    exec(compile(model_source(model), "copied", "exec", dont_inherit=True), source)
    assert arrow_schema(source["Row"]).names == names


def test_documentation_that_is_no_text_is_refused() -> None:
    field = pa.field("a", pa.string(), metadata={"__doc__": b"\xff"})
    with pytest.raises(SchemaError, match=r"Row\.a: its documentation is not UTF-8"):
        model_from_arrow(pa.schema([field]))
