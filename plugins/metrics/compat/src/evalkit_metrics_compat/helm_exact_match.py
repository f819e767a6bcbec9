"""HELM's exact match."""

from __future__ import annotations

from evalkit_metrics_compat.helm_text import equals
from evalkit_metrics_compat.text_comparison import TextComparison


class HelmExactMatch(TextComparison):
    """Share of predictions that equal an acceptable answer but for outer blanks.

    It differs from `exact-match` in two ways: blanks at either end of prediction and
    answer do not count, and an empty prediction is wrong, also where the answer is
    empty. A missing prediction that counts is wrong. Range 0 to 1, in %, higher is
    better; Wilson's interval.

    Source: Liang et al., Holistic Evaluation of Language Models, 2023; `exact_match` of
    HELM 0.5.16.

    Example:
        >>> import evalkit
        >>> found = evalkit.score("helm-exact-match", ["33 ", ""], ["33", ""])
        >>> found["helm-exact-match"].value
        0.5
    """

    interval = "wilson"

    def compare(self, prediction: str, answer: str) -> float:
        """Return 1 where they are equal but for outer blanks, else 0."""
        return equals(prediction, answer)
