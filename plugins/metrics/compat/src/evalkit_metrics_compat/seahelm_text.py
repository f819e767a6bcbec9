"""What SEA-HELM does to a text before it is compared."""

from __future__ import annotations

import string

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_OUTER = f"{string.punctuation} \n"


def label_of(text: str) -> str:
    """Return a text in lower case, without punctuation and blanks at its ends.

    Only ASCII punctuation, blanks and line ends are taken away; blanks within are one.

    Args:
        text: What a model says where a label is asked for.
    """
    return " ".join(text.lower().strip(_OUTER).split())


def words_of(text: str) -> tuple[str, ...]:
    """Return the words of a text in lower case, without any ASCII punctuation.

    Args:
        text: What a model says where a free answer is asked for.
    """
    return tuple(text.lower().translate(_PUNCTUATION).split())
