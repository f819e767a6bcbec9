"""F1 of the tokens of a text in any language."""

from __future__ import annotations

import unicodedata
from typing import Literal

import polars as pl

from evalkit import MetricContext, Parameters
from evalkit_metrics_text.comparison import ComparisonMetric, as_texts
from evalkit_metrics_text.overlap import Tokens, token_f1
from evalkit_metrics_text.words import flag_unspaced, with_unspaced, words_of


class TokenParameters(Parameters):
    """What tokens are."""

    tokens: Literal["words", "characters", "blanks"] | None = None
    """`words` (runs of letters, marks and digits), their `characters`, or what stands
    between `blanks`. Default: `characters` if the dataset's languages write no blanks
    between words, such as Chinese and Thai, else `words`."""
    lowercase: bool = True
    """Whether capitals count as small letters."""


class TokenF1(ComparisonMetric[Tokens]):
    """Mean F1 of the tokens of prediction and answer, in any language.

    Per example 2 shared / (predicted + right) tokens, each shared as often as it occurs
    in both, and then the mean. No word is left out, as SQuAD's F1 does with English
    articles. Both texts are first put into Unicode's form NFC, and into lower case but
    for `lowercase=false`. `tokens=words`, the default, takes runs of letters, marks,
    digits and underscores; `tokens=characters` each character of them, for scripts
    without blanks between words and the default of datasets in such languages;
    `tokens=blanks` what stands between blanks, with its
    punctuation. Of several acceptable answers the best counts. Where either has no
    tokens it is 1 if neither has any, else 0; a missing prediction that counts is 0.
    Range 0 to 1, in %, higher is better; Student's interval.

    Source: van Rijsbergen, Information Retrieval, 1979, chapter 7; the F1 of SQuAD's
    evaluation script (Rajpurkar et al., 2016) without its normalisation.

    Example:
        >>> import evalkit
        >>> evalkit.score("token-f1", ["the cat sat"], ["The cat."])["token-f1"].value
        0.8
    """

    Parameters = TokenParameters
    interval = "t"

    def __init__(self, parameters: TokenParameters | None = None) -> None:
        super().__init__(parameters)
        given = parameters or TokenParameters()
        self._given, self._lowercase = given.tokens, given.lowercase
        self._tokens = self._given or "words"

    def statistics(self, batch: pl.DataFrame, context: MetricContext) -> pl.DataFrame:
        """Return the score of every example, or why it has none."""
        tokens = self._given or ("characters" if context.lacks_blanks else None)
        self._tokens = tokens or "words"
        answers = None if tokens else as_texts(batch, context)["target"]
        return with_unspaced(super().statistics(batch, context), answers)

    def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
        """Divide the sum of the scores, and flag texts without blanks."""
        return flag_unspaced(super().finalize(sums), sums)

    def form_of(self, text: str) -> Tokens:
        """Return the tokens of a text."""
        plain = unicodedata.normalize("NFC", text.lower() if self._lowercase else text)
        if self._tokens == "blanks":
            return tuple(plain.split())
        words = words_of(plain)
        return tuple("".join(words) if self._tokens == "characters" else words)

    def compare(self, prediction: Tokens, answer: Tokens) -> float:
        """Return F1 of the tokens, each counted as often as it occurs."""
        return token_f1(prediction, answer)
