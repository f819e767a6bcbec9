"""Perplexity of a language model."""

from __future__ import annotations

from typing import Literal

import polars as pl

from evalkit import Parameters
from evalkit_metrics_statistics.log_probabilities import LOGPROB, RatioMetric
from evalkit_metrics_statistics.token_lists import TOKENS


class PerplexityParameters(Parameters):
    """What the log-probabilities are divided by."""

    by: Literal["tokens", "words", "bytes"] = "tokens"
    """What is counted: `num_tokens`, `num_words` or `num_bytes`, of the response or the
    input."""


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

    Parameters = PerplexityParameters
    bounds = (1.0, None)

    @property
    def _by(self) -> str:
        return str(getattr(self.parameters, "by", "tokens"))

    @property
    def columns(self) -> tuple[str, ...]:  # type: ignore[override]
        """The fields that it reads."""
        return (LOGPROB, f"num_{self._by}", TOKENS)

    @property
    def counts_tokens(self) -> bool:  # type: ignore[override]
        """Whether what is counted is tokens, so that a list of them is enough."""
        return self._by == "tokens"

    @property
    def optional_columns(self) -> tuple[str, ...]:  # type: ignore[override]
        """Those that data and responses may lack."""
        return self.columns if self.counts_tokens else (LOGPROB, TOKENS)

    def value(self, nats: pl.Expr) -> pl.Expr:
        """Return e to the power of nats per token."""
        return nats.exp()
