"""SEA-HELM's scores of question answering."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from importlib import import_module
from typing import Any, Literal

from evalkit import MetricError, Parameters
from evalkit_metrics_compat.helm_text import TextMetric, answers_of, as_text
from evalkit_metrics_compat.seahelm_labels import words_of

Words = tuple[str, ...]


class SeahelmQaParameters(Parameters):
    """How texts are split into words."""

    words: Literal["blanks", "newmm", "jieba"] = "blanks"
    """At blanks; or, if they are installed, by `pythainlp` (Thai) or `jieba` (Chinese).
    SEA-HELM then takes the first of several answers, which is done here too."""


class SeahelmQa(TextMetric):
    """F1 of words, exact match, and whether the answer stands in the prediction.

    The main score is the mean over examples of 2 shared / (predicted + right) words,
    each counted as often as it occurs. `#exact-match` is the share whose words equal
    those of an answer, `#found` the share in which an answer is a part of the
    prediction. Texts are in lower case without ASCII punctuation; articles stay, which
    sets this apart from `squad-f1` and `squad-em`. Of several acceptable answers the
    best counts, for each score. Where neither text has a word F1 is 1 here, as the
    exact match is (SEA-HELM: 0 and 1). Texts are split at blanks; SEA-HELM splits Thai
    with pythainlp (`words=newmm`) and Chinese with jieba (`words=jieba`). A missing
    prediction that counts is 0. Range 0 to 1, in %, higher is better; Wilson's
    interval.

    Source: Susanto et al., SEA-HELM: Southeast Asian Holistic Evaluation of Language
    Models, 2025; `QuestionAnsweringMetric` of SEA-HELM 1.2.0.

    Example:
        >>> import evalkit
        >>> evalkit.score("seahelm-qa", ["the cat"], ["Cat!"])["seahelm-qa"].value
        0.6666666666666666
    """

    Parameters = SeahelmQaParameters
    interval = "t"
    scores = {
        "": {},
        "exact-match": {"interval": "wilson"},
        "found": {"interval": "wilson"},
    }

    def __init__(self, parameters: SeahelmQaParameters | None = None) -> None:
        super().__init__(parameters)
        self._split = _splitter((parameters or SeahelmQaParameters()).words)

    def score_example(self, prediction: Any, target: Any) -> dict[str, float]:
        """Return the best of each score against each answer."""
        answers = list(answers_of(target))
        if self._split is not None:
            answers = answers[:1]
        split = self._split or str
        said = words_of(split(as_text(prediction)))
        right = [words_of(split(answer)) for answer in answers]
        text = " ".join(words_of(as_text(prediction)))
        found = (" ".join(words_of(answer)) in text for answer in answers)
        return {
            "": max(_f1(said, words) for words in right),
            "exact-match": float(said in right),
            "found": float(any(found)),
        }


def _splitter(name: str) -> Callable[[str], str] | None:
    """Return what puts blanks between the words of a text."""
    if name == "blanks":
        return None
    package = {"newmm": "pythainlp", "jieba": "jieba"}[name]
    try:
        library = import_module(package)
    except ImportError as error:
        problem = f"seahelm-qa:words={name} needs the package {package}"
        raise MetricError(f"{problem}. Install it: pip install {package}") from error
    if name == "jieba":
        return lambda text: " ".join(library.cut(text))
    return lambda text: " ".join(library.word_tokenize(text, engine="newmm"))


def _f1(said: Words, right: Words) -> float:
    if said == right:
        return 1.0
    shared = (Counter(said) & Counter(right)).total()
    return 2 * shared / (len(said) + len(right))
