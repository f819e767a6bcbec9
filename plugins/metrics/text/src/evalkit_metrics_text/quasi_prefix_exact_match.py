"""Whether a normalised prediction begins with the answer."""

from __future__ import annotations

from evalkit_metrics_text.normalisation import normalise
from evalkit_metrics_text.prefix_exact_match import PrefixExactMatch


class QuasiPrefixExactMatch(PrefixExactMatch):
    """Share of predictions that begin with an acceptable answer but for form.

    Begins so / all examples, after both were normalised: lower case, without ASCII
    punctuation and without a, an and the, blanks as one. Characters are compared, not
    words. Every prediction begins with an answer that becomes empty, such as `the`.
    A missing prediction that counts is wrong. Range 0 to 1, in %, higher is
    better; Wilson's interval.

    Source: Liang et al., Holistic Evaluation of Language Models, 2022; HELM's
    `quasi_prefix_exact_match`, which counts an empty prediction as wrong also where the
    answer is empty.

    Example:
        >>> import evalkit
        >>> found = evalkit.score("quasi-prefix-exact-match", ["A cat sat"], ["cat."])
        >>> found["quasi-prefix-exact-match"].value
        1.0
    """

    def form_of(self, text: str) -> str:
        """Return the normalised text."""
        return normalise(text)
