"""Accuracy."""

from __future__ import annotations

import re
import string

import polars as pl
from pydantic import field_validator

from evalkit import Metric, MetricContext, Parameters


class Accuracy(Metric):
    """Share of examples whose prediction equals the answer, or one of several.

    Right / all examples. Texts are compared exactly, with capitals and blanks, and
    numbers by value. A missing prediction that counts is wrong. Range 0 to 1, in %,
    higher is better; Wilson's interval (Wilson 1927, Journal of the American
    Statistical Association 22: 209-212).

    Source: scikit-learn's `accuracy_score`.

    Example:
        >>> import evalkit
        >>> evalkit.score("accuracy", ["a", "b"], ["a", "a"])["accuracy"].value
        0.5
    """

    unit = "%"
    bounds = (0.0, 1.0)
    higher_is_better = True
    scale = 100.0
    interval = "wilson"
    per_example = "correct"
    worst_value = 0.0
    accepts_no_prediction = True

    def statistics(self, batch: pl.DataFrame, context: MetricContext) -> pl.DataFrame:
        """Return 1 for a right and 0 for a wrong prediction of every example."""
        return (
            batch.select(correct=is_right(context).cast(pl.Float64))
            .with_row_index("row")
            .with_columns(examples=pl.lit(1.0))
        )

    def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
        """Divide the right ones by all."""
        return sums.select("group", value=pl.col("correct") / pl.col("examples"))


def is_right(context: MetricContext) -> pl.Expr:
    """Return the expression that tells whether a prediction equals an answer.

    Args:
        context: Says whether answers are single or lists.

    Returns:
        A boolean expression without nulls over `prediction` and `target`.
    """
    prediction, target = pl.col("prediction"), pl.col("target")
    if context.answer_kind == "any-of":
        right = target.list.contains(prediction)
    else:
        right = prediction == target
    return right.fill_null(False) & prediction.is_not_null()


class ExactMatchParameters(Parameters):
    """What is ignored in texts, in the order in which it is removed."""

    regexes_to_ignore: tuple[str, ...] = ()
    """Python regular expressions; what they match is deleted."""
    ignore_case: bool = False
    """Compare in lower case, by Unicode."""
    ignore_punctuation: bool = False
    """Delete the 32 ASCII punctuation characters."""
    ignore_numbers: bool = False
    """Delete the digits 0 to 9."""

    @field_validator("regexes_to_ignore")
    @classmethod
    def _compile(cls, patterns: tuple[str, ...]) -> tuple[str, ...]:
        for pattern in patterns:
            try:
                re.compile(pattern)
            except re.error as error:
                raise ValueError(f"invalid regular expression: {error}") from error
        return patterns


class ExactMatch(Accuracy):
    """Share of examples whose predicted text equals an acceptable answer, exactly.

    Right / all examples. Nothing is normalized unless a parameter says so: capitals,
    punctuation and blanks count. The parameters change prediction and answer alike, in
    this order: `regexes_to_ignore` are deleted one after the other, `ignore_case`
    converts to lower case, `ignore_punctuation` deletes ASCII punctuation,
    `ignore_numbers` deletes ASCII digits. Two texts that become empty are equal.
    Without parameters it is `accuracy` under the name that question answering uses. A
    missing prediction that counts is wrong. Range 0 to 1, in %, higher is better;
    Wilson's interval.

    Source: HELM's `exact_match`; with parameters lm-evaluation-harness's `exact_match`.

    Example:
        >>> import evalkit
        >>> answers = [["two", "2"], ["Paris"]]
        >>> evalkit.score("exact-match", ["2", "paris"], answers)["exact-match"].value
        0.5
        >>> name = "exact-match:ignore_case=true"
        >>> evalkit.score(name, ["2", "paris"], answers)[name].value
        1.0
    """

    Parameters = ExactMatchParameters

    def __init__(self, parameters: ExactMatchParameters | None = None) -> None:
        super().__init__(parameters)
        options = parameters or ExactMatchParameters()
        self._patterns = [re.compile(each) for each in options.regexes_to_ignore]
        self._ignore_case = options.ignore_case
        deleted = (string.punctuation if options.ignore_punctuation else "") + (
            string.digits if options.ignore_numbers else ""
        )
        self._deleted = str.maketrans("", "", deleted)

    def statistics(self, batch: pl.DataFrame, context: MetricContext) -> pl.DataFrame:
        """Return 1 for a right and 0 for a wrong prediction of every example."""
        if self._patterns or self._ignore_case or self._deleted:
            batch = batch.with_columns(
                self._normalize(batch["prediction"]), self._normalize(batch["target"])
            )
        return super().statistics(batch, context)

    def _normalize(self, column: pl.Series) -> pl.Series:
        """Normalize each distinct text once; numbers stay as they are."""
        is_list = isinstance(column.dtype, pl.List)
        texts = column.explode() if is_list else column
        if texts.dtype not in (pl.String, pl.Enum, pl.Categorical):
            return column
        distinct = texts.cast(pl.String).unique().drop_nulls()
        normalized = [self._normalize_text(text) for text in distinct]
        forms = pl.Series(normalized, dtype=pl.String)
        if is_list:
            form = pl.element().cast(pl.String).replace_strict(distinct, forms)
            return column.list.eval(form)
        return column.cast(pl.String).replace_strict(distinct, forms)

    def _normalize_text(self, text: str) -> str:
        for pattern in self._patterns:
            text = pattern.sub("", text)
        return (text.lower() if self._ignore_case else text).translate(self._deleted)
