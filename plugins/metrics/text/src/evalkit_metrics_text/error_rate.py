"""Edits over the length of the answers, added up over the whole set."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import ClassVar, Literal, NamedTuple

import polars as pl

from evalkit import Metric, MetricContext, Parameters
from evalkit_metrics_text.comparison import (
    NO_ANSWER,
    as_texts,
    flag_unspaced,
    with_unspaced,
)


class ErrorRateParameters(Parameters):
    """What is not counted as an error."""

    lowercase: bool = False
    """Whether capitals count as small letters."""
    punctuation: bool = True
    """Whether punctuation counts; `false` deletes all that Unicode calls so."""


class _Punctuation(dict[int, int | None]):
    """Deletes punctuation when a text is translated, filled when asked."""

    def __missing__(self, code: int) -> int | None:
        is_punctuation = unicodedata.category(chr(code)).startswith("P")
        return self.setdefault(code, None if is_punctuation else code)


_PUNCTUATION = _Punctuation()


class Errors(NamedTuple):
    """Errors of one example against one answer."""

    errors: float
    length: float


class ErrorRate(Metric):
    """A ratio of sums: edits that make predictions the answers / length of these."""

    Parameters = ErrorRateParameters
    unit = "%"
    bounds = (0.0, None)
    higher_is_better = False
    scale = 100.0
    answer_kinds = ("one", "any-of")
    interval = "ratio"
    accepts_no_prediction = True
    # a prediction may be further from the answer than none is
    has_possible_range = False
    parts: ClassVar[str]
    """What is edited, as the reason of a null says it."""

    def __init__(self, parameters: ErrorRateParameters | None = None) -> None:
        super().__init__(parameters)
        given = parameters or ErrorRateParameters()
        self._lowercase, self._punctuation = given.lowercase, given.punctuation

    def parts_of(self, text: str) -> Sequence[str]:
        """Split a text into what is edited.

        Args:
            text: A prediction or an answer.

        Returns:
            Its parts, in order.
        """
        raise TypeError(f"{type(self).__name__} does not define parts_of")

    def statistics(self, batch: pl.DataFrame, context: MetricContext) -> pl.DataFrame:
        """Return errors and length of the closest answer for every example."""
        rows = [
            self._closest(prediction, answers or NO_ANSWER)
            for prediction, answers in as_texts(batch, context).iter_rows()
        ]
        schema = {"errors": pl.Float64, "length": pl.Float64}
        return pl.DataFrame(rows, schema=schema, orient="row").with_row_index("row")

    def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
        """Divide the errors by the length; null where the answers hold nothing."""
        is_defined = pl.col("length") > 0
        reason = pl.lit(f"the answers hold no {self.parts}")
        return sums.select(
            "group",
            value=pl.when(is_defined).then(pl.col("errors") / pl.col("length")),
            reason=pl.when(~is_defined).then(reason),
        )

    def _closest(self, prediction: str | None, answers: Sequence[str | None]) -> Errors:
        references = [self._split(text) for text in answers if text is not None]
        if prediction is None:
            longest = float(max(map(len, references), default=0))
            return Errors(longest, longest)
        given = self._split(prediction)
        return min((_errors(given, each) for each in references), key=_by_rate)

    def _split(self, text: str) -> Sequence[str]:
        plain = text.lower() if self._lowercase else text
        if not self._punctuation:
            plain = plain.translate(_PUNCTUATION)
        return self.parts_of(plain)


def _errors(prediction: Sequence[str], answer: Sequence[str]) -> Errors:
    from rapidfuzz.distance import Levenshtein

    return Errors(Levenshtein.distance(prediction, answer), len(answer))


def _by_rate(found: Errors) -> tuple[float, float]:
    """Order by the rate, which of a text without parts is 0 or infinite."""
    errors, length = found
    rate = errors / length if length else (float("inf") if errors else 0.0)
    return rate, errors


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


class CharacterErrorRate(ErrorRate):
    """Character error rate: edits of characters / characters of all answers.

    As `wer`, with characters (Unicode code points) in the place of words. Blanks within
    a text are characters, those at its ends are left out. Characters are compared as
    they are: `lowercase=true` ignores capitals, `punctuation=false` deletes
    punctuation. Of several acceptable answers the one with the lowest rate counts. A
    missing prediction that counts has all characters of the longest answer deleted.
    Null where the answers have no characters. Range 0 to infinity, in %, lower is
    better; the delta method's interval of the logarithm.

    Source: Morris, Maier and Green, From WER and RIL to MER and WIL, 2004, for words;
    jiwer's `cer`.

    Example:
        >>> import evalkit
        >>> evalkit.score("cer", ["kitten", "yes"], ["kittens", "yes"])["cer"].value
        0.1
    """

    parts = "characters"

    def parts_of(self, text: str) -> Sequence[str]:
        """Return the characters, without blanks at the ends."""
        return text.strip()
