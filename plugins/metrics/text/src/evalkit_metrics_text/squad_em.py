"""SQuAD's exact match."""

from __future__ import annotations

from evalkit_metrics_text.comparison import ComparisonMetric
from evalkit_metrics_text.normalisation import normalise


class SquadExactMatch(ComparisonMetric[str]):
    """Share of predictions that equal an acceptable answer after normalisation.

    Equal / all examples. Prediction and answer are normalised: lower case, without
    ASCII punctuation and without a, an and the, blanks as one. If both
    become empty, they are equal. An answer that becomes empty only counts if all do.
    A missing prediction that counts is wrong. Range 0 to 1, in %, higher is better;
    Wilson's interval.

    Source: Rajpurkar et al., Know What You Don't Know: Unanswerable Questions for
    SQuAD, 2018; `exact` of SQuAD 2.0's evaluation script.

    Example:
        >>> import evalkit
        >>> evalkit.score("squad-em", ["The cat!"], [["cat", "dog"]])["squad-em"].value
        1.0
    """

    interval = "wilson"
    drops_empty = True

    def form_of(self, text: str) -> str:
        """Return the normalised text."""
        return normalise(text)

    def compare(self, prediction: str, answer: str) -> float:
        """Return 1 where the normalised texts are the same, else 0."""
        return float(prediction == answer)
