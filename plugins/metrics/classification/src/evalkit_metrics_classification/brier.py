"""Brier's score."""

from __future__ import annotations

import polars as pl

from evalkit_metrics_classification.probabilities import (
    ProbabilityMetric,
    probability_of,
)


class Brier(ProbabilityMetric):
    """Mean squared distance of the probabilities from those of a sure, right answer.

    Per example the sum over classes of (p - 1)^2 for the answer and p^2 for the others,
    and then the mean (Brier, Verification of Forecasts Expressed in Terms of
    Probability, 1950). For two classes it is twice the score that some libraries call
    Brier's, which looks at one class. Reads `prob`; a response without it is not
    scored, and a missing prediction that counts is 2. Range 0 to 2, lower is better;
    0 is sure and right, 1 - 1/k the same probability for each of k classes. Wilson's
    interval of a bounded mean.
    """

    bounds = (0.0, 2.0)
    per_example = "distance"
    score_column = "distance"
    worst_value = 2.0

    def example_score(self, labels: list[str]) -> pl.Expr:
        """Return the squared distance, with 1 more where the answer is no label."""
        is_right = [pl.col("target") == label for label in labels]
        squares = [
            (probability_of(label) - right.cast(pl.Float64)) ** 2
            for label, right in zip(labels, is_right, strict=True)
        ]
        unknown = pl.any_horizontal(is_right).not_().cast(pl.Float64)
        return pl.sum_horizontal([*squares, unknown])
