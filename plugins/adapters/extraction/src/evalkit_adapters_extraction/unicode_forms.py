"""Texts in one Unicode form."""

from __future__ import annotations

import polars as pl


def composed(texts: pl.Series) -> pl.Series:
    """Return texts in the form NFC; those of ASCII are not looked at.

    Args:
        texts: The texts.
    """
    is_ascii = texts.str.len_bytes() == texts.str.len_chars()
    if is_ascii.all():
        return texts
    return (
        texts.alias("text")
        .to_frame()
        .select(
            pl.when(is_ascii)
            .then("text")
            .otherwise(pl.col("text").str.normalize("NFC"))
        )
        .to_series()
    )
