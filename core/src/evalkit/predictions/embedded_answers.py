"""Finds free answers that hold the right one among other words, and score 0.

All is done in columns: texts become words between single blanks, so that one text holds
another as whole words where it holds it as characters.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from evalkit.base.columns import named
from evalkit.base.violations import shorten
from evalkit.base.wording import count_of

_WHAT = "the right answer among other words"

_LONGEST = 100_000
"""Bytes of predictions that are looked at, so that no text takes long."""


def embedded_notices(
    answers: pl.Series,
    given: pl.Series,
    scores: pl.Series,
    labels: Sequence[str] | None,
    *,
    show: bool = True,
) -> list[str]:
    """Say how many predictions score 0 and hold their answer among other words.

    Args:
        answers: The answers, each as often as there are replications; lists where
            several are right.
        given: Their predictions.
        scores: What the main metric gave each; null for none.
        labels: The labels of the task; None where answers are free text.
        show: Whether texts may be quoted.

    Returns:
        At most one sentence; none where answers are labels or no texts.
    """
    is_free = labels is None and given.dtype == pl.String
    if not is_free or answers.dtype not in (pl.String, pl.List(pl.String)):
        return []
    wrong = pl.DataFrame({"answer": answers, "given": given, "score": scores}).filter(
        (pl.col("score") == 0) & (pl.col("given").str.len_bytes() <= _LONGEST)
    )
    pairs = wrong.drop("score").with_row_index("row")
    if isinstance(answers.dtype, pl.List):
        pairs = pairs.explode("answer")
    pairs = pairs.drop_nulls().filter(_may_hold()).filter(_holds())
    found = pairs.unique("row", keep="first", maintain_order=True)
    if found.is_empty():
        return []
    number, is_one = count_of(found.height, "prediction"), found.height == 1
    verbs = ("scores", "holds") if is_one else ("score", "hold")
    example = ""
    if show:
        _, answer, text = found.select("row", "answer", "given").row(0)
        example = f", such as {shorten(text)} for {shorten(answer)}"
    return [
        f"{number} that {verbs[0]} 0 {verbs[1]} {_WHAT}{example}; an adapter of the "
        "predictions can take it out by a pattern (`$func: search`, docs/adapters.md)"
    ]


def is_about_embedded(notice: str) -> bool:
    """Tell whether a notice is one of `embedded_notices`."""
    return _WHAT in notice


def _may_hold() -> pl.Expr:
    """Tell quickly which predictions may hold their answer: most do not.

    They hold the characters of its first word.
    """
    answer, given = (
        named(column).str.replace_all(",", "", literal=True).str.to_lowercase()
        for column in ("answer", "given")
    )
    first = answer.str.extract(r"([\p{L}\p{N}]+)")
    return given.str.contains(first, literal=True).fill_null(False)


def _holds() -> pl.Expr:
    """Tell whether words of the prediction are those of the answer, in their order.

    An answer of one letter must be written as it is, since "a" is in most texts.
    """
    answer, given = _words("answer"), _words("given")
    is_letter = answer.str.len_chars() == 3
    folded = given.str.to_lowercase().str.contains(
        answer.str.to_lowercase(), literal=True
    )
    as_written = given.str.contains(answer, literal=True)
    has_words = answer.str.len_chars() > 2
    return has_words & pl.when(is_letter).then(as_written).otherwise(folded)


def _words(column: str) -> pl.Expr:
    """Return a text as words between single blanks, one at each end too.

    A number is one word with its sign, its decimals and without commas for thousands:
    8 is no word of 3.8, 1,800 or -8.
    """
    text = named(column)
    for _ in range(2):  # a digit between two commas is part of one match alone
        text = text.str.replace_all(r"(\d),(\d{3})", "${1}${2}")
        text = text.str.replace_all(r"(\d)\.(\d)", "${1}_${2}")
    text = text.str.replace_all(r"(^|[^\w)\]])[-\u2212](\d)", "${1} minus_${2}")
    return pl.concat_str(
        pl.lit(" "),
        text.str.replace_all(r"[^\w\p{M}]+", " ").str.strip_chars(" "),
        pl.lit(" "),
    )
