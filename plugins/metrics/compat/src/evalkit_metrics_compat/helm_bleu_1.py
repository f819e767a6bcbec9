"""HELM's BLEU-1."""

from __future__ import annotations

from evalkit_metrics_compat.helm_bleu import HelmBleu


class HelmBleu1(HelmBleu):
    """Mean precision of the words of predictions, times the penalty for brevity.

    Per example shared / predicted words, where a word is shared as often as it occurs
    in both, times exp(1 - right / predicted words) where the prediction is shorter than
    the answer, and then the mean. `bleu` is one number of the whole set, of n-grams of
    one to four words, to which all acceptable answers contribute; here the best answer
    counts. Words are those of NLTK; sentences are split without its trained list of
    abbreviations, which is a download, so that `Mr. X` is three words (HELM: two). A
    missing prediction that counts is 0. Range 0 to 1, in %, higher is better; Student's
    interval.

    Source: `bleu_1` of HELM 0.5.16, which is `nltk.translate.bleu_score.sentence_bleu`
    with the weights (1, 0, 0, 0); with `tokenize=characters` its `chinese_bleu_1`.

    Example:
        >>> import evalkit
        >>> said, right = "a b c d x f", "a b c d e f"
        >>> round(evalkit.score("helm-bleu-1", [said], [right])["helm-bleu-1"].value, 4)
        0.8333
    """

    length = 1
