import datetime
import random
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any

import polars as pl
import pyarrow as pa
import pytest
from pydantic import BaseModel, ConfigDict, Field

import evalkit
from evalkit.errors import DataError
from evalkit.reading.formats import Format
from evalkit.reading.rows import Block
from evalkit.reading.schemas import plan_of
from evalkit.reading.tables import read_frames, read_table_blocks, table_blocks


class Output(BaseModel):
    model_config = ConfigDict(strict=True)

    id: str
    label: str
    conf: Annotated[float, Field(ge=0, le=1)] | None = None
    prob: dict[str, Any] | None = None
    words: list[str] | None = None


class Closed(Output):
    model_config = ConfigDict(extra="forbid")


PLAN = plan_of(Output, ("a", "b"))
CLOSED_PLAN = plan_of(Closed, ("a", "b"))
FRAME = pl.DataFrame(
    {
        "label": ["x", "y", None],
        "id": ["1", "2", "3"],
        "prob": [{"b": 0.5, "a": 0.5}, None, {"b": 1.0, "a": 0.0}],
        "words": [["v"], [], None],
    }
)


def only(frame: pl.DataFrame, closed: bool = False) -> Block:
    (block,) = table_blocks(frame, 5, CLOSED_PLAN if closed else PLAN)
    return block


def test_columns_are_taken_in_the_plans_order_and_types() -> None:
    block = only(FRAME)
    assert PLAN is not None
    assert list(block.rows) == []
    assert block.frame.columns == ["id", "label", "conf", "prob", "words"]
    assert block.frame["id"].to_list() == ["1", "2", "3"]
    assert block.frame["conf"].to_list() == [None] * 3
    assert block.lines.tolist() == [5, 6, 7]
    assert PLAN.passes(block.frame).to_list() == [True, True, False]
    assert block.row_at(0).values == {
        "label": "x",
        "id": "1",
        "prob": {"b": 0.5, "a": 0.5},
        "words": ["v"],
    }
    assert block.row_at(2).values == {"id": "3", "prob": {"b": 1.0, "a": 0.0}}


@pytest.mark.parametrize(
    "dtype",
    [
        *(pl.Categorical, pl.Enum(["1", "2", "3"]), pl.Decimal(10, 0)),
        *(pl.Int8, pl.UInt64, pl.Int64, pl.Int128),
    ],
)
def test_ids_of_any_kind_of_text_or_integer_are_texts(dtype: Any) -> None:
    ids = pl.Series("uid", ["1", "2", "3"])
    frame = FRAME.drop("id").with_columns(
        ids.cast(pl.Int64).cast(dtype) if dtype.is_integer() else ids.cast(dtype)
    )
    assert only(frame).frame["id"].to_list() == ["1", "2", "3"]


@pytest.mark.parametrize(
    "ids",
    [[1.0, 2.0, 3.0], [True, False, True], [datetime.date(2020, 1, 1)] * 3, [b"1"] * 3],
)
def test_ids_of_other_types_are_left_to_be_refused_row_by_row(ids: list[Any]) -> None:
    block = only(FRAME.with_columns(pl.Series("id", ids)))
    assert block.frame.height == 0
    assert [row.line for row in block.rows] == [5, 6, 7]


@pytest.mark.parametrize(
    ("conf", "stored"),
    [
        (pl.Series([0, 1, None]), [0.0, 1.0, None]),
        (pl.Series([0.5, 0.25, None], dtype=pl.Float32), [0.5, 0.25, None]),
        (pl.Series([None, None, None]), [None, None, None]),
        (pl.Series([Decimal("0.5"), Decimal(1), None]), [0.5, 1.0, None]),
    ],
)
def test_numbers_and_nothing_are_numbers(conf: pl.Series, stored: list[Any]) -> None:
    frame = FRAME.with_columns(conf.alias("conf"))
    assert only(frame).frame["conf"].to_list() == stored
    (by_rows,) = table_blocks(frame, 1, None)
    values = [row.values and row.values.get("conf") for row in by_rows.rows]
    assert values == stored
    assert Decimal not in map(type, values)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("label", [1, 2, 3]),
        ("label", [["x"], ["y"], []]),
        ("conf", ["0.5", "x", None]),
        ("conf", [True, False, None]),
        ("prob", ["a", "b", "c"]),
        ("prob", [{"a": "x", "b": 0.5}] * 3),
        ("words", ["v", "w", "x"]),
        ("words", [[1], [], []]),
    ],
)
def test_a_column_of_another_type_leaves_all_rows_to_be_judged_one_by_one(
    name: str, values: list[Any]
) -> None:
    block = only(FRAME.with_columns(pl.Series(name, values, strict=False)))
    assert block.frame.height == 0
    assert [row.values is not None and row.values.get(name) for row in block.rows] == [
        value if value is not None else None for value in values
    ]


@pytest.mark.parametrize(
    ("prob", "passes"),
    [
        ({"b": 0.5, "a": 0.5}, True),
        ({"a": 1, "b": 0}, True),
        ({"b": 0, "a": 1.0}, True),
        ({"a": 1.0}, False),
        ({"a": 1.0, "b": None}, False),
    ],
)
def test_probabilities_pass_in_any_order_of_the_labels(
    prob: dict[str, float], passes: bool
) -> None:
    assert PLAN is not None
    frame = FRAME.with_columns(pl.Series("prob", [prob, None, prob]), label=pl.lit("x"))
    block = only(frame)
    assert PLAN.passes(block.frame).to_list() == [passes, True, passes]
    if passes:
        assert block.frame["prob"].to_list() == [prob, None, prob]
    given_row = {key: value for key, value in prob.items() if value is not None}
    assert block.row_at(0).values == {
        "label": "x",
        "id": "1",
        "prob": given_row,
        "words": ["v"],
    }


@pytest.mark.parametrize(("second", "passes"), [(0.5009, True), (0.5011, False)])
def test_probabilities_must_sum_to_one_within_a_thousandth(
    second: float, passes: bool
) -> None:
    class Whole(BaseModel):
        prob: evalkit.Probabilities

    plan = plan_of(Whole, ("a", "b"))
    assert plan is not None
    frame = pl.DataFrame({"prob": [{"a": 0.5, "b": second}]})
    assert plan.passes(frame).to_list() == [passes]


def test_what_a_struct_has_beyond_the_labels_is_seen() -> None:
    prob = [{"a": 0.5, "b": 0.5, "c": None}, {"a": 0.5, "b": 0.5, "c": 0.1}, None]
    frame = FRAME.with_columns(pl.Series("prob", prob), label=pl.lit("x"))
    block = only(frame)
    assert block.frame.height == 0
    # a table cannot leave the field out
    kept = [(row.values or {}).get("prob") for row in block.rows]
    assert kept == [{"a": 0.5, "b": 0.5}, prob[1], None]


def test_rows_with_an_error_are_apart_and_counted_once() -> None:
    frame = FRAME.with_columns(
        pl.Series("error", [None, "out of memory", None]),
        pl.Series("note", [1, 2, None]),
    )
    block = only(frame)
    assert block.lines.tolist() == [5, 7]
    assert block.frame["id"].to_list() == ["1", "3"]
    assert [block.row_at(index).line for index in range(2)] == [5, 7]
    (apart,) = block.rows
    assert apart.line == 6
    assert apart.values == {
        "label": "y",
        "id": "2",
        "words": [],
        "error": "out of memory",
        "note": 2,
    }
    assert block.undeclared == {"note": 1}


def test_a_model_that_forbids_other_keys_judges_rows_one_by_one() -> None:
    assert only(FRAME, closed=True).frame.height == 3
    block = only(FRAME.with_columns(note=1), closed=True)
    assert block.frame.height == 0
    assert len(list(block.rows)) == 3
    assert block.undeclared == {}


def test_a_value_of_a_type_that_json_lacks_is_shown_to_the_task() -> None:
    day = datetime.date(2020, 1, 1)
    frame = FRAME.with_columns(
        pl.Series("label", [day, None, Decimal("1.5")], dtype=pl.Object)
    )
    values = [row.values for row in only(frame).rows]
    assert [row is not None and row.get("label") for row in values] == [day, None, 1.5]


def _write(path: Path, frame: pl.DataFrame) -> Format:
    if path.suffix == ".parquet":
        frame.write_parquet(path, row_group_size=2)
        return Format.PARQUET
    if path.suffix == ".arrow":
        frame.write_ipc(path, compression="zstd", record_batch_size=2)
    else:
        frame.write_ipc_stream(path)
    return Format.ARROW


FILES = ["p.parquet", "p.arrow", "p.arrows"]


@pytest.mark.parametrize("name", FILES)
def test_a_file_without_rows_gives_none(tmp_path: Path, name: str) -> None:
    kind = _write(tmp_path / name, FRAME.clear())
    blocks = list(read_table_blocks(tmp_path / name, kind, PLAN))
    assert sum(len(block.lines) + len(list(block.rows)) for block in blocks) == 0


@pytest.mark.parametrize("name", FILES)
def test_a_damaged_file_is_refused_or_read_but_never_ends_the_process(
    tmp_path: Path, name: str
) -> None:
    times = 80
    path = tmp_path / name
    frame = pl.concat([FRAME] * 50)
    kind = _write(path, frame)
    whole = path.read_bytes()
    for length in (0, 1, 4, 6, 8, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:length])
        if name == "p.arrows" and length == len(whole) - 1:
            continue  # its last bytes say no more than that it ends
        with pytest.raises(DataError) as caught:
            list(read_frames(path, kind))
        assert str(caught.value).startswith(f"{path}: cannot be read as {kind.value}: ")
        assert "\n" not in str(caught.value)
    generator = random.Random(0)
    refused = 0
    for _ in range(times):
        broken = bytearray(whole)
        for _ in range(generator.randrange(1, 4)):
            broken[generator.randrange(len(broken))] = generator.randrange(256)
        path.write_bytes(broken)
        try:
            list(read_frames(path, kind))
        except DataError:
            refused += 1
    assert refused > times / 6


@pytest.mark.parametrize("name", FILES)
def test_random_bytes_are_refused(tmp_path: Path, name: str) -> None:
    kind = Format.PARQUET if name == "p.parquet" else Format.ARROW
    generator = random.Random(0)
    for size in (10, 1000, 100_000):
        (tmp_path / name).write_bytes(generator.randbytes(size))
        with pytest.raises(DataError, match=f"cannot be read as {kind.value}"):
            list(read_frames(tmp_path / name, kind))


@pytest.mark.parametrize(
    "column",
    [
        pa.array([(1, 2, 3)], pa.month_day_nano_interval()),
        pa.UnionArray.from_sparse(pa.array([0], pa.int8()), [pa.array([1])]),
        pa.Array.from_buffers(
            pa.string(),
            1,
            [None, pa.py_buffer(b"\0\0\0\0\1\0\0\0"), pa.py_buffer(b"\xff")],
        ),
    ],
    ids=["interval", "union", "not UTF-8"],
)
def test_what_cannot_be_held_is_a_clear_error(tmp_path: Path, column: pa.Array) -> None:
    table = pa.table({"id": ["1"], "label": column})
    path = tmp_path / "p.arrow"
    with (
        pa.OSFile(str(path), "wb") as sink,
        pa.ipc.new_file(sink, table.schema) as file,
    ):
        file.write_table(table)
    with pytest.raises(DataError, match="cannot be read as Arrow"):
        list(read_frames(path, Format.ARROW))


def test_a_name_that_is_not_utf_8_is_a_clear_error(tmp_path: Path) -> None:
    path = tmp_path / "p.arrow"
    schema = pa.schema([pa.field("id", pa.string()), pa.field(b"\xff", pa.int8())])
    batch = pa.RecordBatch.from_arrays(
        [pa.array(["1"]), pa.array([1], pa.int8())], schema=schema
    )
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, schema) as file:
        file.write_batch(batch)
    with pytest.raises(DataError, match="cannot be read as Arrow: 'utf-8' codec"):
        list(read_frames(path, Format.ARROW))
