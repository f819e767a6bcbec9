"""HELM's matches of sets that are written as a sentence."""

from __future__ import annotations

from typing import Any

from evalkit_metrics_compat.text_comparison import TextMetric, answers_of, as_text

_NOTHING = "Nothing."


class HelmSetMatch(TextMetric):
    """Agreement of two sets that are written as sentences: exact, IoU and F1.

    A text is the set of what stands between " and " after its last " is ", without full
    stops; `Nothing.` is the empty set. Of a prediction the first line alone is read.
    `#exact` is 1 where the sets are equal, `#iou` is shared / all, `#f1` is
    2 shared / (predicted + right); against the empty set all are 1 for the empty set,
    else 0. Blanks and case count, which sets this apart from `iou-set-match`. Of
    several acceptable answers the best counts, for each score; a missing prediction
    that counts is 0. Range 0 to 1, in %, higher is better; Wilson's interval.

    Source: `exact_set_match`, `iou_set_match` and `f1_set_match` of HELM 0.5.16.

    Example:
        >>> import evalkit
        >>> said, right = "It is red and tall.", "It is red."
        >>> evalkit.score("helm-set-match", [said], [right])["helm-set-match#iou"].value
        0.5
    """

    interval = "t"
    scores = {"exact": {"interval": "wilson"}, "iou": {}, "f1": {}}

    def score_example(self, prediction: Any, target: Any) -> dict[str, float]:
        """Return the best of each score against each answer."""
        said = _set_of(as_text(prediction).partition("\n")[0])
        found = [_compare(said, _set_of(answer)) for answer in answers_of(target)]
        return {name: max(each[name] for each in found) for name in self.scores}


def _set_of(text: str) -> frozenset[str]:
    if text == _NOTHING:
        return frozenset()
    return frozenset(text.replace(".", "").split(" is ")[-1].split(" and "))


def _compare(said: frozenset[str], right: frozenset[str]) -> dict[str, float]:
    if not right:
        return dict.fromkeys(HelmSetMatch.scores, float(not said))
    shared = len(said & right)
    return {
        "exact": float(said == right),
        "iou": shared / len(said | right),
        "f1": 2 * shared / (len(said) + len(right)),
    }
