"""HELM's F1 of tokens."""

from __future__ import annotations

from evalkit_metrics_compat.helm_text import words_of
from evalkit_metrics_compat.text_comparison import TextComparison


class HelmF1(TextComparison):
    """Mean F1 of the sets of tokens of prediction and answer.

    Per example 2 shared / (predicted + right), where each token counts once, and then
    the mean. It differs from `squad-f1` in two ways: tokens that are repeated count
    once, and where neither text has a token it is 0 and not 1. Both are normalised as
    there (lower case, without ASCII punctuation, without a, an and the). Of several
    acceptable answers the best counts; a missing prediction that counts is 0. Range 0
    to 1, in %, higher is better; Student's interval.

    Source: Liang et al., Holistic Evaluation of Language Models, 2023; `f1_score` of
    HELM 0.5.16, which is `nltk.metrics.scores.f_measure` of sets.

    Example:
        >>> import evalkit
        >>> evalkit.score("helm-f1", ["no no no"], ["no"])["helm-f1"].value
        1.0
    """

    interval = "t"

    def compare(self, prediction: str, answer: str) -> float:
        """Return F1 of the sets of tokens."""
        said, right = (set(words_of(text)) for text in (prediction, answer))
        sizes = len(said) + len(right)
        return 2 * len(said & right) / sizes if sizes else 0.0
