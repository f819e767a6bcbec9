"""The Arrow type of a schema's field is the type that an evaluation gives it."""

from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from enum import Enum
from typing import Annotated, Any, Literal
from uuid import UUID

import polars as pl
import pyarrow as pa
import pytest
from pydantic import AwareDatetime, BaseModel, Field, NaiveDatetime

from evalkit.catalog import Registry, Resolver, find_components
from evalkit.reading.field_types import field_type, model_types
from evalkit_schemas_standard import arrow_schema, product
from evalkit_schemas_standard.sources import model_source


def as_polars(kind: pa.DataType) -> Any:
    return pl.Series(pl.from_arrow(pa.array([], kind))).dtype


class Color(Enum):
    RED = "red"


class Inner(BaseModel):
    word: str | None = None
    places: list[int] = []


@dataclass
class Point:
    x: float
    y: float


@pytest.mark.parametrize(
    "annotation",
    [
        *(str, bool, int, float, bytes, date, time, timedelta, datetime, UUID),
        *(AwareDatetime, NaiveDatetime, Literal["a"], Literal[1, 2], Color, Inner),
        *(Point, list[str], list[Inner], tuple[int, ...], set[str], int | None),
        *(list[list[float]], int | float, Annotated[str, Field(max_length=3)]),
    ],
    ids=str,
)
def test_both_give_a_field_the_same_type(annotation: Any) -> None:
    model = type("Row", (BaseModel,), {"__annotations__": {"field": annotation}})
    assert as_polars(arrow_schema(model).field("field").type) == field_type(annotation)


def test_a_map_is_one_in_arrow_and_a_list_of_entries_in_an_evaluation() -> None:
    model = type("Row", (BaseModel,), {"__annotations__": {"field": dict[str, int]}})
    kind = arrow_schema(model).field("field").type
    assert kind == pa.map_(pa.string(), pa.field("value", pa.int64(), nullable=False))
    entry = pl.Struct({"key": pl.String(), "value": pl.Int64()})
    assert field_type(dict[str, int]) == pl.List(entry)


TASKS = [each.name for each in find_components().of_kind("tasks")]


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("side", ["Input", "Output"])
def test_fields_of_installed_tasks_have_the_same_types(task: str, side: str) -> None:
    model = getattr(Resolver(Registry()).bind("tasks", task), side)
    types = model_types(model)
    for field in arrow_schema(model):
        assert types.get(field.name) in (None, as_polars(field.type))
    assert model_source(model)


def test_products_keep_the_types_of_their_parts() -> None:
    schema = arrow_schema(product(["text.Text", "classification.Label"]))
    assert [(field.name, str(field.type)) for field in schema] == [
        ("text", "string"),
        ("label", "string"),
    ]
