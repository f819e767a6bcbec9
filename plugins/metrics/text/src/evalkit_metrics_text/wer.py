"""Word error rate."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

import polars as pl

from evalkit import MetricContext
from evalkit_metrics_text.comparison import as_texts
from evalkit_metrics_text.error_rate import ErrorRate, ErrorRateParameters
from evalkit_metrics_text.words import flag_unspaced, with_unspaced


class WordParameters(ErrorRateParameters):
    """What words are, and what is not counted as an error."""

    tokens: Literal["words", "characters"] | None = None
    """`words` between blanks, or `characters` without blanks. Default: `characters` if
    the dataset's languages write no blanks between words, such as Chinese and Thai."""


class WordErrorRate(ErrorRate):
    """Word error rate: edits of words / words of the answers, over the whole set.

    Edits are the fewest insertions, deletions and substitutions of words that make the
    prediction the answer; they and the words of the answers are added up before they
    are divided, so that a long text counts more than a short one. Above 1 where more
    words are wrong or added than the answers have. Words stand between spaces or two
    blanks of any kind, and are compared as they are: `lowercase=true` ignores capitals,
    `punctuation=false` deletes punctuation. In datasets of languages without blanks
    between words each character is a word (`tokens=characters`). Of several acceptable
    answers the one with the lowest rate counts. A missing prediction that counts has
    all words of the longest answer deleted. Null where the answers have no words. Range
    0 to infinity, in %, lower is better; the delta method's interval of the logarithm.

    Source: Woodard and Nelson, An Information Theoretic Measure of Speech Recognition
    Performance, 1982; jiwer's `wer`.

    Example:
        >>> import evalkit
        >>> said, gold = ["the cat sat", "yes"], ["a cat sat", "yes"]
        >>> evalkit.score("wer", said, gold)["wer"].value
        0.25
    """

    Parameters = WordParameters
    parts = "words"

    def __init__(self, parameters: WordParameters | None = None) -> None:
        super().__init__(parameters)
        self._tokens = (parameters or WordParameters()).tokens
        self._by_character = self._tokens == "characters"

    def statistics(self, batch: pl.DataFrame, context: MetricContext) -> pl.DataFrame:
        """Return errors and length of the closest answer for every example."""
        tokens = self._tokens or ("characters" if context.lacks_blanks else None)
        self._by_character = tokens == "characters"
        answers = None if tokens else as_texts(batch, context)["target"]
        return with_unspaced(super().statistics(batch, context), answers)

    def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
        """Divide the errors by the length, and flag texts without blanks."""
        return flag_unspaced(super().finalize(sums), sums)

    def parts_of(self, text: str) -> Sequence[str]:
        """Return the words, as jiwer splits them: one tab is part of a word."""
        if self._by_character:
            return "".join(text.split())
        spaced = re.sub(r"\s\s+", " ", text).strip()
        return [word for word in spaced.split(" ") if word]
