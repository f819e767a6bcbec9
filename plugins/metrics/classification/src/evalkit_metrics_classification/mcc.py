"""Matthews' correlation coefficient."""

from __future__ import annotations

import numpy as np

from evalkit_metrics_classification.averages import Numbers
from evalkit_metrics_classification.whole_agreement import Totals, WholeAgreement


class MCC(WholeAgreement):
    """Correlation of answers and predictions, for any number of classes (R_K).

    With n examples, c of them right, and t_k answers and p_k predictions of class k:
    (c n - sum t_k p_k) / sqrt((n^2 - sum t_k^2)(n^2 - sum p_k^2)). A missing prediction
    is one of a class of its own, and so are, together, those that are none of the
    declared labels. Where all answers, or all predictions, are of one class it is
    0 / 0: null here, 0 in scikit-learn. Range -1 to 1, 0 is chance, higher is better; a
    multinomial interval, with clusters a bootstrap.

    Source: Matthews, Comparison of the Predicted and Observed Secondary Structure of T4
    Phage Lysozyme, 1975; Gorodkin, Comparing Two K-Category Assignments by a K-Category
    Correlation Coefficient, 2004; scikit-learn's `matthews_corrcoef`.

    Example:
        >>> import evalkit
        >>> said, gold = ["a", "b", "b", "b"], ["a", "a", "b", "b"]
        >>> round(evalkit.score("mcc", said, gold)["mcc"].value, 4)
        0.5774
    """

    lacking = "all answers, or all predictions, are of one class"

    def agreement(self, totals: Totals) -> tuple[Numbers, Numbers]:
        """Return the covariance, and the root of the product of the variances."""
        squared = totals.examples**2
        spread = (squared - totals.gold_squares) * (squared - totals.predicted_squares)
        return totals.above_chance, np.sqrt(np.maximum(spread, 0))
