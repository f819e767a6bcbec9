"""Cohen's kappa."""

from __future__ import annotations

from evalkit_metrics_classification.averages import Numbers
from evalkit_metrics_classification.whole_agreement import Totals, WholeAgreement


class CohenKappa(WholeAgreement):
    """Agreement beyond chance, (observed - expected) / (1 - expected).

    Expected is the agreement of two independent labellings with the shares that the
    classes have in answers and in predictions. A missing prediction agrees with
    nothing. Where all answers and predictions are of one class it is 0 / 0, and null.
    Range -1 to 1, 0 is chance, higher is better; a multinomial interval, with clusters
    a bootstrap.

    Source: Cohen, A Coefficient of Agreement for Nominal Scales, 1960; scikit-learn's
    `cohen_kappa_score` without weights.

    Example:
        >>> import evalkit
        >>> said, gold = ["a", "b", "b", "b"], ["a", "a", "b", "b"]
        >>> evalkit.score("cohen-kappa", said, gold)["cohen-kappa"].value
        0.5
    """

    lacking = "all answers and predictions are of one class"

    def agreement(self, totals: Totals) -> tuple[Numbers, Numbers]:
        """Return observed minus expected, and 1 minus expected, times n squared."""
        return totals.above_chance, totals.examples**2 - totals.products
