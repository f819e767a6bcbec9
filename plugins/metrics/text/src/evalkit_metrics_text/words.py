"""Words and characters of a text in any script."""

from __future__ import annotations

import unicodedata

import polars as pl

_BLANK = 0x20
_UNSPACED = r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]{8}"
"""Eight letters of scripts without blanks between words, as a regular expression."""


class _Separators(dict[int, int]):
    """What becomes of a character where words are told apart, filled when asked."""

    def __missing__(self, code: int) -> int:
        category = unicodedata.category(chr(code))
        is_of_word = category[0] in "LMN" or category == "Pc"
        return self.setdefault(code, code if is_of_word else _BLANK)


_SEPARATORS = _Separators()


def words_of(text: str) -> list[str]:
    """Return the words of a text: runs of letters, marks, digits and underscores.

    Args:
        text: The text.

    Returns:
        Its words; everything else separates them.
    """
    return text.translate(_SEPARATORS).split()


def with_unspaced(scored: pl.DataFrame, answers: pl.Series | None) -> pl.DataFrame:
    """Add columns that count texts, and those without blanks between words.

    Args:
        scored: Statistics, a row for each example.
        answers: The acceptable answers to each; None where words need no blanks.

    Returns:
        The statistics with the columns `unspaced` and `texts`.
    """
    numbers = scored.with_columns(unspaced=pl.lit(0.0), texts=pl.lit(1.0))
    if answers is None:
        return numbers
    first = answers.list.get(0, null_on_oob=True)
    unspaced = first.str.contains(_UNSPACED).fill_null(False)
    return numbers.with_columns(unspaced=unspaced.cast(pl.Float64))


def flag_unspaced(scores: pl.DataFrame, sums: pl.DataFrame) -> pl.DataFrame:
    """Flag the scores of groups in which half of the texts have no blanks."""
    flag = "the texts have no blanks between words, see tokens=characters"
    is_unspaced = 2 * pl.col("unspaced") >= pl.col("texts")
    return scores.with_columns(
        flag=sums.select(pl.when(is_unspaced).then(pl.lit(flag))).to_series()
    )
