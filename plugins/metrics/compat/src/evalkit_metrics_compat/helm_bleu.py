"""BLEU of single sentences, as HELM takes it from NLTK."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, ClassVar, Literal

from evalkit import Parameters
from evalkit_metrics_compat.text_comparison import TextMetric, answers_of, as_text

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
