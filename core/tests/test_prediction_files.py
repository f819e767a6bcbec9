from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.errors import DataError
from evalkit.prediction_files import (
    Row,
    holds_json_lines,
    parse_json_line,
    read_json_lines,
    read_objects,
    read_plain_lines,
    unwritable,
)

SEPARATORS = "\u2028\u2029\x85\x0b\x0c\x1c\x1d\x1e"
"""Characters that `str.splitlines` takes for the end of a line."""


def _read(folder: Path, content: bytes) -> list[Row]:
    path = folder / "p.jsonl"
    path.write_bytes(content)
    return list(read_json_lines(path))


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
    assert list(read_json_lines(path)) == [
        Row(1 + step * number, row) for number, row in enumerate(rows)
    ]


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        (b'{"a": "\xff"}', "must be UTF-8 (byte 8: invalid start byte)"),
        (b"\xed\xa0\x80", "must be UTF-8 (byte 1: invalid continuation byte)"),
        (b'{"a": ', "must be JSON (Expecting value: column 7)"),
        (b'{"a": 1} x', "must be JSON (Extra data: column 10)"),
        (b'{"a": "\x01"}', "must be JSON (Invalid control character at: column 8)"),
        (b"[1]", "must be a JSON object"),
        (b'"a"', "must be a JSON object"),
        (b"null", "must be a JSON object"),
        (b'{"a": 1, "a": 1}', "must be plain JSON (the key 'a' is given twice)"),
        (b'{"b": {"a": 1, "a": 2}}', "the key 'a' is given twice"),
        (b'{"a": NaN}', "must be plain JSON (NaN is not a JSON value)"),
        (b'{"a": [-Infinity]}', "must be plain JSON (-Infinity is not a JSON value)"),
        (b'{"a": 1e999}', "must be plain JSON ('1e999' is too large for a number)"),
        (b'{"a": -1e999}', "'-1e999' is too large for a number"),
        (b'{"a": "\\ud800"}', "surrogates not allowed"),
        (b'{"\\uDfff": 1}', "surrogates not allowed"),
    ],
)
def test_a_broken_line_says_what_must_hold_and_shows_the_line(
    line: bytes, rule: str
) -> None:
    row = parse_json_line(7, line)
    assert row.line == 7
    assert row.values is None
    assert row.problem is not None
    assert row.problem.field == "(line)"
    assert rule in row.problem.rule
    assert row.problem.value == line.decode(errors="backslashreplace")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"[" * 100_000, "recursion"),
        (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "recursion"),
        (b'{"a": ' + b"9" * 5000 + b"}", "integer string conversion"),
    ],
    ids=["lists", "objects", "digits"],
)
def test_a_line_that_is_too_much_for_python_is_refused_and_shown_in_part(
    line: bytes, reason: str
) -> None:
    problem = parse_json_line(1, line).problem
    assert problem is not None
    assert reason in problem.rule
    assert problem.value == line[:200].decode()


@pytest.mark.parametrize(
    ("line", "value"),
    [
        (b'"\\ud83d\\ude00"', "\U0001f600"),
        (b'"\\\\ud800"', "\\ud800"),
        (b'"\\u0000"', "\0"),
        (b"1e308", 1e308),
        (b"123456789012345678901234567890", 123456789012345678901234567890),
    ],
)
def test_unusual_but_sound_values_are_read(line: bytes, value: Any) -> None:
    assert parse_json_line(1, b'{"a": ' + line + b"}") == Row(1, {"a": value})


def test_a_huge_line_is_read_whole(tmp_path: Path) -> None:
    text = "x" * 5_000_000
    rows = _read(tmp_path, json.dumps({"a": text}).encode() + b"\n{}\n")
    assert rows == [Row(1, {"a": text}), Row(2, {})]


def test_one_broken_line_hides_no_other(tmp_path: Path) -> None:
    rows = _read(tmp_path, b'{"a": 1}\n{"a"\n\xff\n{"a": 2}\n')
    assert [row.values for row in rows] == [{"a": 1}, None, None, {"a": 2}]


class TestPythonObjects:
    def test_dicts_are_numbered_from_1(self) -> None:
        given = ({"id": "a"}, {})
        assert list(read_objects(iter(given))) == [Row(1, given[0]), Row(2, given[1])]

    @pytest.mark.parametrize("value", ["text", None, 1, [("id", "a")], b"{}"])
    def test_what_is_no_dict_is_refused(self, value: Any) -> None:
        (row,) = read_objects([value])
        assert row.values is None
        assert row.problem == ("(row)", "must be a dict", value)

    def test_keys_must_be_texts(self) -> None:
        problem = unwritable({"id": "a", 3: "b"})
        assert problem == ("(row)", "must have texts as keys", 3)

    @pytest.mark.parametrize(
        ("value", "reason"),
        [
            ("\ud800", "surrogates not allowed"),
            ({"\udfff": 1}, "surrogates not allowed"),
            (10**5000, "integer string conversion"),
            ({1: "a", "b": 2}, "not supported between"),
        ],
        ids=["value", "key", "digits", "keys"],
    )
    def test_what_no_json_line_holds_is_refused(self, value: Any, reason: str) -> None:
        row = {"id": "a", "label": value}
        problem = unwritable(row)
        assert problem is not None
        assert problem.field == "(row)"
        assert problem.rule.startswith("must be plain JSON (")
        assert reason in problem.rule
        assert problem.value is row

    def test_a_value_that_holds_itself_or_is_too_deep_is_refused(self) -> None:
        circle: list[Any] = []
        circle.append(circle)
        deep: list[Any] = []
        for _ in range(100_000):
            deep = [deep]
        rules = [
            problem.rule for problem in map(unwritable, [{"a": circle}]) if problem
        ]
        rules += [problem.rule for problem in map(unwritable, [{"a": deep}]) if problem]
        assert "Circular reference" in rules[0]
        assert "recursion" in rules[1]

    @pytest.mark.parametrize("value", [float("nan"), float("inf"), object(), b"a"])
    def test_whether_other_values_are_good_is_left_to_the_task(
        self, value: Any
    ) -> None:
        assert unwritable({"a": value}) is None


class TestPlainLines:
    @staticmethod
    def _read(folder: Path, content: bytes, ids: list[str]) -> list[Row]:
        path = folder / "p.txt"
        path.write_bytes(content)
        rows = read_plain_lines(path, ids, lambda uid, line: {"id": uid, "label": line})
        return list(rows)

    @pytest.mark.parametrize("content", [b"x\n\ny", b"x\r\n\r\ny\r\n"])
    def test_lines_are_matched_by_position_and_may_be_empty(
        self, tmp_path: Path, content: bytes
    ) -> None:
        rows = self._read(tmp_path, content, ["b", "a", "c"])
        assert [row.line for row in rows] == [1, 2, 3]
        assert [row.values for row in rows] == [
            {"id": "b", "label": "x"},
            {"id": "a", "label": ""},
            {"id": "c", "label": "y"},
        ]

    def test_only_newlines_end_a_line(self, tmp_path: Path) -> None:
        rows = self._read(tmp_path, f"a{SEPARATORS}b\r\n".encode(), ["1"])
        assert [row.values for row in rows] == [{"id": "1", "label": f"a{SEPARATORS}b"}]

    @pytest.mark.parametrize(("content", "lines"), [(b"", 0), (b"a\nb\nc\n", 3)])
    def test_another_number_of_lines_is_refused_with_both_numbers(
        self, tmp_path: Path, content: bytes, lines: int
    ) -> None:
        with pytest.raises(DataError) as caught:
            self._read(tmp_path, content, ["1", "2"])
        message = str(caught.value)
        assert str(tmp_path / "p.txt") in message
        assert f"the file has {lines} lines and the data set has 2 examples" in message

    def test_a_line_of_broken_bytes_is_unreadable_and_no_other(
        self, tmp_path: Path
    ) -> None:
        first, second = self._read(tmp_path, b"ok\na\xff\n", ["1", "2"])
        assert first.values == {"id": "1", "label": "ok"}
        assert second.values is None
        assert second.problem == ("(line)", "must be UTF-8 (byte 2)", "a\\xff")


class TestFormats:
    @pytest.mark.parametrize("name", ["p.jsonl", "p.JSON", "p.ndjson"])
    def test_a_suffix_of_json_lines_is_believed(
        self, tmp_path: Path, name: str
    ) -> None:
        (tmp_path / name).write_bytes(b"positive\n")
        assert holds_json_lines(tmp_path / name)

    @pytest.mark.parametrize(
        ("content", "expected"),
        [
            (b'\xef\xbb\xbf\n\n  {"id": 1}\n', True),
            (b"positive\n{}\n", False),
            (b"", False),
            (b"\n\n", False),
        ],
    )
    def test_other_files_are_told_by_their_first_character(
        self, tmp_path: Path, content: bytes, expected: bool
    ) -> None:
        (tmp_path / "p.txt").write_bytes(content)
        assert holds_json_lines(tmp_path / "p.txt") is expected

    @pytest.mark.parametrize("suffix", [".csv", ".gz", ".PARQUET", ".zst", ".xlsx"])
    def test_a_format_that_cannot_be_read_is_named(self, suffix: str) -> None:
        with pytest.raises(DataError) as caught:
            holds_json_lines(Path(f"p{suffix}"))
        assert f"p{suffix}: files of the format {suffix} cannot" in str(caught.value)

    def test_a_file_that_is_not_there_is_named(self, tmp_path: Path) -> None:
        path = tmp_path / "absent.jsonl"
        with pytest.raises(DataError) as caught:
            list(read_json_lines(path))
        assert str(caught.value) == f"{path}: there is no such file"

    def test_a_folder_cannot_be_read(self, tmp_path: Path) -> None:
        with pytest.raises(DataError, match="cannot be read") as caught:
            list(read_json_lines(tmp_path))
        assert str(tmp_path) in str(caught.value)
