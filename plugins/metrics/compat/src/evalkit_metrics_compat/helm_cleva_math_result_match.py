"""HELM's match of the last formula, for CLEVA."""

from __future__ import annotations

import re

from evalkit_metrics_compat.helm_text import equals
from evalkit_metrics_compat.text_comparison import TextComparison

_FORMULA = re.compile(r"[-+*/%.()\d]+")


class HelmClevaMathResultMatch(TextComparison):
    """Share of predictions whose last number or formula equals the answer.

    The last run of digits, points, brackets and the signs - + * / % is compared as
    `helm-exact-match` does, without closing brackets before it; all of a prediction
    that has none. A full stop after a number is part of it, so that `It is 15.` is
    wrong for `15`: `final-number-match` knows better. Of several acceptable answers one
    must be equal; a missing prediction that counts is wrong. Range 0 to 1, in %, higher
    is better; Wilson's interval.

    Source: `cleva_math_result_match` of HELM 0.5.16.

    Example:
        >>> import evalkit
        >>> name = "helm-cleva-math-result-match"
        >>> evalkit.score(name, ["so 3/4", "It is 15."], ["3/4", "15"])[name].value
        0.5
    """

    interval = "wilson"

    def compare(self, prediction: str, answer: str) -> float:
        """Return 1 where the last formula equals the answer, else 0."""
        found = _FORMULA.findall(prediction)
        return equals(found[-1].lstrip(")") if found else prediction, answer)
