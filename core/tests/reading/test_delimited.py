import csv
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.errors import DataError
from evalkit.reading import delimited as delimited_files
from evalkit.reading import streams as byte_streams
from evalkit.reading.files import read_rows
from evalkit.reading.formats import Format
from evalkit.reading.rows import Row

TEXTS = {"id", "uid", "label"}


def _read(path: Path, content: bytes, kind: Format = Format.CSV) -> list[Row]:
    path.write_bytes(content)
    return list(read_rows(path, kind, TEXTS))


def _values(path: Path, content: bytes, kind: Format = Format.CSV) -> list[Any]:
    return [row.values for row in _read(path, content, kind)]


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("last", [True, False])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize(
    ("kind", "delimiter"), [(Format.CSV, b","), (Format.TSV, b"\t")]
)
def test_rows_have_the_line_that_they_begin_in(
    tmp_path: Path, end: bytes, last: bool, mark: bytes, kind: Format, delimiter: bytes
) -> None:
    lines = [b"", b"id|label", b"", b"1|a", b'2|"x', b'"', b"3|c"]
    content = end.join(lines).replace(b"|", delimiter) + end * last
    found = _read(tmp_path / "p", mark + content, kind)
    assert [row.line for row in found] == [4, 5, 7]
    assert [row.values for row in found] == [
        {"id": "1", "label": "a"},
        {"id": "2", "label": f"x{end.decode()}"},
        {"id": "3", "label": "c"},
    ]


def test_an_empty_cell_is_no_value_and_a_quoted_one_the_empty_text(
    tmp_path: Path,
) -> None:
    content = b'id,label,note\n1,,\n2,"",\n"","",""\n3,"a"",""b",""\n'
    assert _values(tmp_path / "p", content) == [
        {"id": "1"},
        {"id": "2", "label": ""},
        {"id": "", "label": "", "note": ""},
        {"id": "3", "label": 'a","b', "note": ""},
    ]


@pytest.mark.parametrize(
    ("cell", "value"),
    [
        ("0.5", 0.5),
        ("7", 7),
        ("true", True),
        ("null", None),
        ('"{""a"": 0.5, ""b"": 1}"', {"a": 0.5, "b": 1}),
        ('"[""x""]"', ["x"]),
        ("x", "x"),
        ("007", "007"),
        ("-Infinity", -math.inf),
        ("1e400", math.inf),
        ('"{""a"": 1, ""a"": 2}"', '{"a": 1, "a": 2}'),
        (r'"""\ud800"""', r'"\ud800"'),
        ("[" * 100_000, "[" * 100_000),
        ("9" * 5000, math.inf),
        ("0,5", None),
    ],
)
def test_what_is_no_text_to_the_task_is_read_as_strict_json(
    tmp_path: Path, cell: str, value: Any
) -> None:
    (row,) = _read(tmp_path / "p", f"id,conf\n1,{cell}\n".encode())
    if cell == "0,5":
        assert row.problem is not None
        assert row.problem.rule == "must have 2 cells, as the header has; has 3"
    else:
        assert row.values == {"id": "1", "conf": value}


@pytest.mark.parametrize("cell", ["7", "007", "true", "null", "[1]", "1e5", " x "])
def test_ids_and_texts_are_taken_to_the_letter(tmp_path: Path, cell: str) -> None:
    content = f"id,label\n{cell},{cell}\n".encode()
    assert _values(tmp_path / "p", content) == [{"id": cell, "label": cell}]


@pytest.mark.parametrize(
    ("record", "rule"),
    [
        (b"1", "must have 2 cells, as the header has; has 1"),
        (b"1,a,b", "must have 2 cells, as the header has; has 3"),
        (b"1,\xff", "must be UTF-8"),
        (b'1,"a"b', "must be well-formed ("),
        (b"1,a\rb", "must be well-formed ("),
    ],
)
def test_a_broken_record_hides_no_other(
    tmp_path: Path, record: bytes, rule: str
) -> None:
    content = b"id,label\n0,a\n" + record + b"\n2,b\n"
    first, broken, last = _read(tmp_path / "p", content)
    assert (first.values, last.values) == (
        {"id": "0", "label": "a"},
        {"id": "2", "label": "b"},
    )
    assert (broken.line, broken.values) == (3, None)
    assert broken.problem is not None
    assert broken.problem.field == "(line)"
    assert broken.problem.rule.startswith(rule)
    assert broken.problem.value == record.decode(errors="backslashreplace")


def test_an_open_quote_is_one_broken_row_that_begins_where_the_quote_is(
    tmp_path: Path,
) -> None:
    content = b'id,label\n0,a\n1,"b\n' + b"2,c\n" * 100
    _, broken = _read(tmp_path / "p", content)
    assert broken.line == 3
    assert broken.problem is not None
    assert broken.problem.rule == "must close every quote"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "file is empty, expected a header row"),
        (b"\n\n", "file is empty, expected a header row"),
        (b"id,label,id\n", "its header names the column 'id' twice"),
        (b"id,\xff\n", "its header must be text in UTF-8"),
        (b"id,\0\x01\x02\n", "its header must be text in UTF-8"),
        (b'id,"label\n', "its header must close every quote"),
    ],
)
def test_a_file_without_a_sound_header_is_refused(
    tmp_path: Path, content: bytes, message: str
) -> None:
    path = tmp_path / "p.csv"
    with pytest.raises(DataError) as caught:
        _read(path, content)
    assert str(caught.value).startswith(f"{path}: {message}")


def test_a_line_beyond_the_limit_is_refused_with_its_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(byte_streams, "BLOCK_BYTES", 64)
    monkeypatch.setattr(byte_streams, "MOST_LINE_BYTES", 500)
    path = tmp_path / "p.csv"
    with pytest.raises(DataError, match=r"p\.csv, line 3: must be shorter than"):
        _read(path, b"id,label\n0,a\n1," + b"x" * 2000 + b"\n2,c\n")


def test_a_cell_beyond_the_limit_is_a_broken_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = csv.field_size_limit(1000)
    monkeypatch.setattr(delimited_files, "MOST_LINE_BYTES", 1000)
    content = b'id,label\n0,"' + b"x\n" * 600 + b"\n2,c\n"
    try:
        found = _read(tmp_path / "p.csv", content)
    finally:
        csv.field_size_limit(before)
    assert found[0].line == 2
    assert found[0].problem is not None
    assert found[0].problem.rule.startswith("must have cells shorter than")


CELLS = st.text(
    st.sampled_from("ab\"',;\t \u2028\x85\n\r{}[]017ü\0"), min_size=1, max_size=8
)


@pytest.mark.parametrize("kind", [Format.CSV, Format.TSV])
@given(
    cells=st.lists(st.lists(CELLS | st.just(""), min_size=2, max_size=2), max_size=8),
    block_bytes=st.integers(3, 30),
)
def test_what_pythons_writer_quotes_is_read_back(
    tmp_path_factory: pytest.TempPathFactory,
    kind: Format,
    cells: list[list[str]],
    block_bytes: int,
) -> None:
    path = tmp_path_factory.getbasetemp() / "p.csv"
    with path.open("w", encoding="utf-8", newline="") as stream:
        delimiter = "," if kind is Format.CSV else "\t"
        writer = csv.writer(stream, delimiter=delimiter, quoting=csv.QUOTE_ALL)
        writer.writerow(["id", "label"])
        writer.writerows(cells)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(byte_streams, "BLOCK_BYTES", block_bytes)
        found = list(read_rows(path, kind, TEXTS))
    assert [row.values for row in found] == [
        {"id": uid, "label": label} for uid, label in cells
    ]
    line = 2
    for row, pair in zip(found, cells, strict=True):
        assert row.line == line
        line += 1 + "".join(pair).count("\n")
