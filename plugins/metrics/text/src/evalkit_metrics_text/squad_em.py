"""SQuAD's exact match."""

from __future__ import annotations

from evalkit_metrics_text.comparison import ComparisonMetric
from evalkit_metrics_text.tokens import Tokens


class SquadExactMatch(ComparisonMetric):
    """Share of predictions that equal an acceptable answer after normalisation.

    The exact match of Rajpurkar et al., SQuAD: 100,000+ Questions for Machine
    Comprehension of Text, 2016. Both are normalised as there: lower case, without ASCII
    punctuation and without a, an and the, blanks as one. A missing prediction that
    counts is wrong. Range 0 to 1, in %, higher is better; Wilson's interval.
    """

    interval = "wilson"

    def compare(self, prediction: Tokens, answer: Tokens) -> float:
        """Return 1 where the tokens are the same in the same order, else 0."""
        return float(prediction == answer)
