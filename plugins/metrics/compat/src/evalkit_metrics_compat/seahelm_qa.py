"""SEA-HELM's scores of question answering."""

from __future__ import annotations

from collections import Counter
from typing import Any

from evalkit_metrics_compat.seahelm_text import words_of
from evalkit_metrics_compat.text_comparison import TextMetric, answers_of, as_text

Words = tuple[str, ...]


class SeahelmQa(TextMetric):
    """F1 of words, exact match, and whether the answer stands in the prediction.

    The main score is the mean over examples of 2 shared / (predicted + right) words,
    each counted as often as it occurs. `#exact-match` is the share whose words equal
    those of an answer, `#found` the share in which an answer is a part of the
    prediction. Texts are in lower case without ASCII punctuation; articles stay, which
    sets this apart from `squad-f1` and `squad-em`. Of several acceptable answers the
    best counts, for each score. Where neither text has a word F1 is 1 here, as the
    exact match is (SEA-HELM: 0 and 1). Thai and Chinese, which SEA-HELM splits with
    pythainlp and jieba, are split at blanks like all others. A missing prediction that
    counts is 0. Range 0 to 1, in %, higher is better; Wilson's interval.

    Source: Susanto et al., SEA-HELM: Southeast Asian Holistic Evaluation of Language
    Models, 2025; `QuestionAnsweringMetric` of SEA-HELM 1.2.0.

    Example:
        >>> import evalkit
        >>> evalkit.score("seahelm-qa", ["the cat"], ["Cat!"])["seahelm-qa"].value
        0.6666666666666666
    """

    interval = "t"
    scores = {
        "": {},
        "exact-match": {"interval": "wilson"},
        "found": {"interval": "wilson"},
    }

    def score_example(self, prediction: Any, target: Any) -> dict[str, float]:
        """Return the best of each score against each answer."""
        said = words_of(as_text(prediction))
        right = [words_of(answer) for answer in answers_of(target)]
        text = " ".join(said)
        return {
            "": max(_f1(said, words) for words in right),
            "exact-match": float(said in right),
            "found": float(any(" ".join(words) in text for words in right)),
        }


def _f1(said: Words, right: Words) -> float:
    if said == right:
        return 1.0
    shared = (Counter(said) & Counter(right)).total()
    return 2 * shared / (len(said) + len(right))
