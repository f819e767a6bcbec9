"""Perplexity of a language model, by tokens, words or bytes."""

from __future__ import annotations

import polars as pl

from evalkit_metrics_statistics.log_probabilities import LOGPROB, RatioMetric
from evalkit_metrics_statistics.token_lists import TOKENS


class Perplexity(RatioMetric):
    """Perplexity: among how many equally likely tokens a model seems to choose.

    exp(-sum of log-probabilities / number of tokens), over all texts together, so that
    a long text counts for more than a short one; no mean of the texts' perplexities.
    Reads `logprob`, the natural logarithm of the probability of a response's whole
    text, and `num_tokens`, of how many tokens that is; or `token_logprobs`, the list of
    the logarithms of its tokens, whose sum and number they are. A null at its beginning
    is left out of both, and numbers that contradict the list are an error. It depends
    on the tokens: models that split texts otherwise are compared by `bits-per-byte`. A
    response without these numbers is not scored, and neither is a logarithm above 0 or
    infinite. Without any token it is 0 / 0, and null; so it is where a missing response
    counts, as nothing is the worst. Range 1 to infinity, lower is better; the delta
    method's interval of the logarithm.

    Source: Jelinek, Mercer, Bahl and Baker, Perplexity: A Measure of the Difficulty of
    Speech Recognition Tasks, 1977; HELM's `perplexity`.

    Example:
        >>> import evalkit, math
        >>> said = {"logprob": [math.log(1 / 8), math.log(1 / 4)], "num_tokens": [3, 2]}
        >>> found = evalkit.score("perplexity", ["", ""], ["", ""], fields=said)
        >>> round(found["perplexity"].value, 12)
        2.0
    """

    columns = (LOGPROB, "num_tokens", TOKENS)
    optional_columns = columns
    counts_tokens = True
    bounds = (1.0, None)

    def value(self, nats: pl.Expr) -> pl.Expr:
        """Return e to the power of nats per token."""
        return nats.exp()


class WordPerplexity(RatioMetric):
    """Perplexity by words: exp(-sum of log-probabilities / number of words).

    Over all texts together. Reads `logprob`, as `perplexity` does, and `num_words`, of
    the response or the input. Range 1 to infinity, lower is better; the delta method's
    interval of the logarithm.

    Source: lm-evaluation-harness's `word_perplexity`.

    Example:
        >>> import evalkit, math
        >>> said = {"logprob": [math.log(1 / 9)], "num_words": [2]}
        >>> found = evalkit.score("word-perplexity", [""], [""], fields=said)
        >>> round(found["word-perplexity"].value, 12)
        3.0
    """

    columns = (LOGPROB, "num_words", TOKENS)
    bounds = (1.0, None)

    def value(self, nats: pl.Expr) -> pl.Expr:
        """Return e to the power of nats per word."""
        return nats.exp()


class BytePerplexity(RatioMetric):
    """Perplexity by bytes: exp(-sum of log-probabilities / number of bytes).

    2 to the power of `bits-per-byte`, from the same fields. Range 1 to infinity, lower
    is better; the delta method's interval of the logarithm.

    Source: lm-evaluation-harness's `byte_perplexity`.

    Example:
        >>> import evalkit, math
        >>> said = {"logprob": [4 * math.log(1 / 2)], "num_bytes": [4]}
        >>> found = evalkit.score("byte-perplexity", [""], [""], fields=said)
        >>> round(found["byte-perplexity"].value, 12)
        2.0
    """

    columns = (LOGPROB, "num_bytes", TOKENS)
    bounds = (1.0, None)

    def value(self, nats: pl.Expr) -> pl.Expr:
        """Return e to the power of nats per byte."""
        return nats.exp()
