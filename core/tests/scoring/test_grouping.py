from __future__ import annotations

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from evalkit.scoring.grouping import UNTAGGED, WHOLE, group_by_tag


def tags_of(rows: list[list[str]]) -> pl.Series:
    return pl.Series("tags", rows, dtype=pl.List(pl.String))


@given(st.lists(st.lists(st.sampled_from("äbc:d"), max_size=4, unique=True)))
def test_every_tag_is_the_group_of_the_examples_that_have_it(
    rows: list[list[str]],
) -> None:
    groups = group_by_tag(tags_of(rows))
    names = sorted({tag for row in rows for tag in row})
    untagged = [UNTAGGED] if names and not all(rows) else []
    assert groups.tags == (None, *names, *untagged)
    for number, tag in enumerate(groups.tags):
        expected = [
            i
            for i, row in enumerate(rows)
            if tag is None or tag in row or (tag == UNTAGGED and not row)
        ]
        members = groups.members.filter(group=number)["position"].to_list()
        assert members == expected
        assert groups.sizes[number] == len(expected)


def test_facets_and_crossings_hold_their_groups() -> None:
    tags = tags_of([["a:x", "b:y"], ["a:z", "plain"], ["a: no facet"]])
    crossing = pl.Series([["a:x & b:y"], [], ["c:1", "c:2"]])
    groups = group_by_tag(tags, {"a,b": crossing})
    names = {
        facet: [groups.tags[number] for number in numbers]
        for facet, numbers in groups.facets.items()
    }
    assert names == {
        "a": ["a:x", "a:z"],
        "b": ["b:y"],
        "a,b": ["a:x & b:y", "c:1", "c:2"],
    }
    last = len(groups.tags) - 1
    assert groups.positions_of(last).tolist() == [2]


def test_an_example_may_bear_the_name_of_those_without_tags() -> None:
    groups = group_by_tag(tags_of([[], [UNTAGGED]]))
    assert groups.tags == (None, UNTAGGED, f"({UNTAGGED})")
    assert groups.sizes == (2, 1, 1)


def test_a_tag_may_bear_the_name_of_a_crossed_group() -> None:
    crossing = pl.Series([["a:1 & b:2"], ["a:1 & b:2"]])
    groups = group_by_tag(tags_of([["a:1 & b:2"], ["a:1", "b:2"]]), {"a,b": crossing})
    assert groups.tags[1:] == ("a:1", "a:1 & b:2", "b:2", "(a:1 & b:2)")
    assert groups.sizes == (2, 1, 1, 1, 2)


def test_the_whole_set_is_the_first_group() -> None:
    assert group_by_tag(tags_of([["x"]])).tags[WHOLE] is None


def test_no_examples_make_one_empty_group() -> None:
    groups = group_by_tag(tags_of([]))
    assert groups.tags == (None,)
    assert groups.sizes == (0,)


def test_null_instead_of_a_list_is_no_tag() -> None:
    groups = group_by_tag(pl.Series("tags", [None, ["x"]], dtype=pl.List(pl.String)))
    assert groups.tags == (None, "x", UNTAGGED)
    assert groups.sizes == (2, 1, 1)
