"""Edits over the length of the answers, added up over the whole set."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import ClassVar, NamedTuple

import polars as pl

from evalkit import Metric, MetricContext, Parameters
from evalkit_metrics_text.comparison import NO_ANSWER, as_texts


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
