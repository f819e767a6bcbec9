"""Scores of the probabilities that a response gives the labels, one an example."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

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
    per_example = "score"
    accepts_no_prediction = True
    # an example that was left out is not known to have probabilities, were it right
    has_possible_range = False

    def example_scores(
        self, probabilities: NDArray[np.float64], is_answer: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """Return the scores of examples.

        Args:
            probabilities: Those of the labels, of shape (examples, labels).
            is_answer: Which label is the answer, of the same shape; none where the
                answer has no probability.

        Returns:
            An array of shape (examples,).
        """
        raise TypeError(f"{type(self).__name__} does not define example_scores")

    def statistics(self, batch: pl.DataFrame) -> pl.DataFrame:
        """Return the score of every example, or why it has none."""
        given = batch["prob"]
        is_silent = batch["prediction"].is_null().to_numpy()
        if isinstance(given.dtype, pl.Struct) and given.dtype.fields:
            scores = self._scores(given, batch["target"])
            is_given = given.is_not_null().to_numpy()
        else:
            scores = np.zeros(len(batch))
            is_given = np.zeros(len(batch), dtype=bool)
        scores[~is_given] = 0.0
        scores[is_silent] = self.worst_value
        lacks = [None if known else NO_PROBABILITIES for known in is_given | is_silent]
        return pl.DataFrame(
            {
                "score": scores,
                "examples": np.ones(len(batch)),
                "not_scored": pl.Series(lacks, dtype=pl.String),
            }
        ).with_row_index("row")

    def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
        """Divide the sum by the examples."""
        return sums.select("group", value=pl.col("score") / pl.col("examples"))

    def _scores(self, given: pl.Series, target: pl.Series) -> NDArray[np.float64]:
        table = given.struct.unnest()
        probabilities = table.cast(pl.Float64).fill_null(0.0).to_numpy()
        answers = target.cast(pl.String)
        is_answer = [(answers == label).to_numpy() for label in table.columns]
        return self.example_scores(probabilities, np.column_stack(is_answer))
