"""Finds texts that examples share, where nothing says that they belong together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import polars as pl

from evalkit.base.columns import unnamed

_LEAST_LENGTH = 20
"""Characters below which texts are words that repeat by themselves."""

_LEAST_SHARE = 0.1
"""Share of the examples whose text is there once more, from which it is said."""

_FEWEST = 10
"""Fewer different texts are instructions or kinds rather than what is asked about."""


def long_text_hashes(texts: pl.Series) -> pl.Series:
    """Give what tells long texts apart, in little memory.

    Args:
        texts: Texts.

    Returns:
        A hash of each that has 20 characters or more, without the others.
    """
    texts = unnamed(texts)
    return texts.filter(texts.str.len_chars() >= _LEAST_LENGTH).hash()


def repeated_text_notices(
    frame: pl.DataFrame, hashes: Mapping[str, pl.Series], fields: Iterable[str]
) -> list[str]:
    """Say of which field examples share texts, and what to do about it.

    Args:
        frame: The examples; it may lack columns whose hashes are known.
        hashes: Those of long texts, by column.
        fields: The fields that may hold what examples are about.

    Returns:
        At most one sentence: of the field with the fewest texts.
    """
    found = []
    for name in fields:
        known = hashes.get(name)
        if known is None and frame.schema.get(name) == pl.String:
            known = long_text_hashes(frame[name])
        if known is None:
            continue
        distinct = known.n_unique()
        if distinct >= _FEWEST and len(known) - distinct >= _LEAST_SHARE * frame.height:
            found.append((distinct, name, len(known)))
    return [
        f"{count} examples have only {distinct} different texts in {name!r}, and the "
        f"intervals take them for independent; --cluster {name} does not"
        for distinct, name, count in sorted(found)[:1]
    ]
