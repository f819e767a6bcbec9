import json
import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field

import evalkit
from evalkit.examples.table import load_examples
from evalkit.plugins.components import Component
from evalkit.plugins.registry import bind
from evalkit.predictions.alignment import Alignment, align
from evalkit.predictions.problems import Problem
from evalkit.predictions.responses import ResponseReader
from evalkit.reading import json_lines, rows
from evalkit.reading import streams as byte_streams
from evalkit.reading.json_lines import read_json_blocks

LABELS = ("a", "b", "2020-01-01")
IDS = ["e0", "e1", "e2", "0", "1", "7", "007", "12345678901234567890", "2020-01-01"]


class Statement(BaseModel):
    uid: str


class Strict(BaseModel):
    model_config = ConfigDict(strict=True)

    id: str
    label: str
    prob: dict[str, Any] | None = None
    conf: Annotated[float, Field(ge=0, le=1)] | None = None
    words: list[str] | None = None
    kind: Literal["x", "y"] | None = None
    count: int | None = None
    sure: bool | None = None


class Lax(Strict):
    model_config = ConfigDict(strict=False)


class Closed(Strict):
    model_config = ConfigDict(extra="forbid")


class Task(evalkit.TaskIO):
    Input = Statement
    Output: type[BaseModel] = Strict
    answer_field = "label"
    perf_metric = "accuracy"
    scored_fields = ("prob", "conf", "words", "kind", "count", "sure")
    labels = LABELS
    example = {"uid": "1"}


class Labelled(Strict):
    label: evalkit.Label
    prob: evalkit.Probabilities | None = None


class Data(evalkit.Dataset):
    task = "any"

    def load(self, split: str) -> list[dict[str, str]]:
        return [{"uid": uid, "label": "a"} for uid in IDS]


def make_reader(**members: Any) -> ResponseReader:
    made = type("Made", (Task,), members)
    task = bind(Component("tasks", "any", "m:T", "d", "1"), made)
    dataset = bind(Component("datasets", "any", "m:D", "d", "1"), Data)
    reader = ResponseReader(task, dataset, load_examples(dataset, task, "test"))
    assert reader.plan is not None
    return reader


READERS = {
    "strict": make_reader(),
    "lax": make_reader(Output=Lax),
    "closed": make_reader(Output=Closed),
    "labels": make_reader(Output=Labelled),
}


class Outcome(NamedTuple):
    """All that a reader can be seen to do with a file."""

    statuses: list[str]
    predictions: list[Any]
    fields: dict[str, list[Any]]
    problems: list[Problem]
    counts: dict[str, int]
    undeclared: dict[str, int]


def _plain(value: Any) -> Any:
    """Give values of a type alike, whether they are stored as columns or as JSON."""
    if isinstance(value, str) and value[:1] in ("{", "["):
        value = json.loads(value)
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in sorted(value.items())}
    return value


def _outcome(found: Alignment) -> Outcome:
    return Outcome(
        found.statuses.to_list(),
        found.predictions.to_list(),
        {
            name: [_plain(value) for value in values.to_list()]
            for name, values in found.fields.items()
        },
        sorted(found.problems, key=lambda p: (p.line or 10**9, repr(p))),
        found.counts,
        dict(found.undeclared),
    )


def by_columns(path: Path, reader: ResponseReader) -> Outcome:
    ids = pl.Series(IDS)
    return _outcome(align(ids, read_json_blocks(path, reader.plan), reader, "first"))


def by_rows(path: Path, reader: ResponseReader) -> Outcome:
    return _outcome(
        align(pl.Series(IDS), read_json_blocks(path, None), reader, "first")
    )


def assert_same(path: Path, reader: ResponseReader) -> Outcome:
    expected = by_rows(path, reader)
    assert by_columns(path, reader) == expected
    return expected


class Sizes(NamedTuple):
    block_bytes: int
    few_lines: int
    sampled_lines: int

    def apply(self, patch: pytest.MonkeyPatch) -> None:
        patch.setattr(byte_streams, "BLOCK_BYTES", self.block_bytes)
        patch.setattr(json_lines, "FEW_LINES", self.few_lines)
        patch.setattr(json_lines, "_SAMPLED_LINES", self.sampled_lines)


SIZES = st.builds(
    Sizes,
    st.sampled_from([16, 200, 1000, 8 << 20]),
    st.sampled_from([1, 2, 4, 256]),
    st.sampled_from([1, 2, 5, 20]),
)

NUMBERS: list[Any] = [0, 1, 0.5, 1.5, -1, 0.0, -0.0, 1e-7, 2**53 + 1, 2**63, 10**25]
VALUES: list[Any] = [*NUMBERS, None, True, "", "x", "a", "1", "0.5", [], ["x"], {}]
VALUES += [[None], [1], {"a": 1}, [["x"]], {"a": None}, {"b": {"c": []}}, "\u2028\x85"]
PROBS: list[Any] = [
    {"a": 0.5, "b": 0.5, "2020-01-01": 0},
    {"b": 1, "a": 0, "2020-01-01": 0.0},
    {"a": 0.5, "b": 0.5},
    {"a": 0.5, "b": 0.5, "2020-01-01": 0, "c": 0.5},
    {"a": 0.5, "b": 0.5, "2020-01-01": 0, "c": None},
    {"a": 0.5, "b": None, "2020-01-01": 0},
    {"a": "0.5", "b": 0.5, "2020-01-01": 0},
    {"a": True, "b": 0.5, "2020-01-01": 0},
]
GOOD: dict[str, list[Any]] = {
    "label": [*LABELS],
    "prob": [*PROBS[:2], None],
    "conf": [0, 1, 0.25, 1e-300, None],
    "words": [[], ["x", ""], ["\0", "\u2028", "\U0001f600"], None],
    "kind": ["x", "y", None],
    "count": [0, -(2**63), 2**63 - 1, None],
    "sure": [True, False, None],
}
EXTRAS = ["note", "other", "deep", "error"]


@st.composite
def sound_rows(draw: st.DrawFn) -> dict[str, Any]:
    ids: list[Any] = [*IDS[:4], 0, 1, 7, 12345678901234567890]
    row: dict[str, Any] = {draw(st.sampled_from(["id", "id", "uid"])): None}
    row[next(iter(row))] = draw(st.sampled_from(ids))
    row["label"] = draw(st.sampled_from(GOOD["label"]))
    for name in draw(st.lists(st.sampled_from(sorted(GOOD)), max_size=4)):
        row[name] = draw(st.sampled_from(GOOD[name]))
    return row


@st.composite
def odd_rows(draw: st.DrawFn) -> dict[str, Any]:
    row = draw(sound_rows())
    names = [*GOOD, *EXTRAS, "id", "uid"]
    for name in draw(st.lists(st.sampled_from(names), max_size=3)):
        values = [*VALUES, *PROBS] if name == "prob" else VALUES
        row[name] = draw(st.sampled_from(values))
    for name in draw(st.lists(st.sampled_from(["label", "id"]), max_size=1)):
        if draw(st.integers(0, 3)) == 0:
            row.pop(name, None)
    return row


TOKENS = [
    *(b"{", b"}", b"[", b"]", b",", b":", b'"', b"\\", b" ", b"\t", b"\r", b"\0"),
    *(b"NaN", b"Inf", b"-Infinity", b"null", b"true", b"1e400", b"-0", b"00", b".5"),
    *(b"1.", b"+1", b"1e5", b"1E-2", b"\\u0069d", b"\\ud800", b"\\udc00", b"\\u0000"),
    *(b'"id"', b'"id": "e0", ', b'"label": "a", ', b'"note": 1, ', b"{}", b"}\n{"),
    *(b"\n", b"\xff", b"\xc3", b"\xef\xbb\xbf", b"\xe2\x80\xa8", b"\xed\xa0\x80", b"/"),
    *(b"//x", b"'", b"\\x", b"\\/", b"\x7f", b"\x1f", b"9" * 30, b'"error": "e", '),
]


@st.composite
def mutations(draw: st.DrawFn) -> bytes:
    line = json.dumps(draw(odd_rows()), ensure_ascii=draw(st.booleans())).encode()
    for _ in range(draw(st.sampled_from([1, 1, 1, 2]))):
        at = draw(st.integers(0, len(line)))
        to = draw(st.integers(at, min(len(line), at + 3)))
        line = line[:at] + draw(st.sampled_from([b"", *TOKENS])) + line[to:]
    return line


def to_line(row: dict[str, Any]) -> bytes:
    return json.dumps(row, ensure_ascii=False).encode()


LINES = st.one_of(
    sound_rows().map(to_line),
    sound_rows().map(to_line),
    sound_rows().map(to_line),
    odd_rows().map(to_line),
    mutations(),
    st.sampled_from([b"", b" \t", b"\r", b"{}", b"null", b"[]", b'"x"', b"{", b"\0"]),
)


@pytest.mark.parametrize("name", READERS)
@given(
    lines=st.lists(LINES, min_size=1, max_size=25),
    sizes=SIZES,
    end=st.sampled_from([b"\n", b"\n", b"\r\n"]),
)
@pytest.mark.slow
def test_columns_give_what_reading_line_by_line_gives(
    tmp_path_factory: pytest.TempPathFactory,
    name: str,
    lines: list[bytes],
    sizes: Sizes,
    end: bytes,
) -> None:
    path = tmp_path_factory.getbasetemp() / "lines.jsonl"
    path.write_bytes(end.join(lines))
    with pytest.MonkeyPatch.context() as patch:
        sizes.apply(patch)
        assert_same(path, READERS[name])


GOOD_LINE = b'{"id": "e0", "label": "a", "note": 1.5}'
LONG = b"9" * 5000
UNREADABLE = {
    "not UTF-8": b'{"id": "e1", "label": "a", "note": "\xff"}',
    "a surrogate in UTF-8": b'{"id": "e1", "label": "\xed\xa0\x80"}',
    "a lone high surrogate": b'{"id": "e1", "label": "a", "note": "\\ud800"}',
    "a lone low surrogate": b'{"id": "e1", "label": "\\udc00"}',
    "a lone surrogate in a key": b'{"id": "e1", "label": "a", "\\udc00": 1}',
    "swapped surrogates": b'{"id": "e1", "label": "\\ude00\\ud83d"}',
    "a key twice": b'{"id": "e1", "label": "a", "label": "a"}',
    "an undeclared key twice": b'{"id": "e1", "label": "a", "note": 1, "note": 1}',
    "a nested key twice": b'{"id": "e1", "label": "a", "note": {"x": 1, "x": 1}}',
    "a key of prob twice": b'{"id": "e1", "label": "a", "prob": {"a": 1, "a": 0}}',
    "an escaped key twice": b'{"id": "e1", "label": "a", "\\u0069d": "e1"}',
    "Inf": b'{"id": "e1", "label": "a", "note": Inf}',
    "-Inf": b'{"id": "e1", "label": "a", "note": -Inf}',
    "two objects": b'{"id": "e1", "label": "a"} {"id": "e1", "label": "a"}',
    "two objects together": b'{"id": "e1", "label": "a"}{"id": "e1", "label": "a"}',
    "a NUL after the object": b'{"id": "e1", "label": "a"}\0',
    "a NUL and an object": b'{"id": "e1", "label": "a"}\0{"x": 1}',
    "a NUL in a text": b'{"id": "e1", "label": "a\0"}',
    "an open string": b'{"id": "e1", "label": "a}',
    "a trailing comma": b'{"id": "e1", "label": "a",}',
    "a leading zero": b'{"id": 01, "label": "a"}',
    "a number that ends in a point": b'{"id": "e1", "label": "a", "conf": 1.}',
    "a comment": b'{"id": "e1", /* */ "label": "a"}',
    "single quotes": b"{'id': 'e1', 'label': 'a'}",
    "a mark within the file": b' \xef\xbb\xbf{"id": "e1", "label": "a"}',
    "a list": b'[{"id": "e1", "label": "a"}]',
    "deep lists": b'{"id": "e1", "label": "a", "note": ' + b"[" * 100_000 + b"}",
}


@pytest.mark.parametrize("line", UNREADABLE.values(), ids=UNREADABLE.keys())
@pytest.mark.parametrize("place", ["first", "last", "alone", "among many"])
def test_a_line_that_is_no_sound_json_is_unreadable_and_no_other_line_is(
    tmp_path: Path, line: bytes, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    around = {"first": (0, 1), "last": (1, 0), "alone": (0, 0), "among many": (40, 40)}
    before, after = around[place]
    if place == "among many":
        monkeypatch.setattr(json_lines, "FEW_LINES", 4)
    path = tmp_path / "p.jsonl"
    path.write_bytes(b"\n".join([GOOD_LINE] * before + [line] + [GOOD_LINE] * after))
    found = assert_same(path, READERS["strict"])
    assert found.counts["unreadable"] == 1
    assert [p.line for p in found.problems if p.status == "unreadable"] == [before + 1]
    assert found.counts["predictions"] == before + 1 + after


NOT_FINITE = {
    "NaN": b'{"id": "e1", "label": "a", "conf": NaN}',
    "an undeclared NaN": b'{"id": "e1", "label": "a", "note": NaN}',
    "Infinity": b'{"id": "e1", "label": "a", "conf": Infinity}',
    "nested NaN": b'{"id": "e1", "label": "a", "note": [[{"x": NaN}]]}',
    "1e400": b'{"id": "e1", "label": "a", "conf": 1e400}',
    "an undeclared 1e400": b'{"id": "e1", "label": "a", "note": 1e400}',
    "a nested 1e400": b'{"id": "e1", "label": "a", "note": {"x": [1e400]}}',
    "thousands of digits": b'{"id": "e1", "label": "a", "note": ' + LONG + b"}",
    "nested digits": b'{"id": "e1", "label": "a", "note": [' + LONG + b"]}",
}


@pytest.mark.parametrize("line", NOT_FINITE.values(), ids=NOT_FINITE.keys())
@pytest.mark.parametrize("count", [0, 40])
def test_a_number_that_is_not_finite_harms_only_the_field_that_refuses_it(
    tmp_path: Path, line: bytes, count: int
) -> None:
    path = tmp_path / "p.jsonl"
    path.write_bytes(b"\n".join([GOOD_LINE] * count + [line] + [GOOD_LINE] * count))
    found = assert_same(path, READERS["strict"])
    assert found.counts["unreadable"] == 0
    broken = [p.violations for p in found.problems if p.line == count + 1]
    fields = [each.field for violations in broken for each in violations]
    assert fields == (["conf"] if b"conf" in line else [])


ID_CASES: dict[str, tuple[list[str], list[str]]] = {
    "integers": (["0", "1", "7"], ["0", "1", "7"]),
    "integers and texts": (["0", '"e1"', "7"], ["0", "e1", "7"]),
    "beyond int64": (["0", "12345678901234567890"], ["0", "12345678901234567890"]),
    "minus zero": (["-0", "7"], ["0", "7"]),
    "zeros in front": (['"007"', '"7"'], ["007", "7"]),
    "a time as text": (['"2020-01-01"', '"e0"'], ["2020-01-01", "e0"]),
}


@pytest.mark.parametrize(("ids", "named"), ID_CASES.values(), ids=ID_CASES.keys())
@pytest.mark.parametrize("key", ["id", "uid", "\\u0069d"])
@pytest.mark.parametrize("extra", ["", ', "note": [{}]'])
def test_ids_are_texts_or_integers(
    tmp_path: Path, ids: list[str], named: list[str], key: str, extra: str
) -> None:
    path = tmp_path / "p.jsonl"
    lines = (f'{{"{key}": {uid}, "label": "a"{extra}}}\n' for uid in ids)
    path.write_text("".join(lines), encoding="utf-8")
    found = assert_same(path, READERS["strict"])
    scored = [i for i, s in zip(IDS, found.statuses, strict=True) if s == "scored"]
    assert sorted(scored) == sorted(named)
    assert found.counts["predictions"] == found.counts["scored"]


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Note the lines that are parsed in Python."""
    lines: list[int] = []
    original = rows.parse_json_line

    def parse(number: int, line: bytes) -> rows.Row:
        lines.append(number)
        return original(number, line)

    for module in ("json_lines", "rows"):
        monkeypatch.setattr(f"evalkit.reading.{module}.parse_json_line", parse)
    return lines


ORDINARY: dict[str, list[dict[str, Any]]] = {
    "texts": [{"id": "e0"}],
    "integer ids": [{"id": 7}],
    "uid": [{"uid": "e0"}],
    "nullable prob": [{"id": "e0", "prob": PROBS[0]}, {"id": "e1", "prob": None}],
    "whole prob": [{"id": "e0", "prob": PROBS[1]}],
    "an extra text": [{"id": "e0", "note": "x"}],
    "an extra number": [{"id": 1, "note": 1.5}, {"id": 0, "note": 2}],
    "an extra boolean": [{"id": "e0", "note": True}],
    "an extra time": [{"id": "e0", "note": "2020-01-01T00:00:00Z"}],
    "an extra list": [{"id": "e0", "note": ["x"]}],
    "an extra object": [{"id": "e0", "note": {"x": [{"y": 1}]}}],
    "an extra null": [{"id": "e0", "note": None}],
    "every field": [{"id": "e0", **{n: values[0] for n, values in GOOD.items()}}],
}


@pytest.mark.parametrize("given_rows", ORDINARY.values(), ids=ORDINARY.keys())
def test_ordinary_files_are_not_parsed_in_python(
    tmp_path: Path, given_rows: list[dict[str, Any]], parsed: list[int]
) -> None:
    path = tmp_path / "p.jsonl"
    lines = [to_line({"label": "a", **row}) for row in given_rows]
    path.write_bytes(b"\n".join(lines * 1000))
    found = by_columns(path, READERS["labels"])
    assert found.counts["duplicate"] + found.counts["scored"] == 1000 * len(lines)
    assert len(parsed) <= 2 * json_lines._SAMPLED_LINES


NESTED = """
import sys
from pathlib import Path
from pydantic import BaseModel
from evalkit.reading.schemas import plan_of
from evalkit.reading.json_lines import read_json_blocks

class Output(BaseModel):
    id: str
    label: str

for block in read_json_blocks(Path(sys.argv[1]), plan_of(Output)):
    for row in block.rows:
        print(row.line, row.values is None)
    print(*block.lines)
"""


@pytest.mark.parametrize("depth", [99, 500, 100_000])
@pytest.mark.parametrize("brackets", [(b"[", b"]"), (b'{"x":', b"}")])
@pytest.mark.slow
def test_deep_nesting_ends_no_process(
    tmp_path: Path, depth: int, brackets: tuple[bytes, bytes]
) -> None:
    opening, closing = brackets
    deep = opening * depth + b"1" + closing * depth
    path = tmp_path / "p.jsonl"
    path.write_bytes(
        b'{"id": "e0", "label": "a", "note": {}}\n'
        b'{"id": "e1", "label": "a", "note": ' + deep + b"}\n"
        b'{"id": "e2", "label": "a", "note": 1}\n'
    )
    done = subprocess.run(
        [sys.executable, "-c", NESTED, str(path)],
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert ("2 True" in done.stdout) == (depth > 500)
