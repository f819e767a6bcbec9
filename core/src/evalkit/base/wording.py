"""Words that several rooms say in the same way."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

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


def first_of(texts: Sequence[str], most: int, separator: str = ", ") -> str:
    """Join the first few of many texts, and count the others: `a, b and 3 more`."""
    more = len(texts) - most
    return separator.join(texts[:most]) + (f" and {more:,} more" if more > 0 else "")


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """End a sentence with the name that is nearest to another one, if one is near."""
    from difflib import get_close_matches

    near = get_close_matches(name, [*known], n=1, cutoff=0.7)
    return f"; did you mean {near[0]}?" if near else ""


def absent_field(name: str, offered: Sequence[str]) -> str:
    """End a sentence: there is no field of this name, and which fields there are."""
    hint = did_you_mean(name, offered)
    if offered and not hint:
        has = ", ".join(offered[:_SHOWN]) + ("…" if len(offered) > _SHOWN else "")
        hint = f"; data and responses have {has}"
    return f"the field {name!r}, which was not given{hint}"


def show_p(p_value: float | None, *, sign: bool = False, at_most: bool = False) -> str:
    """Return a p-value as a person reads it: `.42`, `.0032`, `1.2e-32`.

    Args:
        p_value: The p-value.
        sign: Whether to put `=` or `<` before it.
        at_most: Whether it may be smaller, which `≤` says.

    Returns:
        Two digits that count; nothing for None.
    """
    if p_value is None:
        return ""
    if p_value < 1e-300:
        return "< 1e-300"
    equals = "≤ " if at_most else "= " if sign else ""
    if p_value < 0.0001:
        return f"{equals}{p_value:.1e}"
    if p_value >= 0.995:
        return f"{equals}1"
    digits = 2
    while round(p_value, digits) < 10.0 ** (1 - digits):
        digits += 1
    return f"{equals}{p_value:.{digits}f}".replace("0.", ".", 1)


NOT_UTF8 = "must be UTF-8"
"""Start of the rule that a line breaks which is not."""

HOW_TO_CONVERT = (
    "it was probably written as Windows-1252 or Latin-1, as by Excel; convert it: "
    "iconv -f WINDOWS-1252 -t UTF-8 FILE > NEW, or in Python "
    "Path(NEW).write_text(Path(FILE).read_text('cp1252'), 'utf-8')"
)

UTF16 = (
    "it was probably written as UTF-16, as by Excel (Unicode text); convert it: "
    "iconv -f UTF-16 -t UTF-8 FILE > NEW"
)
