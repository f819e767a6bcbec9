"""What HELM does to a text before it is compared."""

from __future__ import annotations

import re
import string

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")


def words_of(text: str) -> list[str]:
    """Return the words of a text: lower case, no ASCII punctuation, no articles.

    Punctuation is deleted, and so joins what it stood between.

    Args:
        text: The text.
    """
    return _ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split()


def equals(prediction: str, answer: str) -> float:
    """Return 1 where a prediction is not empty and the answer but for outer blanks."""
    return float(bool(prediction) and prediction.strip() == answer.strip())
