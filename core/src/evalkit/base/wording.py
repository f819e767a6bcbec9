"""Words that several rooms say in the same way."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

_SHOWN = 20


def count_of(number: int, noun: str) -> str:
    """Return a number with its noun, as in `1 row` and `2 rows`.

    Args:
        number: How many.
        noun: The noun for one, whose plural ends in s.

    Returns:
        Number and noun.
    """
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def absent_field(name: str, offered: Sequence[str]) -> str:
    """Say that there is no field of a name, and which there are.

    Args:
        name: What a plugin asks for.
        offered: What it could ask for; empty where that is not known.

    Returns:
        The end of a sentence.
    """
    hint = ""
    if near := difflib.get_close_matches(name, offered, n=1, cutoff=0.75):
        hint = f"; did you mean {near[0]!r}?"
    elif offered:
        has = ", ".join(offered[:_SHOWN]) + ("…" if len(offered) > _SHOWN else "")
        hint = f"; data and responses have {has}"
    return f"the field {name!r}, which was not given{hint}"
