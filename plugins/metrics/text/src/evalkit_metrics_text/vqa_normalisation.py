"""How answers to questions about images are normalised."""

from __future__ import annotations

import re
from collections.abc import Iterator

_MARKS = ';/[]"{}()=+\\_-><@`,?!'
"""Punctuation that is removed; full stops and apostrophes have rules of their own."""

_COMMA_IN_NUMBER = re.compile(r"\d,\d")
_FULL_STOP = re.compile(r"\.(?!\d)")
_ARTICLES = frozenset({"a", "an", "the"})

_NUMBER_WORDS = "zero one two three four five six seven eight nine ten"
_DIGITS = {word: str(number) for number, word in enumerate(_NUMBER_WORDS.split())}
_DIGITS["none"] = "0"

_WITH_APOSTROPHE = """
    ain't aren't can't could've couldn't couldn't've didn't doesn't don't hadn't
    hadn't've hasn't haven't he'd he'd've he's how'd how'll how's isn't it'd it'd've
    it'll ma'am mightn't mightn't've might've mustn't must've needn't not've o'clock
    oughtn't shan't she'd've should've shouldn't shouldn't've somebody'd somebody'd've
    somebody'll somebody's someone'd someone'd've someone'll someone's something'd
    something'd've something'll that's there'd there'd've there're there's they'd
    they'd've they'll they're they've 'twas wasn't we'd've we've weren't what'll what're
    what's what've when's where'd where's where've who'd who'd've who'll who's who've
    why'll why're why's won't would've wouldn't wouldn't've y'all y'all'll y'all'd've
    you'd you'd've you'll you're you've
"""


def _without_one(word: str) -> Iterator[str]:
    """Yield a word without one of its apostrophes, for each of them."""
    for place, mark in enumerate(word):
        if mark == "'":
            yield word[:place] + word[place + 1 :]


_CONTRACTIONS = {
    bare: word for word in _WITH_APOSTROPHE.split() for bare in _without_one(word)
}


def normalise_answer(text: str) -> str:
    """Normalise an answer as VQA's evaluation script does.

    Punctuation becomes a blank, or nothing where a blank stands beside it or a comma
    stands between digits of the text; full stops go unless a digit follows. Then lower
    case, number words as digits, no articles, and contractions with their apostrophe.

    Args:
        text: A prediction or an answer.

    Returns:
        The normalised text.
    """
    plain = text.replace("\n", " ").replace("\t", " ").strip()
    deletes_all = bool(_COMMA_IN_NUMBER.search(plain))
    table = {
        ord(mark): ""
        if deletes_all or f"{mark} " in plain or f" {mark}" in plain
        else " "
        for mark in _MARKS
        if mark in plain
    }
    bare = _FULL_STOP.sub("", plain.translate(table)).lower()
    words = [_DIGITS.get(word, word) for word in bare.split()]
    return " ".join(_CONTRACTIONS.get(w, w) for w in words if w not in _ARTICLES)
