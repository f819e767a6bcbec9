"""Scores of the probabilities that a response gives the labels, one an example."""

from __future__ import annotations

from typing import ClassVar

import polars as pl

from evalkit import Metric

NO_PROBABILITIES = "the response holds no probabilities of the labels (`prob`)"


class ProbabilityMetric(Metric):
    """A mean over examples of something computed from `prob`; lower is better.

    An example whose response holds no `prob` is not scored, and one without a usable
    prediction gets `worst_value`.
    """

    unit = ""
    higher_is_better = False
    answer_kinds = ("one",)
    interval = "t"
    columns = ("prob",)
    accepts_no_prediction = True
    score_column: ClassVar[str]
    """The column that holds the score of an example."""

    def example_score(self, labels: list[str]) -> pl.Expr:
        """Return the score of an example.

        Args:
            labels: The labels that have a probability, each a field of `prob`.

        Returns:
            An expression over `prob` and `target`.
        """
        raise TypeError(f"{type(self).__name__} does not define example_score")

    def statistics(self, batch: pl.DataFrame) -> pl.DataFrame:
        """Return the score of every example, or why it has none."""
        dtype = batch.schema["prob"]
        labels = [field.name for field in getattr(dtype, "fields", ())]
        texts = batch.with_columns(pl.col("target").cast(pl.String))
        score = self.example_score(labels) if labels else pl.lit(None, pl.Float64)
        is_silent = pl.col("prediction").is_null()
        is_given = pl.col("prob").is_not_null() & bool(labels)
        lacks = pl.when(~(is_silent | is_given)).then(pl.lit(NO_PROBABILITIES))
        scores = pl.when(is_silent).then(self.worst_value).when(is_given).then(score)
        return texts.select(
            scores.otherwise(0.0).alias(self.score_column),
            examples=pl.lit(1.0),
            not_scored=lacks,
        ).with_row_index("row")

    def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
        """Divide the sum by the examples."""
        total = pl.col(self.score_column)
        return sums.select("group", value=total / pl.col("examples"))


def probability_of(label: str) -> pl.Expr:
    """Return the probability of a label, 0 where a response does not name it."""
    return pl.col("prob").struct.field(label).cast(pl.Float64).fill_null(0.0)


def probability_of_the_answer(labels: list[str]) -> pl.Expr:
    """Return the probability of the answer, 0 where it is none of the labels."""
    answer = pl.col("target")
    return pl.coalesce(
        [pl.when(answer == label).then(probability_of(label)) for label in labels]
        + [pl.lit(0.0)]
    )
