"""What pydantic returns is what is used, and every field has the type it is said to."""

import csv
import json
from collections.abc import Callable, Mapping
from datetime import date, datetime
from enum import Enum
from pathlib import Path
from typing import Any, Literal

import polars as pl
import pytest
from pydantic import BaseModel, ConfigDict, Field, field_validator
from pydantic_core import to_jsonable_python

import evalkit
from evalkit.errors import SchemaError
from evalkit.examples.selection import Selection
from evalkit.examples.table import Examples, load_examples
from evalkit.plugins.bound import BoundDataset, BoundTask
from evalkit.plugins.components import Component
from evalkit.plugins.registry import bind
from evalkit.reading.field_types import model_types
from evalkit_commands_perturb import perturb, perturb_dataset
from evalkit_commands_perturb.originals import read_originals


class Kind(Enum):
    NEWS = "news"


class Reference(BaseModel):
    text: str
    grade: int = 1
    tags: list[str] = []


class Everything(BaseModel):
    uid: str
    text: str
    count: int
    share: float
    flag: bool
    raw: bytes
    day: date
    moment: datetime
    kind: Kind
    size: Literal["small", "large"]
    words: list[str]
    spans: list[list[int]]
    references: list[Reference]
    weights: dict[str, float]
    note: str | None = None


class Strict(Everything):
    model_config = ConfigDict(strict=True)


ROWS: list[dict[str, Any]] = [
    {
        "uid": str(number),
        "text": f"text {number}",
        "count": number,
        "share": number / 4,
        "flag": number == 1,
        "raw": f"raw {number}".encode(),
        "day": date(2020, 1, number),
        "moment": datetime(2020, 1, number, 12),
        "kind": Kind.NEWS,
        "size": "small",
        "words": ["a", "b"][:number],
        "spans": [[0, number]] * (number - 1),
        "references": [{"text": "r", "grade": number, "tags": ["t"]}] * (number - 1),
        "weights": {"b": 0.5, "a": float(number)},
        "note": None if number == 1 else "n",
        "label": "x",
    }
    for number in (1, 2)
]


def plain(row: Mapping[str, Any]) -> dict[str, Any]:
    """Write a row as JSON has it."""
    found = {k: to_jsonable_python(v) for k, v in row.items() if v is not None}
    assert isinstance(found, dict)
    return found


def as_frame(_: Path) -> pl.DataFrame:
    columns = {name: [row[name] for row in ROWS] for name in ROWS[0]}
    columns["kind"] = [kind.value for kind in columns["kind"]]
    columns["weights"] = [
        [{"key": key, "value": value} for key, value in each.items()]
        for each in columns["weights"]
    ]
    kinds = {name: columns[name] for name in columns}
    return pl.DataFrame(kinds, strict=False)


def as_parquet(folder: Path) -> Path:
    as_frame(folder).write_parquet(folder / "data.parquet")
    return folder / "data.parquet"


def as_json_lines(folder: Path) -> Path:
    text = "".join(json.dumps(plain(row)) + "\n" for row in ROWS)
    (folder / "data.jsonl").write_text(text)
    return folder / "data.jsonl"


def as_csv(folder: Path) -> Path:
    with (folder / "data.csv").open("w", newline="") as stream:
        writer = csv.DictWriter(stream, [*ROWS[0]])
        writer.writeheader()
        for row in map(plain, ROWS):
            cells = {
                k: v if isinstance(v, str) else json.dumps(v) for k, v in row.items()
            }
            writer.writerow(cells)
    return folder / "data.csv"


WAYS: dict[str, Callable[[Path], Any]] = {
    "dicts": lambda _: ROWS,
    "dicts of JSON": lambda _: [plain(row) for row in ROWS],
    "frame": as_frame,
    "parquet": as_parquet,
    "JSON lines": as_json_lines,
    "CSV": as_csv,
}


def task(model: type[BaseModel], **members: Any) -> BoundTask:
    class Response(BaseModel):
        id: str
        label: str

    found = {
        "Input": model,
        "Output": Response,
        "answer_field": "label",
        "perf_metric": "accuracy",
        "example": ROWS[0],
        **members,
    }
    component = Component("tasks", "any", "m:T", "task-dist", "2.0")
    return BoundTask.of(bind(component, type("Task", (evalkit.TaskIO,), found)))


def dataset(rows: Any, **members: Any) -> BoundDataset:
    members = {"task": "any", "load": lambda self, split: rows, **members}
    component = Component("datasets", "rows", "m:D", "rows-dist", "1.0")
    return BoundDataset.of(bind(component, type("Data", (evalkit.Dataset,), members)))


def load(
    model: type[BaseModel], rows: Any, example: Any = None, **members: Any
) -> Examples:
    bound = task(model, example=example or ROWS[0])
    return load_examples(dataset(rows, **members), bound, "test")


EXPECTED = {
    "count": [1, 2],
    "share": [0.25, 0.5],
    "flag": [True, False],
    "raw": [b"raw 1", b"raw 2"],
    "day": [date(2020, 1, 1), date(2020, 1, 2)],
    "kind": ["news", "news"],
    "words": [["a"], ["a", "b"]],
    "spans": [[], [[0, 2]]],
    "references": [[], [{"text": "r", "grade": 2, "tags": ["t"]}]],
    "weights": [
        [{"key": "a", "value": number}, {"key": "b", "value": 0.5}]
        for number in (1.0, 2.0)
    ],
    "note": [None, "n"],
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("model", [Everything, Strict])
def test_a_field_has_one_type_and_value_whichever_way_it_came(
    tmp_path: Path, way: str, model: type[BaseModel]
) -> None:
    found = load(model, WAYS[way](tmp_path)).inputs
    types = model_types(model)
    assert {name: found.schema[name] for name in types} == types
    assert {name: found[name].to_list() for name in EXPECTED} == EXPECTED


@pytest.mark.parametrize("way", WAYS)
def test_a_converter_and_a_perturbation_see_what_pydantic_returns(
    tmp_path: Path, way: str
) -> None:
    seen: list[Mapping[str, Any]] = []

    def convert(self: Any, example: Mapping[str, Any]) -> dict[str, Any]:
        seen.append(dict(example))
        return {"id": example["uid"], "answer": example["label"]}

    rows = WAYS[way](tmp_path)
    load(Everything, rows, label_field_converter=convert)
    bound = dataset(rows)
    originals = read_originals(bound, task(Everything), "test", Selection(), False)
    expected = [Everything.model_validate(row).model_dump() for row in ROWS]
    for found in (seen, [example.row for example in originals.examples()]):
        assert [{name: row[name] for name in expected[0]} for row in found] == expected


class Written(BaseModel):
    uid: str
    text: str = Field(alias="sentence")
    language: str = "en"
    length: int | None = None

    @field_validator("text")
    @classmethod
    def strip(cls, value: str) -> str:
        return value.strip()


WRITTEN = [
    {"uid": "1", "sentence": " one ", "label": "x"},
    {"uid": "2", "sentence": "two", "language": "de", "length": 3, "label": "x"},
]


@pytest.mark.parametrize("make", [list, pl.DataFrame, lambda rows: iter(rows)])
def test_defaults_aliases_and_validators_hold(make: Any) -> None:
    found = load(Written, make(WRITTEN), WRITTEN[0]).inputs
    assert found["text"].to_list() == ["one", "two"]
    assert found["language"].to_list() == ["en", "de"]
    assert found["length"].to_list() == [None, 3]


@pytest.mark.parametrize("given", [WRITTEN, [WRITTEN[0]]])
def test_rows_and_files_are_perturbed_alike(
    given: list[dict[str, Any]], tmp_path: Path
) -> None:
    """Rows were perturbed without defaults and validators, and so were files where
    no row had a field that has a default."""

    class Whole(evalkit.Perturbation):
        families = {"robustness"}
        version = "1"
        label_effect = {"*": "invariant"}

        def perturb_example(self, example: Mapping[str, Any]) -> dict[str, Any]:
            text = f"{example['sentence']}, {example['language']}, {example['length']}"
            return {"sentence": text}

    members = {"example": WRITTEN[0], "perturb_fields": ("text",)}
    sentences = task(Written, **members).plugin
    rows = [*perturb(given, Whole, task=sentences)]
    texts = [row["sentence"] for row in rows]
    assert texts == ["one, en, None", "two, de, 3"][: len(given)]
    data, out = tmp_path / "data.jsonl", tmp_path / "out.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in given))
    perturb_dataset(data, out, perturbations=[Whole], task=sentences)
    assert [json.loads(line) for line in out.read_text().splitlines()] == rows


class Plain(BaseModel):
    uid: str
    text: str
    language: str = "en"
    level: int = 1


def test_a_default_that_no_row_overrides_fills_the_column(tmp_path: Path) -> None:
    rows = [{"uid": str(k), "text": "t", "label": "x"} for k in range(3)]
    path = tmp_path / "data.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    for given in (rows, path, pl.DataFrame(rows)):
        found = load(Plain, given, rows[0]).inputs
        assert found["language"].to_list() == ["en"] * 3
        assert found["level"].to_list() == [1] * 3


class Loose(BaseModel):
    uid: str
    anything: Any = None
    lax: int = 0


def test_a_field_without_a_type_is_json_whichever_way_it_came() -> None:
    rows = [
        {"uid": "1", "anything": {"b": [1], "a": "x"}, "label": "x"},
        {"uid": "2", "anything": {"b": [], "a": "y"}, "label": "x"},
    ]
    for given in (rows, pl.DataFrame(rows)):
        found = load(Loose, given, rows[0])
        expected = ['{"a": "x", "b": [1]}', '{"a": "y", "b": []}']
        assert found.inputs["anything"].to_list() == expected
        assert found.nested["anything"] == [row["anything"] for row in rows]


def test_a_value_that_no_column_holds_is_named() -> None:
    rows = [{"uid": "1", "label": "x"}, {"uid": "2", "lax": 2**70, "label": "x"}]
    with pytest.raises(
        SchemaError, match=r"example 2 \(uid '2'\): lax: must fit a col"
    ):
        load(Loose, rows, rows[0])
    rows = [{"uid": "1", "anything": object(), "label": "x"}]
    with pytest.raises(
        SchemaError, match=r"\(uid '1'\): anything: must be a value tha"
    ):
        load(Loose, rows, {"uid": "1"})
