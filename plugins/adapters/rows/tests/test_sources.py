"""Rows of files, checked against a model."""

from __future__ import annotations

import json
from datetime import datetime
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from evalkit.errors import DataError, SchemaError
from evalkit_adapters_rows import checked_rows, file_rows, validated_rows


class Rated(BaseModel):
    """A model whose rules can be seen from columns."""

    text: str = Field(min_length=1)
    stars: int = Field(ge=1, le=5)
    kind: Literal["a", "b"] = "a"
    note: str | None = None


class Named(BaseModel):
    """A model whose rules cannot."""

    model_config = ConfigDict(extra="forbid")

    code: str = Field(alias="the code")
    sizes: dict[str, int] = {}

    @field_validator("code")
    @classmethod
    def is_known(cls, value: str) -> str:
        if value == "odd":
            raise LookupError("no such code")
        assert value != "bad", "must be good"
        return value


ROWS = st.fixed_dictionaries(
    {
        "text": st.sampled_from(["", "x", None]),
        "stars": st.sampled_from([0, 1, 5, 6, None]),
        "kind": st.sampled_from(["a", "b", "c", None]),
        "note": st.sampled_from(["x", None]),
    }
)


def broken_fields(row: dict[str, Any]) -> list[str]:
    """Return what pydantic says of a row that leaves nulls out."""
    given_values = {name: value for name, value in row.items() if value is not None}
    try:
        Rated.model_validate(given_values)
    except ValidationError as error:
        return [str(each["loc"][0]) for each in error.errors()]
    return []


@given(rows=st.lists(ROWS, min_size=1, max_size=8))
def test_tables_and_lines_are_judged_as_pydantic_does(
    rows: list[dict[str, Any]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("rows")
    schema = {"text": pl.String, "stars": pl.Int64, "kind": pl.String}
    frame = pl.DataFrame(rows, schema={**schema, "note": pl.String})
    frame.write_parquet(folder / "rows.parquet")
    without = [{k: v for k, v in row.items() if v is not None} for row in rows]
    lines = "".join(json.dumps(row) + "\n" for row in without)
    (folder / "rows.jsonl").write_text(lines)
    expected = [(n, broken_fields(row)) for n, row in enumerate(rows, start=1)]
    for name in ("rows.parquet", "rows.jsonl"):
        found = [
            (number, [each.field for each in violations])
            for number, violations in checked_rows(folder / name, Rated)
        ]
        assert found == expected


def test_a_validator_that_fails_is_named_with_the_row(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"the code": "a"}\n{"the code": "odd"}\n')
    with pytest.raises(
        SchemaError, match=r".*: row 2: a validator of Named .* no such code"
    ):
        list(checked_rows(path, Named))


def test_plain_lines_have_no_fields_to_check(tmp_path: Path) -> None:
    path = tmp_path / "rows.txt"
    path.write_text("a\n")
    with pytest.raises(DataError, match="plain lines have none"):
        list(checked_rows(path, Rated))


class Timed(BaseModel):
    """A model with a time."""

    at: datetime


@pytest.mark.parametrize(
    "kind", [pl.Datetime("ns"), pl.Datetime("ns", "UTC"), pl.Duration("ns"), pl.Time]
)
def test_times_that_rows_would_cut_off_are_refused(tmp_path: Path, kind: Any) -> None:
    path = tmp_path / "rows.parquet"
    column = pl.Series("at", [5_000, 1_001, None], dtype=pl.Int64).cast(kind)
    column.to_frame().write_parquet(path)
    for rows in (file_rows(path), validated_rows(path, Timed)):
        with pytest.raises(DataError, match=r"rows\.parquet: at: has times finer"):
            list(rows)
    column.head(1).to_frame().write_parquet(path)
    assert len([*file_rows(path)]) == 1


class Price(BaseModel):
    """Decimals with more digits than a float has."""

    model_config = ConfigDict(strict=True)

    price: Annotated[Decimal, Field(max_digits=30, decimal_places=20)]
    rebate: Decimal | None = None
    others: list[Decimal] = []
    parts: dict[str, Decimal] = {}
    rate: float = 0.0


PRICE = Decimal("1234567890.12345678901234567890")


def instances(path: Path, model: type[BaseModel]) -> list[Any]:
    return [found for _, found in validated_rows(path, model)]


def test_cells_keep_the_digits_of_decimals(tmp_path: Path) -> None:
    path = tmp_path / "prices.csv"
    path.write_text(
        f"price,rebate,rate\n{PRICE},0.10000000000000000001,0.5\n{PRICE},,1\n"
    )

    found = instances(path, Price)

    assert [(each.price, each.rebate) for each in found] == [
        (PRICE, Decimal("0.10000000000000000001")),
        (PRICE, None),
    ]


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_tables_keep_the_digits_of_decimals(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"prices.{suffix}"
    dtype = pl.Decimal(38, 20)
    frame = pl.DataFrame(
        {
            "price": pl.Series([PRICE], dtype=dtype),
            "others": pl.Series([[PRICE, -PRICE]], dtype=pl.List(dtype)),
            "parts": pl.Series(
                [[{"key": "a", "value": PRICE}]],
                dtype=pl.List(pl.Struct({"key": pl.String, "value": dtype})),
            ),
            "rate": pl.Series([Decimal("0.5")], dtype=dtype),
        }
    )
    _ = frame.write_parquet(path) if suffix == "parquet" else frame.write_ipc(path)

    [found] = instances(path, Price)

    assert found == Price(
        price=PRICE, others=[PRICE, -PRICE], parts={"a": PRICE}, rate=0.5
    )


PAIR = [("k", 1), ("k", 2)]
COUNTS = pa.map_(pa.string(), pa.int64())


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (PAIR, COUNTS),
        ([PAIR], pa.list_(COUNTS)),
        ({"x": PAIR}, pa.struct({"x": COUNTS})),
        ([("a", PAIR)], pa.map_(pa.string(), COUNTS)),
    ],
)
def test_a_map_that_repeats_a_key_loses_no_entry(
    tmp_path: Path, value: Any, dtype: pa.DataType
) -> None:
    path = tmp_path / "maps.parquet"
    column = pa.array([None, value], dtype)
    pq.write_table(pa.table({"id": ["1", "2"], "m": column}), path)
    with pytest.raises(DataError, match=r"maps\.parquet: m: a map has one of its keys"):
        list(file_rows(path))


def test_a_value_that_python_cannot_hold_is_named(tmp_path: Path) -> None:
    class Dated(BaseModel):
        at: datetime

    path = tmp_path / "late.parquet"
    late = pa.array([0, 2**62], pa.timestamp("us"))
    pq.write_table(pa.table({"id": ["1", "2"], "at": late}), path)
    for read in (file_rows, partial(validated_rows, model=Dated)):
        with pytest.raises(DataError, match=r"late\.parquet: row 2: at: year"):
            list(read(path))
    with pytest.raises(DataError, match=r"late\.parquet: row 2: at: year"):
        list(checked_rows(path, Dated))
