"""Words of an English text, and the gaps between them."""

from __future__ import annotations

import re
from collections.abc import Iterator

# marks that belong to the letter before them; a word that has one is left alone
_MARKS = (
    "\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u064b-\u065f\u1ab0-\u1aff\u1dc0-\u1dff"
    "\u200c\u200d\u20d0-\u20ff\u3099\u309a\ufe00-\ufe0f\ufe20-\ufe2f"
    "\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f\U000e0100-\U000e01ef"
)

_BEFORE = rf"(?<![\w{_MARKS}@#])(?<!\w[.'’])"
_AFTER = rf"(?!['’.]?[\w{_MARKS}])"

WORD = re.compile(rf"{_BEFORE}[A-Za-z]+(?:['’][A-Za-z]+)*{_AFTER}")
"""A word of plain letters, with the apostrophes inside it (`isn't`, `o'clock`).

Not part of it: words with digits, underscores or other letters (`16th`, `café`),
abbreviations with inner dots (`U.S.`, `e.g.`), `@user` and `#tag`.
"""

LETTERS = re.compile(rf"{_BEFORE}[A-Za-z]+{_AFTER}")
"""The same without those that hold an apostrophe."""


def long_words(least: int) -> re.Pattern[str]:
    """Return the pattern of words without apostrophe of at least some letters."""
    return re.compile(rf"{_BEFORE}[A-Za-z]{{{least},}}{_AFTER}")


def find_gaps(text: str) -> Iterator[int]:
    """Find the single blanks between two words of plain letters."""
    last = -2
    for word in WORD.finditer(text):
        start = word.start()
        if start == last + 1 and text[last] == " ":
            yield last
        last = word.end()
