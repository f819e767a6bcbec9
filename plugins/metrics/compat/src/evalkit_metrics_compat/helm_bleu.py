"""BLEU of single sentences, as HELM takes it from NLTK."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, ClassVar, Literal

from evalkit import Parameters
from evalkit_metrics_compat.helm_text import TextMetric, answers_of, as_text

Tokenizer = Callable[[str], Sequence[str]]


class BleuParameters(Parameters):
    """What a token is."""

    tokenize: Literal["words", "blanks", "characters"] = "words"
    """`words`: NLTK's words and signs; `blanks`: what stands between blanks;
    `characters`: each character, as HELM's `chinese_bleu_1` takes them."""


class HelmBleu(TextMetric):
    """Mean over examples of the precision of n-grams of one length, times brevity."""

    Parameters = BleuParameters
    interval = "t"
    length: ClassVar[int]
    """How many tokens an n-gram has."""

    def score_example(self, prediction: Any, target: Any) -> float:
        """Return the best of the scores against each answer."""
        said = self._tokens(as_text(prediction))
        answers = map(self._tokens, answers_of(target))
        return max(sentence_bleu(said, answer, self.length) for answer in answers)

    def resources(self) -> dict[str, str]:
        """Return the version of what splits texts into words."""
        if self._tokenize != "words":
            return {}
        from importlib.metadata import version

        return {"nltk": version("nltk")}

    @property
    def _tokenize(self) -> str:
        parameters = self.parameters
        assert isinstance(parameters, BleuParameters)
        return parameters.tokenize

    def _tokens(self, text: str) -> Sequence[str]:
        return _TOKENIZERS[self._tokenize](text)


def sentence_bleu(said: Sequence[str], answer: Sequence[str], length: int) -> float:
    """Return the precision of n-grams of one length times the penalty for brevity.

    Args:
        said: Tokens of the prediction.
        answer: Tokens of the answer.
        length: How many tokens an n-gram has.

    Returns:
        0 to 1; 0 where the prediction has no such n-gram.
    """
    found = _ngrams(said, length)
    shared = (found & _ngrams(answer, length)).total()
    if not shared:
        return 0.0
    brevity = min(1.0, math.exp(1 - len(answer) / len(said)))
    return brevity * shared / found.total()


def _ngrams(tokens: Sequence[str], length: int) -> Counter[tuple[str, ...]]:
    starts = range(len(tokens) - length + 1)
    return Counter(tuple(tokens[start : start + length]) for start in starts)


def _words(text: str) -> list[str]:
    sentences, words = _splitters()
    return [word for sentence in sentences(text) for word in words(sentence)]


@cache
def _splitters() -> tuple[Tokenizer, Tokenizer]:
    from nltk.tokenize import NLTKWordTokenizer
    from nltk.tokenize.punkt import PunktSentenceTokenizer

    return PunktSentenceTokenizer().tokenize, NLTKWordTokenizer().tokenize


_TOKENIZERS: dict[str, Tokenizer] = {
    "words": _words,
    "blanks": str.split,
    "characters": list,
}


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
