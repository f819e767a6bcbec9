"""Finds predictions that are the number of their answer, but written otherwise."""

from __future__ import annotations

import polars as pl

from evalkit.base.columns import named
from evalkit.base.violations import shorten
from evalkit.base.wording import count_of

_DECIMAL = r"^\s*[+-]?(\d+\.?\d*|\.\d+)\s*$"

_WHAT = "the answer's number written otherwise"

_LONGEST = 15
"""Numbers of so many digits are different as floats where they are different."""


def number_notices(
    answers: pl.Series, given: pl.Series, *, show: bool = True
) -> list[str]:
    """Say how many predictions are their answer as a number, and not as a text.

    Args:
        answers: The answers, each as often as there are replications.
        given: Their predictions.
        show: Whether answers may be quoted.

    Returns:
        At most one sentence; none where answers and predictions are no texts.
    """
    if answers.dtype != pl.String or given.dtype != pl.String:
        return []
    both = pl.DataFrame({"answer": answers, "given": given}).filter(
        pl.col("answer") != pl.col("given")
    )
    both = both.filter(_is_number("answer")).filter(_is_number("given"))
    same = both.filter(_number("answer") == _number("given"))
    if same.is_empty():
        return []
    predictions = count_of(same.height, "prediction")
    verb, pronoun = ("is", "it") if same.height == 1 else ("are", "them")
    example = ""
    if show:
        pairs = same.group_by("given", "answer").len()
        first = pairs.sort("len", "given", descending=[True, False]).row(0)
        example = f", such as {shorten(first[0])} for {shorten(first[1])}"
    return [
        f"{predictions} {verb} {_WHAT}{example}; a "
        f"metric that compares texts as they are written takes {pronoun} for wrong"
    ]


def is_about_numbers(notice: str) -> bool:
    """Tell whether a notice is one of `number_notices`."""
    return _WHAT in notice


def _is_number(column: str) -> pl.Expr:
    text = named(column)
    return (text.str.len_bytes() <= _LONGEST) & text.str.contains(_DECIMAL)


def _number(column: str) -> pl.Expr:
    return named(column).str.strip_chars().cast(pl.Float64)
