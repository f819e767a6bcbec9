from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum, IntEnum
from pathlib import Path
from typing import Annotated, Any, Literal, NewType, NotRequired, Optional
from uuid import UUID

import polars as pl
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, field_serializer
from typing_extensions import TypedDict

from evalkit.reading.field_types import field_type, model_types
from evalkit.reading.typed_values import MisfitError, fits, row_of_table, typed_series


class Colour(Enum):
    RED = "red"


class Level(IntEnum):
    LOW = 1


class Part(BaseModel):
    text: str
    weight: float | None = None


class Loose(TypedDict, total=False):
    a: int
    b: NotRequired[list[str]]


@dataclasses.dataclass
class Point:
    x: int
    y: int


class Tree(BaseModel):
    children: list[Tree] = []


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    a: str


Name = NewType("Name", str)
PART = pl.Struct({"text": pl.String, "weight": pl.Float64})
UTC_TIME = pl.Datetime("us", "UTC")


def entries(value: Any) -> pl.DataType:
    return pl.List(pl.Struct({"key": pl.String, "value": value}))


KNOWN: list[tuple[Any, Any]] = [
    (str, pl.String),
    (Name, pl.String),
    (UUID, pl.String),
    (Path, pl.String),
    (pydantic.HttpUrl, pl.String),
    (Colour, pl.String),
    (Literal["a", "b"], pl.String),
    (bool, pl.Boolean),
    (int, pl.Int64),
    (Level, pl.Int64),
    (Literal[1, 2], pl.Int64),
    (Annotated[int, Field(ge=0)], pl.Int64),
    (pydantic.PositiveInt, pl.Int64),
    (float, pl.Float64),
    (Decimal, pl.Float64),
    (int | float, pl.Float64),
    (bytes, pl.Binary),
    (date, pl.Date),
    (datetime, UTC_TIME),
    (pydantic.AwareDatetime, UTC_TIME),
    (pydantic.NaiveDatetime, pl.Datetime("us")),
    (time, pl.Time),
    (timedelta, pl.Duration("us")),
    (Optional[str], pl.String),  # noqa: UP045
    (str | None, pl.String),
    (Annotated[list[Annotated[str, Field(min_length=1)]], "x"], pl.List(pl.String)),
    (list[int | None], pl.List(pl.Int64)),
    (tuple[float, ...], pl.List(pl.Float64)),
    (tuple[int, int], pl.List(pl.Int64)),
    (set[str], pl.List(pl.String)),
    (Sequence[bool], pl.List(pl.Boolean)),
    (list[list[bytes]], pl.List(pl.List(pl.Binary))),
    (Part, PART),
    (list[Part] | None, pl.List(PART)),
    (Loose, pl.Struct({"a": pl.Int64, "b": pl.List(pl.String)})),
    (Point, pl.Struct({"x": pl.Int64, "y": pl.Int64})),
    (dict[str, int], entries(pl.Int64)),
    (Mapping[str, list[Part]], entries(pl.List(PART))),
]


@pytest.mark.parametrize(("annotation", "dtype"), KNOWN, ids=str)
def test_an_annotation_has_one_type(annotation: Any, dtype: Any) -> None:
    assert field_type(annotation) == dtype
    assert typed_series("x", [None], dtype).dtype == dtype


@pytest.mark.parametrize(
    "annotation",
    [
        *(Any, list, dict, object, None, Tree, Open, pydantic.JsonValue),
        *(str | int, tuple[int, str], dict[int, str], dict[str, Any], list[Any]),
        *(Literal[1, "a"], Annotated[int, pydantic.PlainSerializer(str)]),
    ],
    ids=str,
)
def test_some_annotations_say_no_type(annotation: Any) -> None:
    assert field_type(annotation) is None


def test_a_field_that_maps_labels_to_numbers_is_a_struct() -> None:
    kinds = {"a": pl.Float64, "b": pl.Float64}
    for annotation in (dict[str, Any], dict[str, float], dict[str, float] | None):
        assert field_type(annotation, ("b", "a")) == pl.Struct(kinds)
    assert field_type(dict[str, int], ("b", "a")) == entries(pl.Int64)


def test_a_field_with_a_serializer_has_no_type() -> None:
    class Written(BaseModel):
        a: int
        b: int

        @field_serializer("a")
        def write(self, value: int) -> str:
            return str(value)

    assert model_types(Written) == {"b": pl.Int64}


VALUES: list[tuple[Any, Any, Any]] = [
    (Colour, Colour.RED, "red"),
    (Level, Level.LOW, 1),
    (UUID, UUID(int=1), str(UUID(int=1))),
    (Decimal, Decimal("0.5"), 0.5),
    (float, 1, 1.0),
    (set[str], {"b", "a"}, ["a", "b"]),
    (tuple[int, ...], (2, 1), [2, 1]),
    (
        dict[str, int],
        {"b": 1, "a": 2},
        [{"key": "a", "value": 2}, {"key": "b", "value": 1}],
    ),
    (dict[str, int], {}, []),
    (Loose, {"a": 1}, {"a": 1, "b": None}),
    (list[Part], [{"text": "x"}], [{"text": "x", "weight": None}]),
    (datetime, datetime(2020, 1, 1), datetime(2020, 1, 1, tzinfo=UTC)),
    (
        datetime,
        datetime(2020, 1, 1, 2, tzinfo=timezone(timedelta(hours=2))),
        datetime(2020, 1, 1, tzinfo=UTC),
    ),
    (bytes, b"\x89\xff", b"\x89\xff"),
]


@pytest.mark.parametrize(("annotation", "value", "stored"), VALUES)
def test_a_value_is_stored_as_its_type(
    annotation: Any, value: Any, stored: Any
) -> None:
    dtype = field_type(annotation)
    assert dtype is not None
    column = typed_series("x", [value, None], dtype)
    assert column.dtype == dtype
    assert column.to_list() == [stored, None]


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        *((int, "1"), (int, True), (int, 2**63), (int, 1.0), (str, 1), (str, b"x")),
        *((bool, 1), (float, "1"), (float, True), (bytes, "x"), (list[int], 1)),
        *((Decimal, Decimal("1e400")), (Decimal, Decimal("1e-400"))),
        *((date, datetime(2020, 1, 1)), (Part, {"other": 1}), (Part, [1])),
        *((list[int], ["a"]), (dict[str, int], {"a": "b"}), (time, date(2020, 1, 1))),
    ],
)
def test_a_value_of_another_type_is_refused(annotation: Any, value: Any) -> None:
    dtype = field_type(annotation)
    assert dtype is not None
    assert not fits(value, dtype)
    with pytest.raises(MisfitError):
        typed_series("x", [value], dtype)


class Everything(BaseModel):
    text: str
    count: int
    share: float
    flag: bool
    raw: bytes
    day: date
    items: list[int]
    parts: list[Part]
    scores: dict[str, float]
    maps: list[dict[str, list[str]]]


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=3)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
ROWS = st.fixed_dictionaries(
    {
        "text": TEXTS,
        "count": st.integers(-(2**63), 2**63 - 1),
        "share": NUMBERS,
        "flag": st.booleans(),
        "raw": st.binary(max_size=3),
        "day": st.dates(),
        "items": st.lists(st.integers(-9, 9), max_size=3),
        "parts": st.lists(
            st.fixed_dictionaries({"text": TEXTS, "weight": st.none() | NUMBERS}),
            max_size=2,
        ),
        "scores": st.dictionaries(TEXTS, NUMBERS, max_size=2),
        "maps": st.lists(
            st.dictionaries(TEXTS, st.lists(TEXTS, max_size=2), max_size=2), max_size=2
        ),
    }
)


@given(st.lists(ROWS, min_size=1, max_size=4))
def test_what_a_column_holds_is_what_the_model_gave(rows: list[dict[str, Any]]) -> None:
    """A law: from a model into columns and back into the model nothing changes."""
    given_rows = [Everything.model_validate(row).model_dump() for row in rows]
    frame = pl.DataFrame(
        [
            typed_series(name, [row[name] for row in given_rows], dtype)
            for name, dtype in model_types(Everything).items()
        ]
    )
    back = [
        Everything.model_validate(row_of_table(Everything, row)).model_dump()
        for row in frame.to_dicts()
    ]
    assert back == given_rows


def test_null_in_a_table_is_no_value() -> None:
    class Row(BaseModel):
        a: str = "x"
        b: str | None
        c: int | None = 3
        d: list[Part] = Field(default=[], alias="e")

    row = {
        "a": None,
        "b": None,
        "c": None,
        "e": [{"text": "t", "weight": None}],
        "z": None,
    }
    assert row_of_table(Row, row) == {"b": None, "e": [{"text": "t"}], "z": None}
