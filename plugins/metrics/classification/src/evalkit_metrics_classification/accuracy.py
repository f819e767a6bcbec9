"""Accuracy."""

from __future__ import annotations

import polars as pl

from evalkit import Metric, MetricContext


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
