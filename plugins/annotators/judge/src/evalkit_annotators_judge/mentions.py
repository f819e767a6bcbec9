"""Where words stand in prose, and whether something near by takes them back."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

_MARK_UP = re.compile(r"[*`~]|(?<!\w)_+|_+(?!\w)|</?(?:b|i|u|em|strong|code)>")
_ENDS = re.compile(r"[\n\r\v\f\u2028\u2029]+|(?<=[.!?])\s+")
_NEGATION = re.compile(
    r"(?<!\w)(?:not?|non|nor|neither|never|cannot|without|hardly)(?!\w)"
    r"|n['’]t(?!\w)",
    re.I,
)
_DIRECTLY = re.compile(
    r"(?:(?<!\w)(?:not|never)|n['’]t)\s+"
    r"(?:(?:at\s+all|quite|fully|entirely|completely|really|exactly|a|an|the)\s+)?$",
    re.I,
)
_OTHER_CLAUSE = re.compile(
    r"[,;:()\u2013\u2014]|\s-+\s|\b(?:and|but|because|since|as|though|although|while)\b",
    re.I,
)


class Mention(NamedTuple):
    """A word in a text.

    Attributes:
        word: The word.
        is_denied: Whether a negation is about it: `not CORRECT`.
        is_unclear: Whether one stands near by, and may be.
    """

    word: str
    is_denied: bool
    is_unclear: bool


def mentions(text: str, words: Sequence[str]) -> list[Mention]:
    """Return the whole words in a text, in their order, mark-up aside.

    A negation counts within a line and a sentence: before the word and after the one
    before it, and after it within its clause; and as the end of the line before.
    """
    if not any(_MARK_UP.search(word) for word in words):
        text = _MARK_UP.sub("", text)
    found = re.compile(whole_words(words))
    starts = [0, *(end.end() for end in _ENDS.finditer(text))]
    ends = [*(end.start() for end in _ENDS.finditer(text)), len(text)]
    parts = [text[start:end] for start, end in zip(starts, ends, strict=True)]
    return [
        each
        for number, part in enumerate(parts)
        for each in _in_sentence(part, parts[number - 1] if number else "", found)
    ]


def _in_sentence(
    sentence: str, before: str, words: re.Pattern[str]
) -> Iterator[Mention]:
    places = [*words.finditer(sentence)]
    for number, place in enumerate(places):
        start = places[number - 1].end() if number else 0
        end = places[number + 1].start() if number + 1 < len(places) else None
        left, right = sentence[start : place.start()], sentence[place.end() : end]
        clause = _OTHER_CLAUSE.split(right, maxsplit=1)[0]
        # a line may break between the two
        hangs = not left.strip() and number == 0 and _ends_with_negation(before)
        is_denied = _DIRECTLY.search(left) is not None
        is_unclear = hangs or any(map(_NEGATION.search, (left, clause)))
        yield Mention(place[0], is_denied, is_unclear and not is_denied)


def _ends_with_negation(line: str) -> bool:
    return any(not line[each.end() :].strip(" :,") for each in _NEGATION.finditer(line))


def whole_words(words: Sequence[str]) -> str:
    """Return a regular expression of words, the longest first."""
    return "|".join(map(_whole, sorted(words, key=len, reverse=True)))


def _whole(word: str) -> str:
    left = r"(?<!\w)" if re.match(r"\w", word) else ""
    right = r"(?!\w)" if re.search(r"\w$", word) else ""
    return f"{left}{re.escape(word)}{right}"
