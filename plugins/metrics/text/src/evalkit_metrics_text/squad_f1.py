"""SQuAD's F1."""

from __future__ import annotations

from evalkit_metrics_text.comparison import ComparisonMetric
from evalkit_metrics_text.normalisation import normalise
from evalkit_metrics_text.overlap import Tokens, token_f1


class SquadF1(ComparisonMetric[Tokens]):
    """Mean F1 of the tokens of prediction and answer, as SQuAD counts them.

    Per example 2 shared / (predicted + right) tokens, each shared as often as it occurs
    in both, and then the mean. Tokens are what stands between blanks after both were
    normalised: lower case, without ASCII punctuation and without a, an and the. Of
    several acceptable answers the best counts, without those that have no tokens unless
    all have none. Where prediction or answer has no tokens it is 1 if neither has any,
    else 0; a missing prediction that counts is 0. Range 0 to 1, in %, higher is better;
    Student's interval.

    Source: Rajpurkar et al., Know What You Don't Know: Unanswerable Questions for
    SQuAD, 2018; `f1` of SQuAD 2.0's evaluation script.

    Example:
        >>> import evalkit
        >>> evalkit.score("squad-f1", ["the cat sat"], ["A cat."])["squad-f1"].value
        0.6666666666666666
    """

    interval = "t"
    drops_empty = True

    def form_of(self, text: str) -> Tokens:
        """Return the words of the normalised text."""
        return tuple(normalise(text).split())

    def compare(self, prediction: Tokens, answer: Tokens) -> float:
        """Return F1 of the tokens, each counted as often as it occurs."""
        return token_f1(prediction, answer)
