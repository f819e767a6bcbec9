"""Ways to cut a text into the words that ROUGE compares."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Literal, Protocol

Words = Literal["ascii", "unicode", "characters"]


class Cutter(Protocol):
    """Cuts texts into words, as rouge-score asks of its tokenizers."""

    def tokenize(self, text: str) -> list[str]:
        """Return the words of a text."""

    def has_word(self, text: str) -> bool:
        """Tell whether a text has any word."""


class AsciiWords:
    """Runs of the letters a to z and digits: rouge-score's own tokenizer.

    Args:
        stems: Whether English endings are taken off.
    """

    def __init__(self, stems: bool) -> None:
        self._stems = stems

    @cached_property
    def tokenize(self) -> Callable[[str], list[str]]:
        """Returns the words of a text."""
        from rouge_score.tokenizers import DefaultTokenizer

        found: Callable[[str], list[str]] = DefaultTokenizer(self._stems).tokenize
        return found

    def has_word(self, text: str) -> bool:
        """Tell whether a text has any word."""
        return _ASCII.search(text.lower()) is not None


class UnicodeWords:
    """Runs of letters, digits and the marks on them, of all scripts.

    Args:
        stems: Whether English endings are taken off.
    """

    def __init__(self, stems: bool) -> None:
        self._stems = stems

    def tokenize(self, text: str) -> list[str]:
        """Return the words of a text, in lower case."""
        words = text.lower().translate(_KEPT).split()
        if self._stems:
            return [self._stem(word) if len(word) > 3 else word for word in words]
        return words

    def has_word(self, text: str) -> bool:
        """Tell whether a text has any word."""
        return any(map(str.isalnum, text))

    @cached_property
    def _stem(self) -> Callable[[str], str]:
        from nltk.stem.porter import PorterStemmer

        found: Callable[[str], str] = PorterStemmer().stem
        return found


class Characters(UnicodeWords):
    """Letters and digits by themselves, each with the marks on it."""

    def tokenize(self, text: str) -> list[str]:
        """Return the characters of a text, in lower case."""
        found: list[str] = []
        for word in super().tokenize(text):
            for character in word:
                if character.isalnum() or not found:
                    found.append(character)
                else:
                    found[-1] += character
        return found


WORDS: Mapping[Words, Callable[[bool], Cutter]] = {
    "ascii": AsciiWords,
    "unicode": UnicodeWords,
    "characters": Characters,
}
"""What cuts texts, by the value of the parameter `words`."""

UNSPACED = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]"
)
"""A letter of a script without blanks between words."""

_ASCII = re.compile("[a-z0-9]")
_BLANK = ord(" ")
_JOINERS = "\u200c\u200d"


class _KeptCharacters(dict[int, int]):
    """A table for `str.translate` that makes blanks of all that is in no word."""

    def __missing__(self, code: int) -> int:
        character: Any = chr(code)
        is_mark = unicodedata.category(character).startswith("M")
        is_kept = character.isalnum() or is_mark or character in _JOINERS
        self[code] = code if is_kept else _BLANK
        return self[code]


_KEPT = _KeptCharacters()
