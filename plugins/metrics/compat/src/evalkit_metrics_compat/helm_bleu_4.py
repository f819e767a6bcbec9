"""HELM's BLEU-4."""

from __future__ import annotations

from evalkit_metrics_compat.helm_bleu import HelmBleu


class HelmBleu4(HelmBleu):
    """Mean precision of predicted runs of four words, times the penalty for brevity.

    Per example shared / predicted runs, where one is shared as often as it occurs in
    both, times exp(1 - right / predicted words) where the prediction is shorter than
    the answer, and then the mean. It is not what is called BLEU-4 elsewhere: `bleu`
    takes the geometric mean over runs of one, two, three and four words, and is one
    number of the whole set, to which all acceptable answers contribute; here the best
    answer counts, and a prediction without a common run of four words is 0. Words are
    those of NLTK; sentences are split without its trained list of abbreviations, which
    is a download, so that `Mr. X` is three words (HELM: two). A missing prediction that
    counts is 0. Range 0 to 1, in %, higher is better; Student's interval.

    Source: `bleu_4` of HELM 0.5.16, which is `nltk.translate.bleu_score.sentence_bleu`
    with the weights (0, 0, 0, 1).

    Example:
        >>> import evalkit
        >>> said, right = "a b c d x f", "a b c d e f"
        >>> round(evalkit.score("helm-bleu-4", [said], [right])["helm-bleu-4"].value, 4)
        0.3333
    """

    length = 4
