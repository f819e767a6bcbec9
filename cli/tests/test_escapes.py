import contextlib
import csv
import io
import json
import re
import unicodedata
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit_cli.printing.escapes import (
    by_code_points,
    for_csv,
    for_json,
    for_latex,
    for_markdown,
    for_terminal,
)
from evalkit_cli.printing.streams import echo_csv
from evalkit_cli.printing.tables import draw

SPECIAL = "\\|`*_~[](){}<>&#+-=@!$%^\"' \t\r\n\x00\x1b\x7f\x9b\u2028\u202e\u200d\ufeff–"
SPECIAL += "≤"

TEXTS = st.text(
    st.one_of(st.sampled_from(SPECIAL), st.characters(codec=None)), max_size=12
)

TABLES = st.integers(1, 4).flatmap(
    lambda width: st.lists(
        st.lists(TEXTS, min_size=width, max_size=width), min_size=2, max_size=4
    )
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x07", "\\x1b[31mred\\x07"),
        ("\x9b31m\x7f", "\\x9b31m\\x7f"),
        ("a\nb\tc\rd", "a\\nb\\tc\\rd"),
        ("\u202eabc\u2066", "\\u202eabc\\u2066"),
        ("a\u200bb\ufeff\u00ad\u2028", "a\\u200bb\\ufeff\\xad\\u2028"),
        ("\U000e0041", "\\U000e0041"),
        ("\ud800", "\\ud800"),
        ("a\u200db", "a\\u200db"),
        ("\u200d\u200d", "\\u200d\\u200d"),
        ("\u3164\u2800", "\\u3164\\u2800"),
    ],
)
def test_what_cannot_be_seen_is_shown(text: str, shown: str) -> None:
    assert for_terminal(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "plain \\x1b text",
        "Grüße, naïve café e\u0301",
        "日本語\u3000の文 10\u202f000",
        "👩\u200d👩\u200d👧 👍🏽 ❤\ufe0f 1\ufe0f\u20e3",
        "مرحبا שלום \u0600",
        "می\u200cخواهم",
        "क्\u200dष",
    ],
)
def test_ordinary_texts_stay_as_they_are(text: str) -> None:
    assert for_terminal(text) == text
    assert for_terminal(text, several_lines=True) == text
    assert for_json(text) == text


@given(TEXTS)
def test_nothing_that_steers_a_terminal_is_left(text: str) -> None:
    for shown, kept in (
        (for_terminal(text), ""),
        (for_terminal(text, several_lines=True), "\n"),
        (for_markdown(text), ""),
        (for_latex(text), ""),
        (str(for_csv(text)), "\n"),
        (for_json(json.dumps(text, ensure_ascii=False)), ""),
        (by_code_points(text), ""),
    ):
        unseen = {unicodedata.category(mark) for mark in set(shown) - set(kept)}
        assert not unseen & {"Cc", "Cs", "Zl", "Zp"}
        assert not re.search("[\u202a-\u202e\u2066-\u2069\u200b\u200e\u200f]", shown)
        shown.encode()


@given(st.recursive(TEXTS | st.none() | st.integers(), st.lists, max_leaves=6))
def test_json_has_the_same_values(value: object) -> None:
    for indent in (None, 2):
        written = json.dumps(value, ensure_ascii=False, indent=indent)
        assert json.loads(for_json(written)) == value


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("a|b", r"a\|b"),
        (r"a\|b", r"a\\\|b"),
        ("`rm`", r"\`rm\`"),
        ("<script>", "&lt;script>"),
        ("&lt;", "&amp;lt;"),
        ("R&D < 3", "R&D < 3"),
        ("**bold** _x_ snake_case ~~y~~", r"\*\*bold\** \_x_ snake_case \~\~y\~~"),
        ("[here](http://x)", r"[here]\(http://x)"),
        ("![x](y)", r"\![x]\(y)"),
        ("# title", r"\# title"),
        ("- item", r"\- item"),
        ("[57.6, 73.4]", "[57.6, 73.4]"),
        ("-0.4", "-0.4"),
        ("72.3 %*", "72.3 %*"),
        ("a\nb", r"a\\nb"),
    ],
)
def test_markdown_is_shown_as_it_is_written(text: str, written: str) -> None:
    assert for_markdown(text) == written


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("=1+1", "'=1+1"),
        ("+cmd|x", "'+cmd|x"),
        ("-2+3", "'-2+3"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("\t=1", "'\\t=1"),
        ("\r=1", "'\\r=1"),
        ("\n=1", "'\n=1"),
        ("-2.5", "-2.5"),
        ("+3", "+3"),
        ("-1e-5", "-1e-5"),
        ("-", "'-"),
        ("a=1", "a=1"),
        ("\x1b[2J", "\\x1b[2J"),
        (-2.5, -2.5),
        (-3, -3),
        (float("-inf"), float("-inf")),
        (None, None),
        (True, True),
    ],
)
def test_csv_texts_are_no_formulas_and_numbers_stay(
    value: object, written: object
) -> None:
    assert for_csv(value) == written
    assert type(for_csv(value)) is type(value)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("[1ex]", "{[}1ex]"),
        ("*", "{*}"),
        (" [1ex]", " {[}1ex]"),
        (r"\input{x}", r"\textbackslash{}input\{x\}"),
        ("a & b", r"a \& b"),
        ("--", "-{}-"),
        ("–", "--"),
        ("p < .05", r"p \textless{} .05"),
        ("≤ .05", r"$\leq$ .05"),
    ],
)
def test_latex_takes_no_part_of_a_cell_for_a_command(text: str, written: str) -> None:
    assert for_latex(text, starts_row=True) == written


@given(TABLES)
def test_a_markdown_table_keeps_its_cells(rows: list[list[str]]) -> None:
    lines = drawn(rows, "md").split("\n")
    assert lines.pop() == ""
    assert re.fullmatch(r"\|(---\|)+", lines.pop(1))
    assert [parse_markdown(line) for line in lines] == [
        [for_terminal(cell).strip(" ") for cell in row] for row in rows
    ]


@given(TABLES)
def test_a_csv_table_keeps_its_cells(rows: list[list[str]]) -> None:
    with capture() as stream:
        echo_csv(rows)
    read = list(csv.reader(io.StringIO(stream.getvalue(), newline="")))
    assert len(read) == len(rows)
    for cells, row in zip(read, rows, strict=True):
        assert len(cells) == len(row)
        for cell, text in zip(cells, row, strict=True):
            shown = for_terminal(text, several_lines=True)
            assert cell in (shown, f"'{shown}")


def drawn(rows: list[list[str]], table_format: str) -> str:
    with capture() as stream:
        draw(rows, table_format)
    return stream.getvalue()


@contextlib.contextmanager
def capture() -> Iterator[io.StringIO]:
    stream = io.StringIO()
    with contextlib.redirect_stdout(stream):
        yield stream


MARKDOWN = re.compile(
    r"\\(?P<escaped>[!-/:-@\[-`{-~])|&(?P<entity>lt|amp);|(?P<end>\|)|(?P<plain>.)"
)


def parse_markdown(line: str) -> list[str]:
    """Read a row as GitHub does: a backslash escapes any punctuation."""
    assert line.startswith("|")
    cells, cell = [], ""
    for found in MARKDOWN.finditer(line, 1):
        if found["end"]:
            cells.append(cell.strip(" "))
            cell = ""
        elif found["entity"]:
            cell += {"lt": "<", "amp": "&"}[found["entity"]]
        else:
            assert found["plain"] not in ("`", "\\")
            assert not re.match(r"<[A-Za-z/!?]", line[found.start() :])
            cell += found["escaped"] or found["plain"]
    assert cell == ""
    return cells
