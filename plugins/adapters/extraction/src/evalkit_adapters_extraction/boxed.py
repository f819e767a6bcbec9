r"""`boxed`: what stands in the last `\boxed{…}`."""

from __future__ import annotations

import re

import polars as pl

from evalkit_adapters_extraction.settings import (
    Found,
    OtherwiseSettings,
    by_distinct,
)

_BOX = re.compile(r"\\(?:boxed|fbox)\s*\{")
_NO_BOX = "there is no box"


class Boxed:
    r"""Take what stands in the last `\boxed{…}` or `\fbox{…}`, with braces in it.

    Several backslashes are one; braces may be nested, and `\{` and `\}` are none. A
    text whose last box is not closed is unparsed: what was cut off is not known. A text
    without a box is unparsed, or with `otherwise=text` the text itself.

    Source: how MATH (Hendrycks et al. 2021) marks answers.

    Example:
        ```yaml
        - kind: boxed
        ```
    """

    version = "1"

    class Parameters(OtherwiseSettings):
        """What a text without a box becomes."""

    def __init__(self, parameters: Parameters) -> None:
        self._keeps_text = parameters.otherwise == "text"

    def extract_texts(self, texts: pl.Series) -> pl.DataFrame:
        """Return what stands in the last box of each text."""
        return by_distinct(texts, self._find)

    def _find(self, text: str) -> Found:
        inner = last_box(text)
        if inner is not None:
            return Found(inner)
        if _BOX.search(text):
            return Found(None, "the last box is not closed")
        return Found(text) if self._keeps_text else Found(None, _NO_BOX)


def last_box(text: str) -> str | None:
    """Return what stands in the last box; None if there is none or it is not closed.

    Args:
        text: The text.
    """
    starts = [match.end() for match in _BOX.finditer(text)]
    inner = _closed(text, starts[-1]) if starts else None
    return None if inner is None else inner.strip()


def _closed(text: str, start: int) -> str | None:
    """Return what stands between an opening brace and the one that closes it."""
    depth, is_escaped = 1, False
    for place in range(start, len(text)):
        sign = text[place]
        if is_escaped or sign == "\\":
            is_escaped = not is_escaped
            continue
        depth += (sign == "{") - (sign == "}")
        if not depth:
            return text[start:place]
    return None
