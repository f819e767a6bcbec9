import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit_commands_perturb.edits import (
    Edit,
    apply_edits,
    checked_edits,
    find_difference,
    make_edits,
)

TEXTS = st.text("ab é😀\n.", max_size=12)


@given(st.data(), TEXTS)
def test_edits_are_checked_and_made_in_one_go(data: st.DataObject, text: str) -> None:
    places = st.integers(0, len(text) + 1)
    edits = data.draw(st.lists(st.tuples(places, places, TEXTS), max_size=4))
    try:
        wanted = checked_edits(text, edits)
    except ValueError as error:
        with pytest.raises(ValueError, match=re.escape(str(error))):
            make_edits(text, edits)
    else:
        assert make_edits(text, edits) == (apply_edits(text, wanted), wanted)
        made, kept = make_edits(text, wanted)
        assert (made, kept) == (apply_edits(text, wanted), wanted)
        assert kept is not wanted
        assert make_edits(text, iter(edits)) == (made, kept)


def test_triples_are_taken_and_edits_of_nothing_are_left_out() -> None:
    assert checked_edits("abc", [(1, 2, "b"), (2, 2, "")]) == []
    assert checked_edits("abc", [(1, 1, "x"), (1, 1, "y")]) == [
        (1, 1, "x"),
        (1, 1, "y"),
    ]
    assert isinstance(checked_edits("abc", [(0, 1, "x")])[0], Edit)


@pytest.mark.parametrize(
    ("edits", "words"),
    [
        ([(0, 4, "")], "the edit 0 to 4 is outside the text of 3 characters"),
        ([(-1, 1, "")], "the edit -1 to 1 is outside"),
        ([(2, 1, "")], "the edit 2 to 1 is outside"),
        ([(0, 2, "x"), (1, 3, "y")], "the edit 1 to 3 overlaps"),
        ([(0, 2, "x"), (1, 1, "y")], "the edit 1 to 1 overlaps"),
    ],
)
def test_edits_that_cannot_be_made_are_refused(
    edits: list[tuple[int, int, str]], words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        checked_edits("abc", [Edit(*edit) for edit in edits])


@given(TEXTS, TEXTS)
def test_a_difference_leads_from_one_text_to_the_other(before: str, after: str) -> None:
    edits = find_difference(before, after)
    assert apply_edits(before, edits) == after
    assert edits == checked_edits(before, edits)


def test_a_difference_is_as_small_as_words_are() -> None:
    before, after = "The cat saw her dog.", "The cat heard his dog!"
    assert find_difference(before, after) == [
        (8, 11, "heard"),
        (12, 15, "his"),
        (19, 20, "!"),
    ]


def test_the_difference_of_long_texts_is_one_edit() -> None:
    before = "start " + "a b " * 2_000 + "end"
    after = "start " + "c b " * 2_000 + "end"
    (edit,) = find_difference(before, after)
    assert apply_edits(before, [edit]) == after
    assert (edit.start, edit.end) == (6, 8_003)
