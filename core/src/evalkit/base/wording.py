"""Words that depend on a number."""

from __future__ import annotations


def count_of(number: int, noun: str) -> str:
    """Return a number with its noun, as in `1 row` and `2 rows`.

    Args:
        number: How many.
        noun: The noun for one, whose plural ends in s.

    Returns:
        Number and noun.
    """
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
