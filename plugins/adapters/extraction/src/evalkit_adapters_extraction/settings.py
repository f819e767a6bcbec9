"""What several extractors share: their parameters, and tables of what they found."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

import polars as pl
from pydantic import Field

from evalkit_adapters_rows import AdapterSettings

Otherwise = Literal["unparsed", "text"]


class OtherwiseSettings(AdapterSettings):
    """Base of the parameters of extractors that may find nothing."""

    otherwise: Otherwise = Field(
        default="unparsed",
        description="What a text becomes in which nothing is found: unparsed, or the "
        "text itself, which the next stage then looks at",
    )


class Found(NamedTuple):
    """What an extractor found in one text."""

    value: str | None
    reason: str | None = None
    """Why there is nothing."""
    failed: bool = False
    """Whether the text is broken."""


def found_table(found: list[Found]) -> pl.DataFrame:
    """Return what was found as columns.

    Args:
        found: One entry for each text.
    """
    types = {"value": pl.String, "reason": pl.String, "failed": pl.Boolean}
    return pl.DataFrame(found, schema=types, orient="row")


def by_distinct(texts: pl.Series, find: Callable[[str], Found]) -> pl.DataFrame:
    """Look once at each distinct text.

    Args:
        texts: The texts.
        find: Looks at one.

    Returns:
        What was found, in the order of the texts.
    """
    distinct = texts.unique(maintain_order=True)
    found = found_table([find(text) for text in distinct])
    if len(distinct) == len(texts):
        return found
    found = found.with_columns(distinct.alias("text"))
    given = texts.alias("text").to_frame()
    joined = given.join(found, on="text", how="left", maintain_order="left")
    return joined.select("value", "reason", "failed")


def found_or(
    texts: pl.Series, values: pl.Series, reason: str, otherwise: Otherwise
) -> pl.DataFrame:
    """Say what becomes of texts in which nothing was found.

    Args:
        texts: The texts.
        values: What was found in them; null for nothing.
        reason: Why there is nothing.
        otherwise: What such a text becomes.
    """
    if otherwise == "text":
        return pl.DataFrame({"value": values, "text": texts}).select(
            pl.coalesce("value", "text").alias("value")
        )
    return pl.DataFrame({"value": values}).with_columns(
        reason=pl.when(pl.col("value").is_null()).then(pl.lit(reason))
    )
