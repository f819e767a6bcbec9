"""JSON lines of examples, at column speed and row by row."""

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from pydantic import BaseModel

import evalkit
from evalkit.errors import EvalkitError
from evalkit.examples import loading as example_rows
from evalkit.examples.table import Examples, load_examples
from evalkit.plugins.bound import Bound
from evalkit.plugins.components import Component
from evalkit.plugins.registry import bind
from evalkit.reading import json_tables
from evalkit.reading import streams as byte_streams
from evalkit.reading.json_tables import read_json_table


class Statement(BaseModel):
    uid: str
    text: str
    weight: float = 1.0
    hint: str | None = None
    words: list[str] = []


class Label(BaseModel):
    id: str
    label: str


class LabelTask(evalkit.TaskIO):
    Input = Statement
    Output = Label
    answer_field = "label"
    perf_metric = "accuracy"
    example = {"uid": "1", "text": "x"}


def by_method(self: Any, example: Mapping[str, Any]) -> Mapping[str, Any]:
    return {
        "id": example["uid"],
        "answer": example.get("label", "no label"),
        "tags": [f"{key}:{type(value).__name__}" for key, value in example.items()],
    }


CONVERTERS: Mapping[str, Mapping[str, Any]] = {
    "default": {},
    "method": {"label_field_converter": by_method},
    "declared": {"label_field_converter": {"answer": "text", "tags": {"n": "n"}}},
    "expression": {
        "label_field_converter": {
            "answer": pl.col("text").str.to_uppercase(),
            "tags": {"text": pl.col("text"), "label": "label"},
        }
    },
    "labels": {"labels": {"0": "none", "1": "one", "7": "many", "a": "b"}},
    "cluster": {"cluster": ["text", "n"]},
}


def dataset(path: Path, **attributes: Any) -> Bound:
    def load(self: Any, split: str) -> Path:
        return path

    members = {"task": "label", "load": load, **attributes}
    component = Component("datasets", "lines", "m:D", "lines-dist", "1.0")
    return bind(component, type("Lines", (evalkit.Dataset,), members))


def load(path: Path, *columns: str, lean: bool = False, **attributes: Any) -> Examples:
    task = bind(Component("tasks", "label", "m:T", "label-dist", "2.0"), LabelTask)
    wanted = columns if lean else None
    return load_examples(dataset(path, **attributes), task, "test", wanted)


def outcome(path: Path, *columns: str, **attributes: Any) -> Examples | str:
    try:
        return load(path, *columns, **attributes)
    except EvalkitError as error:
        return f"{type(error).__name__}: {error}"


def both(path: Path, **attributes: Any) -> tuple[Examples | str, Examples | str]:
    """Load a file at column speed where that is possible, and row by row."""
    by_column = outcome(path, **attributes)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(example_rows, "read_json_table", lambda *_: None)
        by_row = outcome(path, **attributes)
    assert_lean(path, by_row, **attributes)
    return by_column, by_row


def assert_lean(path: Path, whole: Examples | str, **attributes: Any) -> None:
    """Check that what is not kept makes no difference to what is."""
    for columns in ((), ("n", "text"), ("absent", "hint")):
        lean = outcome(path, *columns, lean=True, **attributes)
        if isinstance(lean, str) or isinstance(whole, str):
            assert lean == whole
            continue
        assert_frame_equal(lean.frame, whole.frame)
        present = [name for name in whole.inputs.columns if name in {"uid", *columns}]
        assert {*lean.inputs.columns} == {*present}
        assert_frame_equal(lean.inputs.select(present), whole.inputs.select(present))
        assert lean.nested.keys() == whole.nested.keys() & {*present}
        inputs = {"inputs": whole.inputs, "nested": whole.nested}
        assert lean._replace(frame=whole.frame, **inputs) == whole


def assert_same(by_column: Examples | str, by_row: Examples | str) -> None:
    if isinstance(by_row, str) or isinstance(by_column, str):
        assert by_column == by_row
        return
    assert_frame_equal(by_column.frame, by_row.frame)
    assert_frame_equal(by_column.inputs, by_row.inputs)
    assert by_column._replace(frame=by_row.frame, inputs=by_row.inputs) == by_row


@pytest.fixture(params=[1, 1 << 20], ids=["many blocks", "one block"])
def _blocks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(byte_streams, "BLOCK_BYTES", request.param)
    monkeypatch.setattr(json_tables, "_SAMPLED_LINES", 2)


def write(folder: Path, *lines: Any) -> Path:
    path = folder / "lines.jsonl"
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    path.write_text("\n".join(texts) + "\n", encoding="utf-8")
    return path


def row(uid: Any, **more: Any) -> dict[str, Any]:
    return {"uid": uid, "text": f"text {uid}", "label": "a", **more}


ROW_BY_ROW: Mapping[str, list[Any]] = {
    "int then text": [1, 2, 3, "x"],
    "text then int": ["x", "y", "z", 1],
    "bool then int": [True, False, True, 1],
    "text then list": ["x", "y", "z", ["x"]],
    "list of null": [["x"], ["x"], ["x"], ["x", None]],
    "list of numbers": [["x"], ["x"], ["x"], [1]],
    "list of lists": [["x"], ["x"], ["x"], [["x"]]],
    "object": [None, None, None, {"a": 1}],
    "beyond 64 bits": [1, 2, 3, 2**63],
}


@pytest.mark.usefixtures("_blocks")
@pytest.mark.parametrize("case", ROW_BY_ROW)
def test_values_that_no_column_holds_are_read_row_by_row(
    tmp_path: Path, case: str
) -> None:
    values = ROW_BY_ROW[case]
    path = write(tmp_path, *(row(n, n=value) for n, value in enumerate(values)))
    assert read_json_table(path) is None
    found = load(path)
    assert found.nested == {"n": values}
    assert found.inputs["n"].dtype == pl.String


@pytest.mark.usefixtures("_blocks")
def test_new_keys_may_come_later(tmp_path: Path) -> None:
    lines = [row(1), row(2), row(3, late="x"), row(4, later=[]), row(5)]
    path = write(tmp_path, *lines)
    table = read_json_table(path)
    assert table is not None
    assert table[0].columns == ["uid", "text", "label", "late", "later"]
    assert table[0]["late"].to_list() == [None, None, "x", None, None]
    assert table[0]["later"].to_list() == [None, None, None, [], None]
    assert_same(*both(path))


@pytest.mark.usefixtures("_blocks")
@pytest.mark.parametrize(
    "broken",
    [
        '{"uid": "9", "text": "x", "label": "a", "label": "b"}',
        '{"uid": "9", "text": "\\ud800", "label": "a"}',
        '{"uid": "9", "text": "x", "label": "a"',
        '{"uid": "9"} {"uid": "10"}',
        '["uid"]',
        "9",
        "\x00",
    ],
)
def test_a_broken_line_is_named_and_refuses_the_file(
    tmp_path: Path, broken: str
) -> None:
    path = write(tmp_path, row(1), "", row(2), broken, row(3))
    assert read_json_table(path) is None
    by_column, by_row = both(path)
    assert isinstance(by_column, str)
    assert (
        f"SchemaError: datasets/lines (lines-dist 1.0): {path}: line 4: " in by_column
    )
    assert by_column == by_row


@pytest.mark.usefixtures("_blocks")
def test_lines_are_counted_as_in_the_file(tmp_path: Path) -> None:
    path = write(tmp_path, "", row(1), "  ", row(2), "\t", row(3, text=None), "")
    table = read_json_table(path)
    assert table is not None
    assert table[1].tolist() == [2, 4, 6]
    by_column, by_row = both(path)
    assert by_column == by_row
    assert "line 6 (uid '3'): text: must be a valid string" in str(by_column)


@pytest.mark.usefixtures("_blocks")
def test_rows_without_any_key_are_not_lost(tmp_path: Path) -> None:
    path = write(tmp_path, "{}", "{}", "{}", row(1))
    by_column, by_row = both(path)
    assert by_column == by_row
    assert "line 1: uid: is required; line 2: uid: is required" in str(by_column)


TEXTS = st.text(st.sampled_from('ab "\\{}[],:\n\u2028é\U0001f600NaInf'), max_size=6)
VALUES = (
    st.none()
    | TEXTS
    | st.booleans()
    | st.integers(-3, 3)
    | st.sampled_from([0.5, -0.0, 1e300, 2**53 + 1, 2**63, 10**309])
    | st.lists(TEXTS | st.none(), max_size=2)
    | st.lists(st.integers(), max_size=1)
    | st.dictionaries(st.sampled_from("ab"), st.integers(), max_size=1)
)
KINDS: list[st.SearchStrategy[Any]] = [
    TEXTS,
    st.integers(-3, 3),
    st.integers(-3, 3) | st.sampled_from([0.5, 2.0]),
    st.booleans(),
    st.lists(TEXTS, max_size=3),
    VALUES,
]
BROKEN = st.sampled_from(["", " ", "{", '{"uid": Inf}', '{"uid": 1, "uid": 2}', "[]"])


@st.composite
def files(draw: st.DrawFn) -> str:
    kinds = {
        key: draw(st.sampled_from(KINDS)) | st.none() if draw(st.booleans()) else kind
        for key, kind in {
            "n": draw(st.sampled_from(KINDS)),
            "weight": st.integers(0, 2) | st.just(0.5),
            "hint": TEXTS,
            "words": st.lists(TEXTS, max_size=2),
            "tags": st.lists(TEXTS.filter(bool), max_size=3),
            "label": st.sampled_from("ab") | st.sampled_from([0, 1, 7]),
        }.items()
    }
    lines = []
    for number in range(draw(st.integers(1, 6))):
        values: dict[str, Any] = {"text": draw(TEXTS), "label": "a"}
        id_key = draw(st.sampled_from(["uid", "uid", "uid", "id"]))
        values[id_key] = draw(
            st.sampled_from([number, number, str(number), f"x{number}", 0, 1.0, None])
            if draw(st.integers(0, 3)) == 0
            else st.just(number)
        )
        for key, kind in kinds.items():
            if draw(st.integers(0, 3)):
                values[key] = draw(kind)
        ascii_only = draw(st.booleans())
        lines.append(json.dumps(values, ensure_ascii=ascii_only))
        if draw(st.integers(0, 7)) == 0:
            lines.append(draw(BROKEN))
    return "\n".join(lines) + draw(st.sampled_from(["", "\n", "\r\n"]))


@given(files(), st.sampled_from(list(CONVERTERS)), st.integers(1, 400))
@example('{"uid": 1, "text": "x", "label": 1}', "labels", 1)
@example(
    '{"id": 0, "text": "", "label": "a", "tags": 0}\n'
    '{"id": 1, "text": "", "label": "a", "tags": 0.5}\n',
    "default",
    1,
)
@pytest.mark.slow
def test_a_file_loads_the_same_at_column_speed_and_row_by_row(
    text: str, converter: str, block_bytes: int
) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(byte_streams, "BLOCK_BYTES", block_bytes)
        patch.setattr(json_tables, "_SAMPLED_LINES", 1)
        path = Path(folder) / "lines.jsonl"
        path.write_bytes(text.encode())
        assert_same(*both(path, **CONVERTERS[converter]))


@given(
    st.lists(
        st.fixed_dictionaries(
            {"text": TEXTS, "label": st.sampled_from("ab")},
            optional={
                "weight": st.integers(0, 9) | st.floats(0, 1),
                "hint": TEXTS | st.none(),
                "words": st.lists(TEXTS, max_size=2),
                "tags": st.lists(TEXTS.filter(bool), max_size=3),
            },
        ),
        min_size=1,
        max_size=8,
    ),
    st.integers(1, 400),
)
@pytest.mark.slow
def test_ordinary_files_are_read_at_column_speed(
    rows: list[dict[str, Any]], block_bytes: int
) -> None:
    given = [{"uid": n, **values} for n, values in enumerate(rows)]
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(byte_streams, "BLOCK_BYTES", block_bytes)
        patch.setattr(json_tables, "_SAMPLED_LINES", 1)
        path = write(Path(folder), *given)
        table = read_json_table(path)
        assert table is not None
        assert table.passes.all()
        found = [
            {key: value for key, value in each.items() if value is not None}
            for each in table[0].to_dicts()
        ]
        assert found == [
            {key: value for key, value in each.items() if value is not None}
            for each in given
        ]
        assert load(path).frame["id"].to_list() == [str(n) for n in range(len(rows))]
