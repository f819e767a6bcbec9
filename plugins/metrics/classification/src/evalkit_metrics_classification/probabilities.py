"""Scores of the probabilities that a response gives the labels, one an example."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from evalkit import Metric

NO_PROBABILITIES = "the response holds no probabilities of the labels (`prob`)"


class Probabilities(NamedTuple):
    """The probabilities that responses give the labels."""

    labels: list[str]
    """The labels that have probabilities, in the order of the columns."""
    values: NDArray[np.float64]
    """Of shape (examples, labels); 0 where a response gives a label none."""
    is_given: NDArray[np.bool_]
    """Whether each response holds probabilities."""
    is_silent: NDArray[np.bool_]
    """Whether each example lacks a usable prediction."""


def probabilities_of(
    batch: pl.DataFrame, labels: Sequence[str] | None = None
) -> Probabilities:
    """Read the probabilities of a batch.

    Args:
        batch: Columns `prediction` and `prob`.
        labels: The labels where no response of the set gives any.

    Returns:
        The probabilities.
    """
    given = batch["prob"]
    is_silent = batch["prediction"].is_null().to_numpy()
    if isinstance(given.dtype, pl.Struct) and given.dtype.fields:
        table = given.struct.unnest()
        values = table.cast(pl.Float64).fill_null(0.0).to_numpy()
        # NaN is no probability, and would rank above all others
        is_known = np.isfinite(values).all(axis=1)
        values = np.where(is_known[:, None], values, 0.0)
        is_given = given.is_not_null().to_numpy() & is_known
        return Probabilities(table.columns, values, is_given, is_silent)
    names = list(labels or ())
    values = np.zeros((len(batch), len(names)))
    return Probabilities(names, values, np.zeros(len(batch), dtype=bool), is_silent)


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
        given = probabilities_of(batch)
        answers = batch["target"].cast(pl.String)
        scores = np.zeros(len(batch))
        if given.labels:
            is_answer = [(answers == label).to_numpy() for label in given.labels]
            scores = self.example_scores(given.values, np.column_stack(is_answer))
        is_given, is_silent = given.is_given, given.is_silent
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


class Brier(ProbabilityMetric):
    """Mean squared distance of the probabilities from those of a sure, right answer.

    Per example the sum over classes of (p - 1)^2 for the answer and p^2 for the others,
    and then the mean. For two classes it is twice the score that some libraries call
    Brier's, which looks at one class. Reads `prob`; a response without it is not
    scored, and a missing prediction that counts is 2. Range 0 to 2, lower is better;
    0 is sure and right, 1 - 1/k the same probability for each of k classes. Student's
    interval.

    Source: Brier, Verification of Forecasts Expressed in Terms of Probability, 1950;
    scikit-learn's `brier_score_loss` with `scale_by_half=False`.

    Example:
        >>> import evalkit
        >>> prob = [{"a": 0.5, "b": 0.5}]
        >>> evalkit.score("brier", ["a"], ["a"], fields={"prob": prob})["brier"].value
        0.5
    """

    bounds = (0.0, 2.0)
    worst_value = 2.0

    def example_scores(
        self, probabilities: NDArray[np.float64], is_answer: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """Return the squared distances, 1 more where the answer has no probability."""
        distances: NDArray[np.float64] = ((probabilities - is_answer) ** 2).sum(axis=1)
        return distances + ~is_answer.any(axis=1)


LEAST = sys.float_info.epsilon
"""The probability, 2.2e-16, that a smaller one of an answer counts as."""


class LogLoss(ProbabilityMetric):
    """Mean of -ln(p), the negative logarithm of the probability of the answer.

    Also called cross-entropy; in nats. A probability below 2.2e-16 counts as that: such
    an example costs 36.04, and the score is flagged with their number. Probabilities
    are taken as they are, also where they sum to .999. Reads `prob`; a response without
    it is not scored, and a missing prediction that counts costs 36.04. Range 0 to
    36.04, lower is better; ln(k) is the same probability for each of k classes.
    Student's interval.

    Source: Good, Rational Decisions, 1952; scikit-learn's `log_loss`.

    Example:
        >>> import evalkit
        >>> prob = [{"a": 0.5, "b": 0.5}]
        >>> found = evalkit.score("log-loss", ["a"], ["a"], fields={"prob": prob})
        >>> round(found["log-loss"].value, 4)
        0.6931
    """

    bounds = (0.0, None)
    worst_value = -math.log(LEAST)

    def example_scores(
        self, probabilities: NDArray[np.float64], is_answer: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """Return the losses, at most 36.04."""
        of_answer = (probabilities * is_answer).sum(axis=1)
        # a sum that was rounded may give the answer a hair more than 1
        losses: NDArray[np.float64] = 0.0 - np.log(np.clip(of_answer, LEAST, 1.0))
        return losses

    def statistics(self, batch: pl.DataFrame) -> pl.DataFrame:
        """Return the loss of every example, and whether it is the greatest there is."""
        rows = super().statistics(batch)
        is_greatest = pl.col("score") >= self.worst_value
        is_given = batch["prediction"].is_not_null()
        return rows.with_columns(impossible=(is_greatest & is_given).cast(pl.Float64))

    def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
        """Divide the sum by the examples."""
        impossible = pl.col("impossible")
        count = impossible.round().cast(pl.Int64)
        flag = pl.format("answers of probability 0, which count as 2.2e-16: {}", count)
        return sums.select(
            "group",
            value=pl.col("score") / pl.col("examples"),
            flag=pl.when(impossible > 0).then(flag),
        )
