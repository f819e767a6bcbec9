"""Bits that a language model needs for a character."""

from __future__ import annotations

import math

import polars as pl

from evalkit_metrics_statistics.log_probabilities import LOGPROB, RatioMetric
from evalkit_metrics_statistics.token_lists import TOKENS


class BitsPerCharacter(RatioMetric):
    """Bits that a model needs to write a character of the texts.

    -sum of log2(probability) / number of characters, over all texts together. Reads
    `logprob`, the natural logarithm of the probability of a response's whole text, and
    `num_characters`, of how many characters (Unicode code points) it is. In place of
    `logprob` there may be `token_logprobs`, the list of the logarithms of its tokens,
    of which a null at its beginning is left out. It says less of texts in other
    scripts, whose characters hold more: compare these by `bits-per-byte`. A response
    without these numbers is not scored, and neither is a logarithm above 0 or infinite.
    Without any character it is 0 / 0, and null; so it is where a missing response
    counts, as nothing is the worst. Range 0 to infinity, lower is better; the delta
    method's interval of the logarithm.

    Source: Graves, Generating Sequences With Recurrent Neural Networks, 2013, section
    3.

    Example:
        >>> import evalkit, math
        >>> said = {"logprob": [8 * math.log(1 / 2)], "num_characters": [4]}
        >>> found = evalkit.score("bits-per-character", [""], [""], fields=said)
        >>> found["bits-per-character"].value
        2.0
    """

    columns = (LOGPROB, "num_characters", TOKENS)
    bounds = (0.0, None)

    def value(self, nats: pl.Expr) -> pl.Expr:
        """Turn nats into bits."""
        return nats / math.log(2)
