from typing import Any

import pytest

from evalkit.reading.rows import Row, object_row, parse_json_line, unwritable


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
        (b'{"a": Inf}', "must be JSON (Expecting value: column 7)"),
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
    ],
    ids=["lists", "objects"],
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


class TestPythonObjects:
    @pytest.mark.parametrize("value", ["text", None, 1, [("id", "a")], b"{}"])
    def test_what_is_no_dict_is_refused(self, value: Any) -> None:
        row = object_row(1, value)
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

    def test_methods_of_a_row_that_fail_are_what_is_wrong_with_it(self) -> None:
        class Silent:
            def __repr__(self) -> str:
                raise RuntimeError("no words")

        class Closed(dict[str, int]):
            def __iter__(self) -> Any:
                raise RuntimeError("no keys")

        problems = [unwritable({"a": Silent()}), unwritable(Closed(a=1))]
        rules = ["must be plain JSON (no words)", "must be plain JSON (no keys)"]
        assert [problem and problem.rule for problem in problems] == rules
