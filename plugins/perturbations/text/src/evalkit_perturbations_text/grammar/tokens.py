"""A text as words and signs, for the perturbations about people."""

from __future__ import annotations

import re
from functools import cached_property

from evalkit import Edit
from evalkit_perturbations_text.text_perturbations import with_case_of

_TOKEN = re.compile(r"[\w\u0300-\u036f\u200b-\u200d\u2060\u00ad]+|[^\w\s]")
"""A word with its combining marks and invisible joiners, or one sign."""

OPENING = frozenset("\"'([{*_“‘«„‹–—-•#>~|")
"""Signs after which a sentence may begin."""

ENDING = frozenset(".!?:;…")
"""Signs that may end a sentence."""

APOSTROPHES = frozenset("'’ʼ＇")
HYPHENS = frozenset("-‐‑")


def word_set(text: str) -> frozenset[str]:
    """Read a list of words with blanks between them."""
    return frozenset(text.split())


class Tokens:
    """The words and signs of a text, with neighbours that may be missing.

    Attributes:
        text: The text.
        forms: Its words and signs as they are written.
        lower: The same in lower case.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.forms = _TOKEN.findall(text)
        self.lower = [form.lower() for form in self.forms]

    def __len__(self) -> int:
        return len(self.forms)

    @cached_property
    def spans(self) -> list[tuple[int, int]]:
        """Start and end of each token."""
        spans = []
        end = 0
        find = self.text.index
        for form in self.forms:
            # only blanks stand between tokens, so that the next hit is the token
            start = find(form, end)
            end = start + len(form)
            spans.append((start, end))
        return spans

    @cached_property
    def shouts(self) -> bool:
        """Whether nearly all letters are capitals."""
        letters = [form for form in self.forms if form[0].isalpha() and len(form) > 1]
        upper = sum(form.isupper() for form in letters)
        return len(letters) > 1 and upper > 0.7 * len(letters)

    @cached_property
    def is_title(self) -> bool:
        """Whether nearly all longer words begin with a capital, as in a headline."""
        words = [form for form in self.forms if form[0].isalpha() and len(form) > 3]
        capital = sum(form[0].isupper() for form in words)
        return len(words) > 4 and capital > 0.9 * len(words)

    def word(self, position: int) -> str:
        """Return a token in lower case; "" outside of the text."""
        return self.lower[position] if 0 <= position < len(self.lower) else ""

    def lower_around(self, position: int) -> tuple[str, ...]:
        """Return a token in lower case with two on each side."""
        return tuple(self.word(place) for place in range(position - 2, position + 3))

    def form(self, position: int) -> str:
        """Return a token as it is written; "" outside of the text."""
        return self.forms[position] if 0 <= position < len(self.forms) else ""

    def touches(self, position: int) -> bool:
        """Tell whether nothing stands between a token and the one after it."""
        if not 0 <= position < len(self.forms) - 1:
            return False
        return self.spans[position][1] == self.spans[position + 1][0]

    def is_capital(self, position: int) -> bool:
        """Tell whether a token begins with a capital."""
        return self.form(position)[:1].isupper()

    def breaks_line(self, position: int) -> bool:
        """Tell whether a line, paragraph or item begins after a token."""
        if not 0 <= position < len(self.forms) - 1:
            return False
        gap = self.text[self.spans[position][1] : self.spans[position + 1][0]]
        return "\n" in gap and (gap.count("\n") > 1 or self.is_capital(position + 1))

    def starts_sentence(self, position: int) -> bool:
        """Tell whether a sentence may begin with a token."""
        before = self.form(position - 1)
        if not before or self.breaks_line(position - 1):
            return True
        if before in OPENING:
            return not self._joins(position - 1)
        if before == ".":
            abbreviation = self.word(position - 2)
            return abbreviation not in _ABBREVIATIONS and len(abbreviation) != 1
        return before in ENDING

    def _joins(self, position: int) -> bool:
        """Tell whether a sign stands between two letters, as in `she-wolf`."""
        return self.touches(position - 1) and self.touches(position)

    def has_possessive(self, position: int) -> bool:
        """Tell whether `'s` follows a token."""
        return (
            self.form(position + 1) in APOSTROPHES
            and self.touches(position)
            and self.word(position + 2) == "s"
            and self.touches(position + 1)
        )

    def is_hyphenated(self, position: int) -> bool:
        """Tell whether a token is joined to another by a hyphen."""
        return any(
            self.form(place) in HYPHENS and self._joins(place)
            for place in (position - 1, position + 1)
        )


_ABBREVIATIONS = word_set(
    """
    mr mrs ms dr st prof rev fr sr jr gen col capt lt sgt hon gov sen rep vs mx
    """
)
"""Words whose full stop ends no sentence."""


_VOWELS = frozenset("aeiou")


def article_edits(tokens: Tokens, position: int, new: str) -> list[Edit]:
    """Change `a` before a word to `an`, or back, where the new first letter asks."""
    article = tokens.word(position - 1)
    old_vowel = tokens.word(position)[:1] in _VOWELS
    new_vowel = new[:1].lower() in _VOWELS
    if article not in ("a", "an") or old_vowel == new_vowel:
        return []
    if (article == "an") != old_vowel:
        return []
    written = with_case_of(tokens.form(position - 1), "an" if new_vowel else "a")
    return [Edit(*tokens.spans[position - 1], written)]
