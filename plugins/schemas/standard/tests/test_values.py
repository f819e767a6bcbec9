"""Rows of models as tables of Arrow, and back."""

import math
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal
from uuid import UUID

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import AwareDatetime, BaseModel, Field, NaiveDatetime, ValidationError
from random_models import models, rows_of

from evalkit.errors import SchemaError
from evalkit_schemas_standard import (
    Float32,
    Int8,
    arrow_schema,
    arrow_table,
    model_from_arrow,
    rows_of_table,
)


class Color(Enum):
    RED = "red"


class Inner(BaseModel):
    word: str | None = None


class Row(BaseModel):
    key: UUID
    when: datetime
    aware: AwareDatetime
    naive: NaiveDatetime
    day: date
    hour: time
    lasting: timedelta
    exact: Annotated[Decimal, Field(max_digits=5, decimal_places=2)]
    share: Float32
    small: Int8 | None
    raw: bytes
    color: Color
    choice: Literal[1, 2]
    words: set[str]
    counts: dict[str, int]
    pair: tuple[float, float]
    inner: Inner
    inners: list[Inner | None]
    owned: str = Field("x", alias="example.org/x")


EAST = timezone(timedelta(hours=2))
ROW = {
    "key": UUID(int=7),
    "when": datetime(2026, 1, 2, 3),
    "aware": datetime(2026, 1, 2, 3, microsecond=4, tzinfo=EAST),
    "naive": datetime(2026, 1, 2, 3),
    "day": date(2026, 1, 2),
    "hour": time(23, 59, 59, 999_999),
    "lasting": timedelta(days=-1, microseconds=1),
    "exact": Decimal("-1.5"),
    "share": 0.5,
    "small": None,
    "raw": b"\x89\x00",
    "color": "red",
    "choice": 2,
    "words": {"b", "a"},
    "counts": {"z": 1, "a": -1},
    "pair": (math.inf, -0.0),
    "inner": {"word": "\U0001f642"},
    "inners": [None, {}],
    "example.org/x": "",
}


def test_each_kind_of_value_is_stored_as_it_is() -> None:
    table = arrow_table(Row, [ROW])
    assert table.schema.equals(arrow_schema(Row), check_metadata=True)
    assert table.to_pylist() == [
        {
            **ROW,
            "key": str(UUID(int=7)),
            "when": datetime(2026, 1, 2, 3, tzinfo=UTC),
            "words": ["a", "b"],
            "counts": [("z", 1), ("a", -1)],
            "pair": [math.inf, 0.0],
            "inners": [None, {"word": None}],
        }
    ]


def test_a_table_gives_the_rows_back() -> None:
    (back,) = rows_of_table(Row, arrow_table(Row, [ROW]))
    given = Row.model_validate({**ROW, "when": datetime(2026, 1, 2, 3, tzinfo=UTC)})
    assert back == given


class Plain(BaseModel):
    number: int
    share: float = 0.0


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"number": "x"}, r"row 2: 1 validation error for Plain\nnumber"),
        (
            {"number": 2**63},
            "row 2: number: 9223372036854775808 holds a number too large",
        ),
        ({}, r"row 2: 1 validation error for Plain\nnumber"),
    ],
)
def test_a_row_that_does_not_fit_is_named(row: dict[str, Any], said: str) -> None:
    with pytest.raises(SchemaError, match=said):
        arrow_table(Plain, [{"number": 1}, row])


def are_equal(one: Any, other: Any) -> bool:
    """Tell whether two values are the same: NaN is itself, a list a tuple."""
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(
            are_equal(value, other[key]) for key, value in one.items()
        )
    if isinstance(one, list | tuple):
        pairs = zip(one, other, strict=True)
        return len(one) == len(other) and all(are_equal(*pair) for pair in pairs)
    if isinstance(one, float) and math.isnan(one):
        return math.isnan(other)
    if isinstance(one, datetime) and (one.tzinfo is None) != (other.tzinfo is None):
        return one.replace(tzinfo=UTC) == other.replace(tzinfo=UTC)
    return bool(one == other)


@given(data=st.data())
@settings(max_examples=50, deadline=None, suppress_health_check=list(HealthCheck))
@pytest.mark.slow
def test_rows_of_random_models_come_back(data: st.DataObject) -> None:
    model = data.draw(models(1))
    rows = []
    for given_row in data.draw(st.lists(rows_of(model), max_size=4)):
        try:
            rows.append(model.model_validate(given_row))
        except ValidationError:
            continue
    table = arrow_table(model, rows)
    back = [*rows_of_table(model, table)]
    assert are_equal([row.model_dump() for row in back], [r.model_dump() for r in rows])
    assert arrow_table(model, back).equals(table) or "nan" in repr(rows)


def test_a_time_with_a_zone_is_refused_as_a_column_would_drop_it() -> None:
    class Timed(BaseModel):
        at: time

    row = {"at": time(1, tzinfo=timezone(timedelta(hours=2)))}
    with pytest.raises(SchemaError, match=r"row 2: 01:00:00\+02:00: .* no zone"):
        arrow_table(Timed, [{"at": time(1)}, row])


def test_a_map_with_a_key_twice_is_refused() -> None:
    class Counted(BaseModel):
        counts: dict[str, int]

    counts = pa.array([[("a", 1), ("a", 2)]], pa.map_(pa.string(), pa.int64()))
    with pytest.raises(SchemaError, match="row 1: the key 'a' is in a map twice"):
        list(rows_of_table(Counted, pa.table({"counts": counts})))


def test_an_arrow_schema_of_a_thousand_levels_is_refused() -> None:
    kind = pa.string()
    for _ in range(1000):
        kind = pa.list_(kind)
    with pytest.raises(SchemaError, match="Row: nested too deeply"):
        model_from_arrow(pa.schema([("deep", kind)]))
