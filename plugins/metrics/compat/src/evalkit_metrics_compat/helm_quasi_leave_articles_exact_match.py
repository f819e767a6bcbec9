"""HELM's quasi-exact match that keeps articles."""

from __future__ import annotations

from evalkit_metrics_compat.helm_text import normalised
from evalkit_metrics_compat.text_comparison import TextComparison


class HelmQuasiLeaveArticlesExactMatch(TextComparison):
    """Share of predictions that equal an answer after normalisation, with articles.

    Lower case, without ASCII punctuation, blanks as one; it differs from
    `quasi-exact-match` in that a, an and the stay. An empty prediction is wrong, also
    where the answer is empty, but one of which nothing is left equals an answer of
    which nothing is left. A missing prediction that counts is wrong. Range 0 to 1, in
    %, higher is better; Wilson's interval.

    Source: `quasi_leave_articles_exact_match` of HELM 0.5.16.

    Example:
        >>> import evalkit
        >>> name = "helm-quasi-leave-articles-exact-match"
        >>> evalkit.score(name, ["Cat!", "a cat"], ["cat", "the cat"])[name].value
        0.5
    """

    interval = "wilson"

    def compare(self, prediction: str, answer: str) -> float:
        """Return 1 where the normalised texts are equal, else 0."""
        same = normalised(prediction, articles=True) == normalised(answer, True)
        return float(bool(prediction) and same)
