"""JSON arrays of objects."""

import gzip
import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import evalkit
from evalkit.errors import AlignmentError, DataError
from evalkit.reading import json_arrays
from evalkit.reading.formats import Format, detect_format
from evalkit.reading.json_arrays import read_json_array


def read(path: Path, content: bytes | str) -> list[Any]:
    data = content.encode() if isinstance(content, str) else content
    path.write_bytes(data)
    return [
        (row.line, row.values, row.problem.rule if row.problem else None)
        for row in read_json_array(path)
    ]


@pytest.mark.parametrize("content", ["[]", " [ \n ] ", "\ufeff[]"])
def test_no_element(tmp_path: Path, content: str) -> None:
    assert read(tmp_path / "a.json", content) == []


def test_each_has_its_number(tmp_path: Path) -> None:
    content = '[{"a": "é\\ud83d\\ude00"}\n,\n {"b": [1, {}]}]\n'
    found = read(tmp_path / "a.json", content)
    assert found == [(1, {"a": "é😀"}, None), (2, {"b": [1, {}]}, None)]


def test_those_that_are_no_objects_are_told(tmp_path: Path) -> None:
    found = read(tmp_path / "a.json", '[12345,{"c":[Infinity,-1e999]}]')
    assert found[0] == (1, None, "must be a JSON object")
    assert found[1] == (2, {"c": [math.inf, -math.inf]}, None)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ('[{"a":1}\n{"b":1}]', "invalid JSON: Expecting ',' delimiter: line 2"),
        ('[{"a":1}] x', "invalid JSON: Extra data: line 1"),
        ('[{"a":1,"a":2}]', "the key 'a' is given twice"),
        ('[{"d":"\\ud800"}]', "surrogates not allowed"),
        ('{"a":1}', "expected a JSON array of objects"),
        (b'[{"a":"\xe9"}]', "must be UTF-8 (found the byte 0xe9); it was probably"),
        ("[" * 100_000, "invalid JSON: maximum recursion"),
    ],
)
def test_what_is_broken_ends_the_file(
    tmp_path: Path, content: bytes | str, problem: str
) -> None:
    with pytest.raises(DataError) as caught:
        read(tmp_path / "a.json", content)
    assert problem in str(caught.value)


def test_an_array_beyond_the_limit_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_arrays, "MOST_BYTES", 1 << 20)
    with pytest.raises(DataError, match="must have at most 1 MiB"):
        read(tmp_path / "a.json", '[{"a": "' + "x" * (3 << 20) + '"}]')


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.text(max_size=2), inner, max_size=2)
    ),
    max_leaves=4,
)


@given(st.lists(st.dictionaries(st.text(max_size=2), JSON, max_size=3), max_size=4))
def test_rows_are_those_that_json_reads(
    tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, Any]]
) -> None:
    path = tmp_path_factory.getbasetemp() / "some.json"
    for indent in (None, 2):
        found = read(path, json.dumps(rows, indent=indent))
        assert found == [(n, row, None) for n, row in enumerate(rows, start=1)]


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("a.json", b'[\n {"a": 1}]', Format.JSON_ARRAY),
        ("a.jsonl", b"[]", Format.JSON_ARRAY),
        ("a", b'\xef\xbb\xbf[{"a": 1}]', Format.JSON_ARRAY),
        ("a.txt", b'[{"a": 1}]', Format.PLAIN),
        ("a.json", b"[1, 2]", Format.JSON_LINES),
        ("a.json.gz", gzip.compress(b'[{"a": 1}]', mtime=0), Format.JSON_ARRAY),
    ],
)
def test_arrays_are_known(
    tmp_path: Path, name: str, content: bytes, kind: Format
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    assert detect_format(path) is kind


ROWS = [
    {"uid": n, "statement": f"s{n}", "label": "positive" if n % 2 else "negative"}
    for n in range(4)
]


def test_data_and_predictions_are_read(tmp_path: Path) -> None:
    data, said = tmp_path / "data.json", tmp_path / "said.json"
    data.write_text(json.dumps(ROWS))
    answers = [{"id": row["uid"], "label": row["label"]} for row in ROWS]
    said.write_text(json.dumps(answers, indent=1))
    result = evalkit.evaluate(data, said, task="sentiment")
    assert result["accuracy"].value == 1
    said.write_text(json.dumps([*answers[:3], {"id": 3, "label": "odd"}]))
    with pytest.raises(AlignmentError, match="invalid: element 4, id '3': label: must"):
        evalkit.evaluate(data, said, task="sentiment")
    assert evalkit.validate(data, said, task="sentiment").place == "element"
    data.write_text(json.dumps([*ROWS, 3]))
    with pytest.raises(DataError, match=r"element 5: \(line\): must be a JSON"):
        evalkit.evaluate(data, said, task="sentiment")
