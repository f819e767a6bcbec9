"""Brier's score."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from evalkit_metrics_classification.probabilities import ProbabilityMetric


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
