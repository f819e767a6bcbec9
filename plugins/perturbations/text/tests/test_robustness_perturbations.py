"""Examples and edge cases of the robustness perturbations."""

import unicodedata
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from evalkit_commands_perturb import apply_edits, checked_edits
from evalkit_perturbations_text.casing import Lowercase
from evalkit_perturbations_text.characters import (
    ALPHABETS,
    CODE_POINTS,
    LOOK_ALIKES,
    LookAlikes,
    StyledUnicode,
    UpsideDown,
    ZeroWidth,
)
from evalkit_perturbations_text.mild_mix import MildMix
from evalkit_perturbations_text.text_perturbations import (
    LETTERS,
    WORD,
    Suffix,
    find_gaps,
    with_case_of,
)
from evalkit_perturbations_text.typos import (
    NEIGHBOURS,
    SLIPS,
    CharacterSwaps,
    ExtraSpace,
    KeyboardTypos,
    OcrSlips,
    Punctuation,
    RandomSpace,
    SplitWords,
)
from evalkit_perturbations_text.wording.filler_words import FILLERS, HEDGES, FillerWords

SENTENCE = "The quick brown fox jumps over the lazy dog."
NOT_WORDS = "U.S. 3.5% 10:30 16th e.g. café x_y @user #tag cafe\u0301 a\u200db"


def change(kind: Any, text: str, seed: int = 0, **values: Any) -> str:
    perturbation = kind(kind.Parameters(**values))
    (edits,) = perturbation.find_edits([text], Random(seed))
    return apply_edits(text, checked_edits(text, edits))


def test_words_are_of_plain_letters_with_the_apostrophes_inside() -> None:
    text = "Isn't 'this' the dogs’ o’clock? (Well-known) end.Next"
    assert [match[0] for match in WORD.finditer(text)] == [
        *("Isn't", "this", "the", "dogs", "o’clock", "Well", "known")
    ]
    assert [match[0] for match in LETTERS.finditer(text)] == [
        *("this", "the", "dogs", "Well", "known")
    ]


def test_numbers_abbreviations_and_joined_letters_are_no_words() -> None:
    assert [match[0] for match in WORD.finditer(NOT_WORDS)] == []
    assert list(find_gaps(NOT_WORDS)) == []


@pytest.mark.parametrize(
    ("word", "replacement", "expected"),
    [
        ("dog", "cat", "cat"),
        ("DOG", "cat", "CAT"),
        ("Dog", "cat", "Cat"),
        ("dOG", "cat", "cat"),
        ("I", "we", "We"),
        ("", "x", "x"),
    ],
)
def test_a_replacement_gets_the_capitals(
    word: str, replacement: str, expected: str
) -> None:
    assert with_case_of(word, replacement) == expected


@given(text=st.text())
def test_lowercase_is_that_of_the_language(text: str) -> None:
    assert change(Lowercase, text) == text.lower()


@pytest.mark.parametrize(
    ("text", "edits"),
    [
        ("Hello WORLD", [(0, 1, "h"), (6, 11, "world")]),
        ("Élan vitAL", [(0, 1, "é"), (8, 10, "al")]),
        ("ΟΔΟΣ A", [(0, 4, "οδος"), (5, 6, "a")]),
        ("İs ÀbÇ", [(0, 2, "i\u0307s"), (3, 4, "à"), (5, 6, "ç")]),
        ("all small, ça va", []),
    ],
)
def test_lowercase_has_an_edit_for_each_run(text: str, edits: list[Any]) -> None:
    assert Lowercase().find_edits([text], Random(0)) == [edits]


def test_extra_space_writes_each_blank_again() -> None:
    assert change(ExtraSpace, "a b  c\td") == "a  b    c\td"
    assert change(ExtraSpace, " a b", times=3) == "   a   b"


def test_random_space_draws_another_length() -> None:
    lengths = set()
    for seed in range(50):
        new = change(RandomSpace, "a b", seed, prob=1, most=4)
        lengths.add(new.count(" "))
        long = change(RandomSpace, "a" + " " * 9 + "b", seed, prob=1)
        assert 1 <= long.count(" ") <= 3
        two = change(RandomSpace, "a  b", seed, prob=1, most=2)
        assert two == "a b"
    assert lengths == {2, 3, 4}


def test_punctuation_stands_after_each_word_that_a_blank_follows() -> None:
    new = change(Punctuation, "Isn't 3.5% of it at 10:30 so, in the U.S. too", prob=1)
    kept = new
    for sign in ("...", *".?!,;:-"):
        kept = kept.replace(sign, "|")
    assert kept == "Isn't| 3|5% of| it| at| 10|30 so| in| the| U|S| too|"


def test_zero_width_is_seen_by_nobody() -> None:
    new = change(ZeroWidth, f"{SENTENCE} I {NOT_WORDS}", prob=1)
    added = [sign for sign in new if sign in CODE_POINTS]
    assert len(added) == 9 + 1  # the joiner of the text stays
    assert all(unicodedata.category(sign) == "Cf" for sign in CODE_POINTS)
    for word in new.split(" ")[:9]:
        assert word[0] not in CODE_POINTS
        assert word.rstrip(".")[-1] not in CODE_POINTS


def test_look_alikes_are_other_letters() -> None:
    for letter, others in LOOK_ALIKES.items():
        for other in others:
            name = unicodedata.name(other)
            assert name.split()[0] in ("CYRILLIC", "GREEK")
            assert other.isupper() == letter.isupper()
    new = change(LookAlikes, "A nice place", prob=1, letters=1)
    assert len(new) == 12
    assert [new[place] == "A nice place"[place] for place in range(12)] == [
        *(True, True, True, False, False, False),
        *(True, False, True, False, False, False),
    ]


@pytest.mark.parametrize("style", ALPHABETS)
def test_styled_letters_are_the_same_letters(style: str) -> None:
    letters = "abcdefghijklmnopqrstuvwxyz ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    new = change(StyledUnicode, letters, prob=1, style=style)
    assert new != letters
    assert len(set(new)) == 53
    assert not any(unicodedata.category(sign) == "Cn" for sign in new)
    assert unicodedata.normalize("NFKC", new) == letters


def test_upside_down_turns_words() -> None:
    assert change(
        UpsideDown, "Do jump, pod! I pd", prob=1
    ) == "op dɯnɾ, pod! I pd".replace("op", "oᗡ")


def test_each_letter_of_longer_words_gets_a_typo() -> None:
    text = "I Can't 16th"
    new = change(KeyboardTypos, text, prob=1)
    assert new[:2] == "I "
    assert new[5] == "'"
    assert new[7:] == " 16th"
    for place in (2, 3, 4, 6):
        assert new[place] in NEIGHBOURS[text[place]]


def test_swaps_are_of_two_different_inner_letters() -> None:
    assert change(CharacterSwaps, "form abba See tell", prob=1) == "from abba See tlel"
    drawn = {change(CharacterSwaps, "Letter", seed, prob=1) for seed in range(40)}
    assert drawn == {"Lteter", "Letetr"}


def test_ocr_slips_are_of_the_table_and_have_no_digit() -> None:
    assert not any(sign.isdigit() for new in SLIPS.values() for sign in new)
    drawn = {change(OcrSlips, "corner", seed, prob=1) for seed in range(100)}
    assert drawn == {"eorner", "comer", "corncr"}
    assert change(OcrSlips, "of zoo 16mm", prob=1) == "of zoo 16mm"


def test_words_are_split_inside() -> None:
    drawn = {change(SplitWords, "that's long six", seed, prob=1) for seed in range(40)}
    assert drawn == {"that's l ong six", "that's lo ng six", "that's lon g six"}


def test_fillers_stand_between_words() -> None:
    new = change(FillerWords, "He has 16 of them, now", prob=1)
    words = new.split(" ", 1)
    assert words[0] == "He"
    assert any(
        new == f"He {one} has 16 of {two} them, now"
        for one in FILLERS
        for two in FILLERS
    )


def test_hedges_are_off_unless_asked_for() -> None:
    text = " ".join(["word"] * 400)
    plain = change(FillerWords, text, prob=1)
    hedged = change(FillerWords, text, prob=1, hedges=True)
    assert not any(hedge in plain for hedge in HEDGES)
    assert all(word in hedged for word in (*HEDGES, *FILLERS))
    assert FillerWords().label_effect.get("nli", "invariant") == "invariant"
    asked = FillerWords(FillerWords.Parameters(hedges=True))
    assert asked.label_effect["nli"] == "uncertain"


def test_the_mixture_is_the_steps_one_after_the_other() -> None:
    new = change(MildMix, "It is NOT the Quick fox. This is not a dog.", prob=0)
    assert " ".join(new.split()) == "it's not the quick fox. this isn't a dog."
    text = "The Different PEOPLE received 16 letters at 10:30."
    hard = change(MildMix, text, prob=1).split()
    assert hard[-1] == "10:30."
    assert hard[4] == "16"
    assert not set(hard[:4]) & set(text.lower().split())


def test_a_suffix_has_to_be_given() -> None:
    with pytest.raises(ValidationError, match="suffix"):
        Suffix()
    with pytest.raises(ValidationError, match="suffix"):
        Suffix.Parameters(suffix="")


@pytest.mark.parametrize("prob", [-0.1, 1.1, float("nan")])
def test_a_share_is_between_nothing_and_all(prob: float) -> None:
    with pytest.raises(ValidationError, match="prob"):
        KeyboardTypos.Parameters(prob=prob)
    with pytest.raises(ValidationError, match="preset"):
        KeyboardTypos.Parameters(preset="wild")
