"""What HELM does to a text before it is compared."""

from __future__ import annotations

import re
import string

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")


def normalised(text: str, articles: bool = False) -> str:
    """Return a text in lower case, without ASCII punctuation and without articles.

    Punctuation is deleted, and so joins what it stood between. Blanks are one.

    Args:
        text: The text.
        articles: Whether a, an and the stay.
    """
    plain = text.lower().translate(_PUNCTUATION)
    return " ".join((plain if articles else _ARTICLES.sub(" ", plain)).split())


def equals(prediction: str, answer: str) -> float:
    """Return 1 where a prediction is not empty and the answer but for outer blanks."""
    return float(bool(prediction) and prediction.strip() == answer.strip())
