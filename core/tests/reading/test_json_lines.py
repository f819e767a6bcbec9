from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.errors import DataError
from evalkit.reading.json_lines import JsonLines, read_json_rows, read_table
from evalkit.reading.rows import Row
from evalkit.reading.streams import LineBlock

SEPARATORS = "\u2028\u2029\x85\x0b\x0c\x1c\x1d\x1e"
"""Characters that `str.splitlines` takes for the end of a line."""


def _read(folder: Path, content: bytes) -> list[Row]:
    path = folder / "p.jsonl"
    path.write_bytes(content)
    return list(read_json_rows(path))


@pytest.mark.parametrize(
    "content",
    [
        b'{"a": 1}\n{"a": 2}\n',
        b'{"a": 1}\n{"a": 2}',
        b'{"a": 1}\r\n{"a": 2}\r\n',
        b'\xef\xbb\xbf{"a": 1}\n{"a": 2}\n',
        b' {"a": 1} \t\n  {"a": 2}\n',
    ],
)
def test_line_ends_marks_and_blanks_around_make_no_difference(
    tmp_path: Path, content: bytes
) -> None:
    assert _read(tmp_path, content) == [Row(1, {"a": 1}), Row(2, {"a": 2})]


def test_blank_lines_are_skipped_but_counted(tmp_path: Path) -> None:
    rows = _read(tmp_path, b'\n \t\r\n{"a": 1}\n\n\n{"a": 2}\n\n')
    assert [row.line for row in rows] == [3, 6]


@pytest.mark.parametrize("content", [b"", b"\n", b"\xef\xbb\xbf", b"\r\n \n"])
def test_a_file_without_rows_gives_none(tmp_path: Path, content: bytes) -> None:
    assert _read(tmp_path, content) == []


def test_characters_that_only_look_like_line_ends_stay_in_texts(
    tmp_path: Path,
) -> None:
    # JSON allows the first three as they are
    text = json.dumps({"a": SEPARATORS[:3]}, ensure_ascii=False)
    (row,) = _read(tmp_path, text.encode())
    assert row.values == {"a": SEPARATORS[:3]}


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(
    st.lists(st.dictionaries(st.text(), JSON), max_size=5),
    st.booleans(),
    st.sampled_from([b"\n", b"\r\n", b"\n\n", b"\n  \n"]),
)
@pytest.mark.slow
def test_what_json_writes_is_read_back(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[dict[str, Any]],
    ascii_only: bool,
    end: bytes,
) -> None:
    lines = [json.dumps(row, ensure_ascii=ascii_only).encode() for row in rows]
    path = tmp_path_factory.getbasetemp() / "round-trip.jsonl"
    path.write_bytes(end.join(lines))
    step = end.count(b"\n")
    assert list(read_json_rows(path)) == [
        Row(1 + step * number, row) for number, row in enumerate(rows)
    ]


def test_a_huge_line_is_read_whole(tmp_path: Path) -> None:
    text = "x" * 5_000_000
    rows = _read(tmp_path, json.dumps({"a": text}).encode() + b"\n{}\n")
    assert rows == [Row(1, {"a": text}), Row(2, {})]


def test_one_broken_line_hides_no_other(tmp_path: Path) -> None:
    rows = _read(tmp_path, b'{"a": 1}\n{"a"\n\xff\n{"a": 2}\n')
    assert [row.values for row in rows] == [{"a": 1}, None, None, {"a": 2}]


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    path = tmp_path / "absent.jsonl"
    with pytest.raises(DataError) as caught:
        list(read_json_rows(path))
    assert str(caught.value) == f"{path}: there is no such file"


def test_a_folder_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        list(read_json_rows(tmp_path))
    assert str(caught.value) == f"{tmp_path}: is a folder, not a file"


def test_types_are_guessed_for_few_keys_only() -> None:
    few = b"\n".join(b'{"id":"%d","x":{"k%d":1}}' % (n, n % 62) for n in range(500))
    many = b"\n".join(b'{"id":"%d","x":{"k%d":1}}' % (n, n) for n in range(500))
    schema = pa.schema([("id", pa.string())])
    for data, is_read in ((few, True), (many, False)):
        lines = JsonLines.of(LineBlock(1, data))
        table = read_table(lines, schema, guesses_others=True)
        assert (table is not None) is is_read
