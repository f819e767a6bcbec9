"""SQuAD's way of making texts alike that mean the same."""

from __future__ import annotations

import re
import string

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")


def normalise(text: str, *, keeps_articles: bool = False) -> str:
    """Normalise a text.

    Lower case; without ASCII punctuation, which is deleted and so joins what it stood
    between; without the words a, an and the; blanks as one. What else Unicode has, such
    as « or an accent written apart, is left as it is.

    Args:
        text: A prediction or an answer.
        keeps_articles: Whether articles stay.

    Returns:
        The normalised text.
    """
    bare = text.lower().translate(_PUNCTUATION)
    if not keeps_articles:
        bare = _ARTICLES.sub(" ", bare)
    return " ".join(bare.split())
