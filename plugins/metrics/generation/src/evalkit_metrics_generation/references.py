"""Predictions and references of a batch, as texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import polars as pl

from evalkit import MetricContext

NO_REFERENCE = "it has no reference"
"""Why an example with an empty list of answers is not scored."""


class Texts(NamedTuple):
    """What of a batch can be scored, and what cannot."""

    rows: pl.Series
    """The positions in the batch of the examples that have a reference."""
    predictions: list[str]
    """Their predictions; an empty text where there is none."""
    references: list[list[str]]
    """Their references, at least one each."""
    without: pl.Series
    """The positions of the other examples."""


def texts_of(batch: pl.DataFrame, context: MetricContext) -> Texts:
    """Read the texts of a batch.

    Args:
        batch: Columns `prediction` and `target`.
        context: Says whether answers are single or lists.

    Returns:
        The texts; a number is taken as its text.
    """
    target = pl.col("target").cast(pl.String)
    if context.answer_kind == "any-of":
        target = pl.col("target").cast(pl.List(pl.String)).list.drop_nulls()
    else:
        target = pl.concat_list(target)
    frame = batch.select(
        pl.col("prediction").cast(pl.String).fill_null(""), target
    ).with_row_index("row")
    is_given = pl.col("target").list.len() > 0
    given = frame.filter(is_given)
    return Texts(
        given["row"],
        given["prediction"].to_list(),
        given["target"].to_list(),
        frame.filter(~is_given)["row"],
    )


def reference_list(target: Any) -> Sequence[str]:
    """Return the references of one example as a list of texts.

    Args:
        target: A text or number, or a list of them.

    Returns:
        The texts; an empty list where there is none.
    """
    if isinstance(target, str):
        return (target,)
    several = target if isinstance(target, (list, tuple)) else (target,)
    return [str(each) for each in several if each is not None]
