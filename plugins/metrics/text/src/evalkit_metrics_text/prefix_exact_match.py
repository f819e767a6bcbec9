"""Whether a prediction begins with the answer."""

from __future__ import annotations

from evalkit_metrics_text.comparison import ComparisonMetric


class PrefixExactMatch(ComparisonMetric[str]):
    """Share of predictions that begin with an acceptable answer, exactly.

    Begins so / all examples, blanks at both ends left out. Characters are compared, not
    words: `334` begins with `33`, and every text begins with an empty answer. A missing
    prediction that counts is wrong. Range 0 to 1, in %, higher is better; Wilson's
    interval.

    Source: Liang et al., Holistic Evaluation of Language Models, 2022; HELM's
    `prefix_exact_match`, which counts an empty prediction as wrong also where the
    answer is empty.

    Example:
        >>> import evalkit
        >>> found = evalkit.score("prefix-exact-match", ["Boston, MA"], ["Boston"])
        >>> found["prefix-exact-match"].value
        1.0
    """

    interval = "wilson"

    def form_of(self, text: str) -> str:
        """Return the text without blanks at its ends."""
        return text.strip()

    def compare(self, prediction: str, answer: str) -> float:
        """Return 1 where the prediction begins with the answer, else 0."""
        return float(prediction.startswith(answer))
