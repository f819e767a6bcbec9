"""Words and characters of a text in any script."""

from __future__ import annotations

import unicodedata

_BLANK = 0x20
UNSPACED = r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]{8}"
"""Eight letters of scripts without blanks between words, as a regular expression."""


class _Separators(dict[int, int]):
    """What becomes of a character where words are told apart, filled when asked."""

    def __missing__(self, code: int) -> int:
        category = unicodedata.category(chr(code))
        is_of_word = category[0] in "LMN" or category == "Pc"
        return self.setdefault(code, code if is_of_word else _BLANK)


_SEPARATORS = _Separators()


def words_of(text: str) -> list[str]:
    """Return the words of a text: runs of letters, marks, digits and underscores.

    Args:
        text: The text.

    Returns:
        Its words; everything else separates them.
    """
    return text.translate(_SEPARATORS).split()
