"""SQuAD's way of turning a text into the tokens that are compared."""

from __future__ import annotations

import re
import string

Tokens = tuple[str, ...]

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")


def tokenize(text: str) -> Tokens:
    """Normalise a text and split it into tokens.

    Lower case; without ASCII punctuation, which is deleted and so joins what it stood
    between; without the words a, an and the; split at whitespace. What else Unicode
    has, such as « or an accent written apart, is left as it is.

    Args:
        text: A prediction or an answer.

    Returns:
        Its tokens; two texts are equal after normalisation when these are equal.
    """
    return tuple(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())
