"""Escapes texts for what they are printed as: one function for each format.

Names, labels, notices and messages come from files, run folders and plugins. None of
them may steer a terminal, break a table, or be read as a formula.
"""

from __future__ import annotations

import re
from collections.abc import Callable

_NOT_ASCII_GRAPHIC = re.compile(r"[^\x20-\x7e]")

_JOINERS = frozenset("\u200c\u200d")
"""Join letters and emoji; seen by what they do to the characters beside them."""

_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
"""Letters and marks that nothing is drawn for."""

_SIGNS_ABOVE_NUMBERS = frozenset(
    "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2"
    "\U000110bd\U000110cd"
)
"""Format characters that are drawn."""

_INVISIBLE_CATEGORIES = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})


def for_terminal(text: str, *, several_lines: bool = False) -> str:
    r"""Escape what could steer a terminal or cannot be seen.

    Control characters, directional overrides, other invisible format characters,
    unassigned code points and lone surrogates are written as Python writes them,
    such as `\x1b` or `\u202e`. Letters of all scripts, spaces, emoji and the joiners
    between them stay.

    Args:
        text: Any text.
        several_lines: Whether line feeds stay; else it becomes one line.

    Returns:
        The text; escaping it again changes nothing.
    """
    kept = "\n" if several_lines else ""
    return _visible(text, lambda mark: mark.encode("unicode_escape").decode(), kept)


def for_markdown(cell: str) -> str:
    """Escape a cell of a Markdown table, so that it is shown as it is written."""
    text = _MARKDOWN_SPECIAL.sub(r"\\\g<0>", for_terminal(cell))
    text = _MARKDOWN_FIRST.sub(r"\g<before>\\\g<mark>", text)
    return _HTML.sub(lambda found: _ENTITIES[found[0]], text)


def for_latex(cell: str, *, starts_row: bool = False) -> str:
    """Escape a cell of a LaTeX table, so that it is set as it is written."""
    text = _LATEX_SPECIAL.sub(lambda found: _LATEX[found[0]], for_terminal(cell))
    if not starts_row:
        return text
    return _LATEX_ARGUMENT.sub(r"\g<before>{\g<mark>}", text)


def for_csv(value: object) -> object:
    """Escape a value of a CSV file; the csv module does the quoting.

    A spreadsheet runs a text that begins like a formula, so such a text gets an
    apostrophe in front, unless it is a number. What could steer a terminal is escaped
    but for line feeds, which are part of many answers.
    """
    if value is None or isinstance(value, int | float):
        return value
    text = str(value)
    shown = for_terminal(text, several_lines=True)
    is_formula = text.startswith(_FORMULA) and not _NUMBER.fullmatch(text)
    return f"'{shown}" if is_formula else shown


def for_json(document: str) -> str:
    """Escape what could steer a terminal in a JSON document; no value changes."""
    return _visible(document, _as_in_json, "\n")


def by_code_points(text: str) -> str:
    """Write every character that cannot be seen, joiners too, by its code point."""
    return "".join(
        mark
        if mark.isprintable() and mark not in _BLANK
        else _NAMED.get(mark, f"<U+{ord(mark):04X}>")
        for mark in text
    )


_NAMED = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}


def _visible(text: str, escaped: Callable[[str], str], kept: str) -> str:
    if text.isprintable() and _BLANK.isdisjoint(text):
        return text

    def shown(found: re.Match[str]) -> str:
        mark = found[0]
        if mark in kept or _is_seen(mark) or _joins(found):
            return mark
        return escaped(mark)

    return _NOT_ASCII_GRAPHIC.sub(shown, text)


def _is_seen(mark: str) -> bool:
    if mark in _BLANK:
        return False
    import unicodedata

    is_format = unicodedata.category(mark) in _INVISIBLE_CATEGORIES
    return not is_format or mark in _SIGNS_ABOVE_NUMBERS


def _joins(found: re.Match[str]) -> bool:
    """Say whether a joiner stands alone between characters that it may join."""
    if found[0] not in _JOINERS:
        return False
    text, start = found.string, found.start()
    return all(
        beside and not beside.isascii() and _is_seen(beside)
        for beside in (text[start - 1 : start], text[start + 1 : start + 2])
    )


def _as_in_json(mark: str) -> str:
    import json

    # json leaves this one alone
    return "\\u007f" if mark == "\x7f" else json.dumps(mark)[1:-1]


_MARKDOWN_SPECIAL = re.compile(
    r"""
    [\\`|]
    | [*~](?=\S)          # opens emphasis
    | (?<![^\W_])_(?=\S)  # too, but not within a word
    | (?<=\])[(\[]        # begins the target of a link
    | !(?=\[)             # begins an image
    """,
    re.VERBOSE,
)
_MARKDOWN_FIRST = re.compile(r"^(?P<before>\s*)(?P<mark>[#>]|[-+](?=\s|$))")
_HTML = re.compile(r"<(?=[A-Za-z/!?])|&(?=\#?\w+;)")
_ENTITIES = {"<": "&lt;", "&": "&amp;"}

_LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "-": "-{}",
    "–": "--",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "×": r"$\times$",
}
_LATEX_SPECIAL = re.compile(r"[\\&%$#_{}~^<>|–≤≥×]|-(?=-)")  # two make a dash
_LATEX_ARGUMENT = re.compile(r"^(?P<before>\s*)(?P<mark>[\[*])")

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
