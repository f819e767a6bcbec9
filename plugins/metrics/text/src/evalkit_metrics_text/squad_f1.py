"""SQuAD's F1."""

from __future__ import annotations

from collections import Counter

from evalkit_metrics_text.comparison import ComparisonMetric
from evalkit_metrics_text.tokens import Tokens


class SquadF1(ComparisonMetric):
    """Mean F1 of the tokens of prediction and answer, as SQuAD counts them.

    Per example 2 shared / (predicted + right) tokens, and then the mean (Rajpurkar et
    al., SQuAD: 100,000+ Questions for Machine Comprehension of Text, 2016). Both are
    normalised: lower case, without ASCII punctuation and without a, an and the. Of
    several acceptable answers the best counts. Where either has no tokens it is 1 if
    neither has any, else 0; a missing prediction that counts is 0. Range 0 to 1, in %,
    higher is better; Wilson's interval of a bounded mean.
    """

    interval = "t"

    def compare(self, prediction: Tokens, answer: Tokens) -> float:
        """Return F1 of the tokens, each counted as often as it occurs."""
        if prediction == answer:
            return 1.0
        if set(prediction).isdisjoint(answer):
            return 0.0  # also where one of them has no tokens
        shared = (Counter(prediction) & Counter(answer)).total()
        return 2 * shared / (len(prediction) + len(answer))
