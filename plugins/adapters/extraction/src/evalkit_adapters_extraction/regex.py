"""`regex`: what a pattern matches."""

from __future__ import annotations

from typing import Literal

import polars as pl
from pydantic import Field

from evalkit import AdapterError
from evalkit_adapters_extraction.settings import OtherwiseSettings, found_or


class Regex:
    r"""Take what a regular expression matches: its first group, or else the whole.

    The pattern is one of polars' engine (Rust's), which takes linear time for every
    text: look-around and back-references are refused. Flags stand in the pattern:
    `(?i)` ignores case, `(?m)` has `^` and `$` at lines, `(?s)` lets `.` match a line
    break. Text is compared as it is, in no other Unicode form.

    A text that does not match is unparsed, or with `otherwise=text` the text itself.

    Source: `str.extract` of polars.

    Example:
        ```yaml
        - kind: regex
          configuration: {pattern: '\(([A-D])\)', which: last}
        ```
    """

    version = "1"

    class Parameters(OtherwiseSettings):
        """The pattern, and which match and group of it."""

        pattern: str = Field(description="The regular expression")
        group: int | None = Field(
            default=None,
            ge=0,
            description="Number of the group, 0 for the whole match; null for the "
            "first group, or the whole where there is none",
        )
        which: Literal["first", "last"] = Field(
            default="first", description="Which of several matches counts"
        )

    def __init__(self, parameters: Parameters) -> None:
        self._pattern, self._otherwise = parameters.pattern, parameters.otherwise
        groups = _groups(parameters.pattern)
        group = min(groups, 1) if parameters.group is None else parameters.group
        if group > groups:
            raise AdapterError(
                f"the pattern {self._pattern!r} has {groups} groups, and no group "
                f"{group}",
                field="group",
            )
        self._group, self._is_last = group, parameters.which == "last"

    def extract_texts(self, texts: pl.Series) -> pl.DataFrame:
        """Return what matches in each text."""
        searched = texts
        if self._is_last:
            searched = texts.str.extract_all(self._pattern).list.last()
        values = searched.str.extract(self._pattern, self._group)
        return found_or(texts, values, "the pattern does not match", self._otherwise)


def _groups(pattern: str) -> int:
    """Return how many groups a pattern has.

    Raises:
        AdapterError: polars cannot compile it.
    """
    column = pl.Series([""])
    try:
        column.str.contains(pattern)
        dtype = column.str.extract_groups(pattern).dtype
    # polars has one class of errors for each place of its code
    except Exception as error:
        raise AdapterError(
            f"the pattern {pattern!r} cannot be used: {_first_of(error)}",
            field="pattern",
        ) from error
    return len(dtype.fields) if isinstance(dtype, pl.Struct) else 0


def _first_of(error: Exception) -> str:
    """Say what is wrong with a pattern in one line."""
    text = str(error)
    if "look-around" in text:
        return "look-around is not possible"
    if "backreferences" in text:
        return "back-references are not possible"
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    told = [line for line in lines if line.startswith("error:")]
    return (told or lines or [type(error).__name__])[0].removeprefix("error: ")
