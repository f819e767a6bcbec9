"""Exact match of normalised texts."""

from __future__ import annotations

from typing import Literal

from evalkit import Parameters
from evalkit_metrics_text.comparison import ComparisonMetric
from evalkit_metrics_text.normalisation import normalise


class ArticleParameters(Parameters):
    """How texts are normalised."""

    articles: Literal["remove", "keep"] = "remove"
    """Whether a, an and the are removed, or kept as other words."""


class QuasiExactMatch(ComparisonMetric[str]):
    """Share of predictions that equal an acceptable answer but for form.

    Equal / all examples, after both were normalised: lower case, without ASCII
    punctuation and without a, an and the (which `articles=keep` leaves), blanks as one.
    With articles removed it is `squad-em` as HELM has it: an answer that becomes
    empty counts beside others too. If both become empty, they are equal. A missing
    prediction that counts is wrong. Range 0 to 1, in %, higher is better;
    Wilson's interval.

    Source: Liang et al., Holistic Evaluation of Language Models, 2022; HELM's
    `quasi_exact_match`, and with `articles=keep` `quasi_leave_articles_exact_match`,
    which count an empty prediction as wrong also where the answer is empty.

    Example:
        >>> import evalkit
        >>> found = evalkit.score("quasi-exact-match", ["The cat."], ["cat"])
        >>> found["quasi-exact-match"].value
        1.0
    """

    Parameters = ArticleParameters
    interval = "wilson"

    def __init__(self, parameters: ArticleParameters | None = None) -> None:
        super().__init__(parameters)
        given = parameters or ArticleParameters()
        self._keeps_articles = given.articles == "keep"

    def form_of(self, text: str) -> str:
        """Return the normalised text."""
        return normalise(text, keeps_articles=self._keeps_articles)

    def compare(self, prediction: str, answer: str) -> float:
        """Return 1 where the normalised texts are the same, else 0."""
        return float(prediction == answer)
