"""`after`: what stands behind a cue."""

from __future__ import annotations

import re
import unicodedata
from typing import Literal

import polars as pl
from pydantic import Field

from evalkit import AdapterError
from evalkit_adapters_extraction.settings import OtherwiseSettings, found_or

_MARKS = "[*_`]*"
"""Emphasis that may stand within a cue (`**Answer**:`) or close behind it."""
_FULL_WIDTH = 0xFEE0
"""How far the full-width form of an ASCII character is from it."""


class After:
    """Take what stands behind a cue, such as `Answer:`, to the end of the text.

    Case does not count unless `case=true`. Text and cue are compared in the Unicode
    form NFC; `:` is its full-width form too, blanks are any blanks, and Markdown
    emphasis within the cue does not count, so that `**Answer**: B` has the cue
    `Answer:`. A cue that begins with a letter or digit is not found within a word. What
    follows loses the blanks around it.

    A text without the cue is unparsed, or with `otherwise=text` the text itself. A text
    that ends in the cue is empty.

    Source: the answer tags of SEA-HELM, without its faults.

    Example:
        ```yaml
        - kind: after
          configuration: {cue: "Answer:", which: first}
        ```
    """

    version = "1"

    class Parameters(OtherwiseSettings):
        """The cue, and which of several counts."""

        cue: str = Field(description="The cue")
        which: Literal["first", "last"] = Field(
            default="last", description="Which of several cues counts"
        )
        case: bool = Field(default=False, description="Whether case counts")

    def __init__(self, parameters: Parameters) -> None:
        if not parameters.cue.strip():
            raise AdapterError("the cue is empty", field="cue")
        cue = unicodedata.normalize("NFC", parameters.cue.strip())
        found, flags = _cue_pattern(cue), "s" if parameters.case else "is"
        self._cue = f"(?{flags}){found}"
        self._until_cue = f"(?{flags})^{_before(cue, parameters.which)}{found}"
        self._otherwise = parameters.otherwise

    def extract_texts(self, texts: pl.Series) -> pl.DataFrame:
        """Return what follows the cue in each text."""
        text, rest = pl.col("text"), pl.col("rest")
        behind: pl.Expr = text.str.replace(self._until_cue, "")
        is_found = rest.str.len_bytes() != text.str.len_bytes()
        values = (
            _composed(texts)
            .alias("text")
            .to_frame()
            .select(self._from_first_cue(text))
            .with_columns(rest=behind)
            .select(pl.when(is_found).then(rest.str.strip_chars()))
            .to_series()
        )
        return found_or(texts, values, "the cue is not there", self._otherwise)

    def _from_first_cue(self, text: pl.Expr) -> pl.Expr:
        """Leave out what stands before the first cue and the character before it.

        A search for the cue alone is several times faster than one for the last cue.
        Places are bytes, and so only texts of ASCII are cut.
        """
        place = text.str.find(self._cue).cast(pl.Int64)
        is_ascii = text.str.len_bytes() == text.str.len_chars()
        cut = text.str.slice(pl.max_horizontal(place - 1, 0))
        return pl.when(is_ascii).then(cut).otherwise(text)


def _composed(texts: pl.Series) -> pl.Series:
    """Return texts in the form NFC, which those of ASCII have."""
    is_ascii = texts.str.len_bytes() == texts.str.len_chars()
    if is_ascii.all():
        return texts
    return texts.zip_with(is_ascii, texts.str.normalize("NFC"))


def _before(cue: str, which: str) -> str:
    """Return the pattern of all that stands before a cue."""
    first = cue[0]
    is_word = first.isdigit() or first.lower() != first.upper()
    # lazy where the first cue counts, so that it may also begin the text
    lazy = "" if which == "last" else "?"
    before = f".*{lazy}"
    return rf"(?:{before}[^\p{{L}}\p{{N}}])?{lazy}" if is_word else before


def _cue_pattern(cue: str) -> str:
    signs = re.findall(r"\s+|.", cue, re.DOTALL)
    return f"{''.join(map(_sign, signs))}{_MARKS}"


def _sign(sign: str) -> str:
    if sign.isspace():
        return r"\s+"
    if sign.isalnum() or not ("!" <= sign <= "~" or "\uff01" <= sign <= "\uff5e"):
        return re.escape(sign)
    narrow = sign if sign <= "~" else chr(ord(sign) - _FULL_WIDTH)
    wide = chr(ord(narrow) + _FULL_WIDTH)
    return f"{_MARKS}[{re.escape(narrow)}{wide}]"
