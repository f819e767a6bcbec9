"""Regular expressions by polars' engine, which takes linear time for every text.

It has no look-around and no back-references: such patterns are refused when they are
read. A text and a column of texts are searched by the same engine.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from evalkit.errors import AdapterError
from evalkit_adapters_rows.frames import as_lists

if TYPE_CHECKING:
    import polars as pl

_FLAGS = {re.IGNORECASE: "i", re.MULTILINE: "m", re.DOTALL: "s", re.VERBOSE: "x"}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v", "\\": "\\"}
_ESCAPED = re.compile(
    r"\\(?:(?P<octal>0|[1-3][0-7]{2})|g<(?P<group>\w+)>|(?P<number>[0-9]{1,2})"
    r"|(?P<letter>.?))|\$",
    re.DOTALL,
)


class Pattern:
    """A regular expression.

    Args:
        text: The expression.
        flags: A sum of the flags I, M, S and X of Python's `re`.

    Attributes:
        text: The expression, with its flags.

    Raises:
        AdapterError: polars cannot compile it, or a flag is another one.
    """

    def __init__(self, text: str, flags: int = 0) -> None:
        letters = "".join(letter for flag, letter in _FLAGS.items() if flags & flag)
        others = flags & ~sum(_FLAGS) & ~re.UNICODE
        if others:
            raise AdapterError(
                f"the flags {flags} are more than IGNORECASE (2), MULTILINE (8), "
                "DOTALL (16) and VERBOSE (64)",
                field="flags",
            )
        self.text = f"(?{letters}){text}" if letters else text
        try:
            self.groups: list[str] = self._groups()
        # polars has one class of errors for each place of its code
        except Exception as error:
            raise AdapterError(
                f"the pattern {text!r} cannot be used: {error}", field="pattern"
            ) from error

    def _groups(self) -> list[str]:
        import polars as pl

        column = pl.Series([""])
        column.str.contains(self.text)
        dtype = column.str.extract_groups(self.text).dtype
        return (
            [field.name for field in dtype.fields]
            if isinstance(dtype, pl.Struct)
            else []
        )

    def group_number(self, group: int | str) -> int:
        """Return the number of a group; 0 is the whole match."""
        if isinstance(group, int) and 0 <= group <= len(self.groups):
            return group
        if isinstance(group, str) and group in self.groups:
            return self.groups.index(group) + 1
        raise AdapterError(
            f"the pattern {self.text!r} has no group {group!r}", field="group"
        )

    def replacement(self, template: str) -> str:
        r"""Translate a replacement as Python's `re` writes it."""

        def translate(found: re.Match[str]) -> str:
            if found[0] == "$":
                return "$$"
            group = found["group"] or found["number"]
            if group is not None:
                number = int(group) if group.isdecimal() else group
                return f"${{{self.group_number(number)}}}"
            if found["letter"] not in _ESCAPES:
                raise AdapterError(
                    f"the replacement {template!r} has the escape {found[0]!r}, which "
                    r"means nothing; the whole match is \g<0>",
                    field="repl",
                )
            return _ESCAPES[found["letter"]]

        return _ESCAPED.sub(translate, template)

    def search(self, column: pl.Series, group: int, default: Any) -> pl.Series:
        """Return a group of the first match of each text."""
        import polars as pl

        found = column.str.extract(self.text, group)
        if default is None:
            return found
        missing = pl.Series([default], dtype=pl.String)
        return found.zip_with(column.str.contains(self.text), missing)

    def find_all(self, column: pl.Series) -> pl.Series:
        """Return all matches of each text."""
        import polars as pl

        if not self.groups:
            return column.str.extract_all(self.text)
        counts, groups = self._groups_of_matches(column)
        columns = [pl.Series(each, dtype=pl.String) for each in groups]
        if len(columns) == 1:
            return as_lists(columns[0], counts)
        return as_lists(pl.select(pl.concat_list(*columns)).to_series(), counts)

    def _groups_of_matches(
        self, column: pl.Series
    ) -> tuple[pl.Series, list[list[str]]]:
        """Return how many matches each text has, and each group of all matches.

        Matches are replaced by their groups between marks: a match alone, searched
        again, may fall into other groups than it does in its text.
        """
        import polars as pl

        mark = _mark_outside(column)
        groups = mark.join(f"${{{number + 1}}}" for number in range(len(self.groups)))
        marked = column.str.replace_all(self.text, f"{mark}{groups}{mark}")
        step = len(self.groups) + 1
        parts = [text.split(mark) for text in marked]
        counts = pl.Series([len(each) // step for each in parts], dtype=pl.UInt32)
        return counts, [
            [found for each in parts for found in each[number::step]]
            for number in range(1, step)
        ]

    def substitute(self, column: pl.Series, replacement: str, count: int) -> list[str]:
        """Return texts with their first matches replaced."""
        if not count:
            return column.str.replace_all(self.text, replacement).to_list()
        mark = _mark_outside([replacement, *column])
        marked = column.str.replace_all(self.text, f"{mark}{replacement}{mark}")
        matches = column.str.extract_all(self.text)
        found = []
        for text, old in zip(marked, matches.to_list(), strict=True):
            parts = text.split(mark)
            new = [*parts[1::2][:count], *old[count:]]
            found.append(_interleave(parts[::2], new))
        return found

    def split(self, column: pl.Series, most: int) -> list[list[str]]:
        """Return the parts of texts between matches."""
        mark = _mark_outside(column)
        marked = column.str.replace_all(self.text, mark)
        parts: list[list[str]] = [text.split(mark) for text in marked]
        if not most:
            return parts
        matches = column.str.extract_all(self.text).to_list()
        return [
            [*each[:most], _interleave(each[most:], old[most:])]
            if len(each) > most + 1
            else each
            for each, old in zip(parts, matches, strict=True)
        ]


def _mark_outside(texts: Iterable[str]) -> str:
    """Return a mark that no text holds, alone or together with a mark beside it."""
    number = 0
    for text in texts:
        while f"\0{number}\1" in text:
            number += 1
    return f"\0{number}\1"


def _interleave(outer: list[str], inner: list[str]) -> str:
    pairs = zip_longest(outer, inner, fillvalue="")
    return "".join(part for pair in pairs for part in pair)
