"""Whatever form rows come in, each is judged as pydantic judges it by itself."""

import datetime
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    NaiveDatetime,
    ValidationError,
    create_model,
)

import evalkit
from evalkit.errors import SchemaError
from evalkit.examples.table import Examples, load_examples
from evalkit.plugins.bound import validated
from evalkit.plugins.components import Component
from evalkit.plugins.registry import Registry, bind
from evalkit.plugins.resolver import Resolver
from evalkit.predictions.judging import JudgedRows
from evalkit.predictions.preparation import read_responses
from evalkit.predictions.responses import ResponseReader
from evalkit.reading.field_types import model_types
from evalkit.reading.tables import plain_values
from evalkit.reading.typed_values import (
    as_mappings,
    large_integers,
    row_of_table,
    typed_series,
)

Row = dict[str, Any]
LABELS = ("x", "y")


class Choice(Enum):
    FIRST = "a"
    SECOND = "b"


class Inner(BaseModel):
    a: Annotated[int, Field(ge=0)]
    b: float | None = None
    c: str = "c"


class Closed(BaseModel):
    model_config = ConfigDict(extra="forbid")

    words: list[str | None] = []
    inner: Inner | None = None


DAY = datetime.date(2024, 2, 29)
NOON = datetime.datetime(2024, 2, 29, 12)
FIELDS: list[tuple[Any, list[Any]]] = [
    (str, ["", "x", "1", "\u2028", "\0"]),
    (Annotated[str, Field(min_length=2, max_length=3)], ["ab", "\U0001f600\u0301"]),
    (Annotated[str, Field(pattern=r"^\w+$")], ["a", "é", "a\n", "\u0660"]),
    (int, [0, -1, 2**63 - 1]),
    (Annotated[int, Field(ge=0, lt=2**40, multiple_of=3)], [0, 3, 2**40]),
    (float, [0.5, 1, -0.0]),
    (Annotated[float, Field(gt=0, le=1)], [0.5, 1, 5e-324]),
    (bool, [True, False]),
    (evalkit.Label, ["x", "y"]),
    (evalkit.Probabilities, [{"x": 0.5, "y": 0.5}, {"y": 1, "x": 0}]),
    (Literal["a", "b"], ["a"]),
    (Literal[1, 2], [1]),
    (Choice, ["a", "b"]),
    (list[str], [[], ["a", ""]]),
    (Annotated[list[int], Field(min_length=1)], [[1, 2]]),
    (list[float | None], [[], [1, None], [0.5]]),
    (tuple[str, ...], [["a"], []]),
    (list[Choice], [["a"]]),
    (Inner, [{"a": 1}, {"a": 0, "b": 1, "c": "d"}]),
    (list[Inner], [[], [{"a": 1, "b": None}]]),
    (Closed, [{}, {"words": [None], "inner": {"a": 0}}]),
    (dict[str, int], [{}, {"b": 1, "a": 2}]),
    (dict[str, list[float]], [{"k": [0.5]}]),
    (datetime.date, [DAY]),
    (datetime.datetime, [NOON.replace(tzinfo=datetime.UTC)]),
    (NaiveDatetime, [NOON]),
    (datetime.time, [datetime.time(1, 2, 3, 4)]),
    (datetime.timedelta, [datetime.timedelta(days=-1, microseconds=1)]),
    (bytes, [b"", b"\xff"]),
]
WRONG: list[Any] = [
    *(None, True, 0, 1, -1, 2, 1.0, 1.5, math.nan, math.inf, 2**63, 2**70, 10**400),
    *("", "1", "1.5", "true", "a", "abcd", "2024-02-29", "\u2028", "NaN"),
    *([], [None], ["a", None], ["1"], [1.5], [[]], [True], [2**63], ["c"]),
    *({}, {"a": -1}, {"a": "1"}, {"a": 1, "b": "x"}, {"a": 1, "z": 0}, {"a": None}),
    *({"words": ["a"], "z": 1}, {"inner": {"a": 1.5}}, {"k": [math.inf]}, [{"a": 1}]),
    *(DAY, NOON, [{"key": "k", "value": 1}], [{"a": -1}], {"words": None}),
    *({"x": 0.5, "y": 0.6}, {"x": 2, "y": -1}, {"x": 1}, {"x": 1, "y": 0, "z": 0}),
]


class Case:
    """A model, and rows of it, some of them corrupt."""

    def __init__(self, draw: st.DrawFn) -> None:
        drawn = draw(st.lists(st.sampled_from(FIELDS), min_size=1, max_size=3))
        fields: dict[str, Any] = {}
        good: dict[str, list[Any]] = {}
        for number, (kind, values) in enumerate(drawn):
            name = f"f{number}"
            default: Any = draw(st.sampled_from([..., None]))
            if default is None or draw(st.booleans()):
                kind, values = kind | None, [*values, None]
            fields[name], good[name] = (kind, default), values
        extra = draw(st.sampled_from(["ignore", "forbid"]))
        strict = draw(st.booleans())
        self.config = ConfigDict(strict=strict, extra=extra)
        self.fields = fields
        self.rows = [self._row(draw, good) for _ in range(draw(st.integers(1, 6)))]

    def _row(self, draw: st.DrawFn, good: Mapping[str, list[Any]]) -> Row:
        row = {}
        for name, values in good.items():
            kind = draw(st.integers(0, 5))
            if kind:
                row[name] = draw(st.sampled_from(values if kind > 1 else WRONG))
        if not draw(st.integers(0, 9)):
            row["more"] = draw(st.sampled_from(WRONG))
        return row

    def model(self, key: str) -> type[BaseModel]:
        model: type[BaseModel] = create_model(
            "Drawn",
            __config__=self.config,
            **{key: (str, ...), "label": (str, ...), **self.fields},
        )
        return model

    def __repr__(self) -> str:
        return f"{self.fields} {self.config} {self.rows}"


CASES = st.composite(Case)()


def _is_json(rows: list[Row]) -> bool:
    try:
        json.dumps(rows, allow_nan=False)
    except (TypeError, ValueError):
        return False
    return True


def _as_table(rows: list[Row]) -> pl.DataFrame | None:
    """Return rows as a table; None where a column would change or refuse a value."""
    try:
        names = dict.fromkeys(name for row in rows for name in row)
        columns = {name: [row.get(name) for row in rows] for name in names}
        frame = pl.DataFrame(
            [pl.Series(name, values, strict=True) for name, values in columns.items()]
        )
    except (
        TypeError,
        ValueError,
        OverflowError,
        pl.exceptions.PolarsError,
        pl.exceptions.PanicException,  # no exception of Python's own
    ):
        return None
    kinds = str(frame.schema)
    is_odd = any(kind in kinds for kind in ("Object", "Null", "Struct({})", "128"))
    return None if is_odd else frame


def _as_cells(
    rows: list[Row], reader: ResponseReader, path: Path
) -> tuple[Path, list[Row]]:
    """Write rows as CSV: texts as they are, other values as JSON, null as nothing."""

    def cell(name: str, value: Any) -> Any:
        is_text = isinstance(value, str) and name in reader.text_fields
        return value if is_text else json.dumps(value, ensure_ascii=False)

    names = dict.fromkeys(name for row in rows for name in row)
    in_cells = [
        {name: cell(name, value) for name, value in row.items() if value is not None}
        for row in rows
    ]
    with path.open("w", encoding="utf-8", newline="") as stream:
        print(*names, sep=",", file=stream)
        for row in in_cells:
            quoted = {key: '"' + row[key].replace('"', '""') + '"' for key in row}
            print(*(quoted.get(name, "") for name in names), sep=",", file=stream)
    expected = [
        {
            name: text if name in reader.text_fields else json.loads(text)
            for name, text in row.items()
        }
        for row in in_cells
    ]
    nulls = dict.fromkeys(reader.nullable)
    return path, [{**nulls, **row} for row in expected]


def _verdict(
    model: type[BaseModel], row: Row, labels: tuple[str, ...] | None = None
) -> Row | None:
    """Return what pydantic makes of a row, in columns; None where it refuses it."""
    try:
        values = validated(model, row, labels).model_dump()
    except ValidationError:
        return None
    types = model_types(model)
    if large_integers(values, types):
        return None
    return {name: typed_series(name, [values[name]], types[name])[0] for name in types}


def _same(left: Any, right: Any) -> bool:
    if isinstance(left, pl.Series):
        left = left.to_list()
    if isinstance(right, pl.Series):
        right = right.to_list()
    if isinstance(left, float) and isinstance(right, float) and math.isnan(left):
        return math.isnan(right)
    return repr(left) == repr(right)


def _reader(case: Case) -> ResponseReader:
    class Task(evalkit.TaskIO):
        Output = case.model("id")
        Input = create_model("Input", uid=(str, ...))
        labels = LABELS
        answer_field = "label"
        perf_metric = "accuracy"
        example = {"uid": "1"}
        scored_fields = tuple(case.fields)

    class Data(evalkit.Dataset):
        task = "nli"

        def load(self, split: str) -> list[Row]:
            return [{"uid": str(n), "label": "x"} for n in range(6)]

    task = bind(Component("tasks", "drawn", "m:T", "d", "1"), Task)
    dataset = bind(Component("datasets", "drawn", "m:D", "d", "1"), Data)
    return ResponseReader(task, dataset, load_examples(dataset, task, "test"))


def _mapped(model: type[BaseModel], row: Row) -> Row:
    return row | {
        name: as_mappings(row[name], field.annotation, keeps_null=True)
        for name, field in model.model_fields.items()
        if name in row
    }


def _check_predictions(case: Case, folder: Path) -> None:
    reader = _reader(case)
    rows = [{"id": str(n), "label": "x", **row} for n, row in enumerate(case.rows)]
    forms: dict[str, tuple[Any, list[Row]]] = {"dicts": (rows, rows)}
    if _is_json(rows):
        path = folder / "p.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        forms["lines"] = (path, rows)
        forms["cells"] = _as_cells(rows, reader, folder / "p.csv")
    if (frame := _as_table(rows)) is not None:
        frame.write_parquet(folder / "p.parquet")
        output = reader.output
        # a table cannot leave a value out
        in_table = [
            row_of_table(output, plain_values(row, reader.nullable))
            for row in frame.iter_rows(named=True)
        ]
        forms["table"] = (folder / "p.parquet", in_table)
        forms["frame"] = (frame, in_table)
    ids = pl.Series("id", [str(n) for n in range(6)])
    for form, (given_rows, expected_rows) in forms.items():
        judged = JudgedRows(ids, reader)
        for block in read_responses(given_rows, reader, ids):
            judged.add(block)
        found = judged.rows()
        fields = judged.fields(found["source"].cast(pl.Int64))
        for place, row in enumerate(expected_rows):
            expected = _verdict(reader.output, row, LABELS)
            if expected is None:  # a response may give a map as a table holds it
                mapped = _mapped(reader.output, row)
                expected = _verdict(reader.output, mapped, LABELS)
            (index,) = (found["id"] == str(place)).arg_true()
            assert found["is_valid"][index] == (expected is not None), (form, row)
            for name in case.fields:
                if expected is not None and name in expected:
                    value = fields[name][index]
                    assert _same(value, expected[name]), (form, name, value, row)


class Inputs(evalkit.TaskIO):
    class Output(BaseModel):
        id: str
        label: str

    labels = LABELS
    answer_field = "label"
    perf_metric = "accuracy"


def _load(case: Case, rows: Any) -> Examples:
    class Task(Inputs):
        Input = case.model("uid")

    class Data(evalkit.Dataset):
        task = "nli"

        def load(self, split: str) -> Any:
            return rows

    resolver = Resolver(Registry())
    task = resolver.task(resolver.dataset("sample-nli"))
    task = replace(task, plugin=Task(), attributes={**task.attributes, **_said(Task)})
    dataset = bind(Component("datasets", "drawn", "m:D", "d", "1"), Data)
    return load_examples(dataset, task, "test")


def _said(task: type[evalkit.TaskIO]) -> dict[str, Any]:
    names = ("Input", "Output", "labels", "answer_field")
    return {name: getattr(task, name) for name in names}


def _check_examples(case: Case, folder: Path) -> None:
    rows = [
        {"uid": str(n), "label": "x", **{k: v for k, v in row.items() if k != "more"}}
        for n, row in enumerate(case.rows)
    ]
    model = case.model("uid")
    forms: dict[str, tuple[Any, list[Row]]] = {"dicts": (rows, rows)}
    if _is_json(rows):
        path = folder / "d.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        forms["lines"] = (path, rows)
    if (frame := _as_table(rows)) is not None:
        frame.write_parquet(folder / "d.parquet")
        in_table = [row_of_table(model, row) for row in frame.iter_rows(named=True)]
        forms["table"] = (folder / "d.parquet", in_table)
    for form, (given_rows, expected_rows) in forms.items():
        expected = [_verdict(model, row) for row in expected_rows]
        bad = sum(each is None for each in expected)
        refused = "cannot be|can be stored|must fit|no example has"
        said = f"{bad} of {len(rows)} examples|{refused}"
        if bad:
            with pytest.raises(SchemaError, match=said):
                _load(case, given_rows)
            continue
        found = _load(case, given_rows)
        for name in case.fields:
            for value, row in zip(found.inputs[name], expected, strict=True):
                if row is not None and name in row:
                    assert _same(value, row[name]), (form, name, value, row)


CHECKS = [_check_predictions, _check_examples]
QUICK = settings(max_examples=40, suppress_health_check=[*HealthCheck])
SLOW = settings(max_examples=100, suppress_health_check=[*HealthCheck])


@pytest.mark.parametrize("check", CHECKS)
@QUICK
@given(case=CASES)
@pytest.mark.slow
def test_rows_are_judged_alike(
    check: Callable[[Case, Path], None],
    case: Case,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    check(case, tmp_path_factory.getbasetemp())


@pytest.mark.slow
@pytest.mark.parametrize("check", CHECKS)
@SLOW
@given(case=CASES)
def test_many_rows_are_judged_alike(
    check: Callable[[Case, Path], None],
    case: Case,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    check(case, tmp_path_factory.getbasetemp())
