"""Log loss."""

from __future__ import annotations

import math
import sys

import numpy as np
import polars as pl
from numpy.typing import NDArray

from evalkit_metrics_classification.probabilities import ProbabilityMetric

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
