"""Patterns of `findall`, `search`, `split` and `sub` against Python's `re`."""

import re

import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from evalkit.errors import AdapterError
from evalkit_adapters_rows.patterns import Pattern

ATOMS = st.sampled_from(
    ["a", "b", "é", r"\b", r"\B", "^", "[ab]", "[^a]", r"\w", r"\s", ".", "a?", "b+"]
)
PIECES = st.recursive(
    st.lists(ATOMS, min_size=1, max_size=3).map("".join),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(lambda both: f"({both[0]}|{both[1]})"),
        st.tuples(inner, inner).map(lambda both: f"(?:{both[0]}|({both[1]}))"),
        st.tuples(inner, inner).map("".join),
    ),
    max_leaves=5,
)
TEXTS = st.lists(st.text(alphabet="ab é\n\0\x010", max_size=8), max_size=4)
FLAGS = st.sampled_from([0, re.I, re.M, re.S, re.X])


def groups_by_re(pattern: re.Pattern[str], text: str) -> list[object]:
    found = [
        [group or "" for group in each.groups()] for each in pattern.finditer(text)
    ]
    if pattern.groups == 1:
        return [groups[0] for groups in found]
    return [*found] if pattern.groups else [each[0] for each in pattern.finditer(text)]


@given(PIECES, FLAGS, TEXTS)
def test_matches_and_groups_are_those_of_re(
    text: str, flags: int, texts: list[str]
) -> None:
    expected = re.compile(text, flags)
    matches = [each for row in texts for each in expected.finditer(row)]
    # polars' engine finds no empty match right after another match
    assume(all(each.start() < each.end() for each in matches))
    column = pl.Series(texts, dtype=pl.String)
    pattern = Pattern(text, flags)

    found = pattern.find_all(column).to_list()

    assert found == [groups_by_re(expected, row) for row in texts]
    for number in range(expected.groups + 1):
        first = [expected.search(row) for row in texts]
        assert pattern.search(column, number, None).to_list() == [
            each and each[number] for each in first
        ]
    template = "<$" + "".join(rf"\g<{n}>0" for n in range(expected.groups + 1)) + ">"
    for count in (0, 1, 2):
        assert pattern.substitute(column, pattern.replacement(template), count) == [
            expected.sub(template, row, count=count) for row in texts
        ]
    if not expected.groups:
        assert pattern.split(column, 0) == [expected.split(row) for row in texts]


def test_a_group_is_what_it_matched_in_its_text() -> None:
    # "a" alone is followed by the end of a word and so needs no group
    found = Pattern(r"a\b|(a)").find_all(pl.Series(["ab a"]))

    assert found.to_list() == [["a", ""]]


def test_groups_that_depend_on_the_text_around_the_match() -> None:
    found = Pattern(r"(\b)?(a)(?:\b|)").find_all(pl.Series(["ba", "a", ""]))

    assert found.to_list() == [[["", "a"]], [["", "a"]], []]


def test_texts_that_look_like_marks() -> None:
    column = pl.Series(["x\0" + "0a", "\0" + "0\x01a\x01", "a\0"])
    expected = [row.split("a") for row in column]

    assert Pattern("a").split(column, 0) == expected
    assert Pattern("a").substitute(column, "b", 1) == [
        row.replace("a", "b") for row in column
    ]
    assert Pattern("(a)").find_all(column).to_list() == [["a"], ["a"], ["a"]]


@pytest.mark.parametrize("template", [r"\2", r"\g<2>", r"\g<name>", r"\99"])
def test_a_replacement_without_such_a_group_is_refused(template: str) -> None:
    with pytest.raises(AdapterError, match="has no group"):
        Pattern("(a)").replacement(template)


@pytest.mark.parametrize("template", [r"\0", r"\101", r"\x41", "\\", "\\\n"])
def test_an_escape_that_means_nothing_is_refused(template: str) -> None:
    with pytest.raises(AdapterError, match="means nothing"):
        Pattern("(a)").replacement(template)


def test_a_named_group_is_replaced() -> None:
    pattern = Pattern("(?P<first>a)(b)")

    assert pattern.substitute(
        pl.Series(["ab"]), pattern.replacement(r"\2\g<first>$1\n"), 0
    ) == ["ba$1\n"]
