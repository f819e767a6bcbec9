"""SQuAD's exact match."""

from __future__ import annotations

from evalkit_metrics_qa.comparison import ComparisonMetric
from evalkit_metrics_qa.tokens import Tokens


class SquadExactMatch(ComparisonMetric):
    """Share of predictions that equal an acceptable answer after normalisation.

    Both are normalised as for `squad-f1`: lower case, without ASCII punctuation and
    without a, an and the. Range 0 to 1, higher is better; Wilson's interval.
    """

    interval = "wilson"

    def compare(self, prediction: Tokens, answer: Tokens) -> float:
        """Give 1 where the tokens are the same in the same order, else 0."""
        return float(prediction == answer)
