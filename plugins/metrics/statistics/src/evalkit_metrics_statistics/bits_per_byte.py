"""Bits that a language model needs for a byte."""

from __future__ import annotations

import math

import polars as pl

from evalkit_metrics_statistics.log_probabilities import LOGPROB, RatioMetric
from evalkit_metrics_statistics.token_lists import TOKENS


class BitsPerByte(RatioMetric):
    """Bits that a model needs to write a byte of the texts, if it is used to compress.

    -sum of log2(probability) / number of bytes, over all texts together. Reads
    `logprob`, the natural logarithm of the probability of a response's whole text, and
    `num_bytes`, of how many bytes the text is in UTF-8. In place of `logprob` there may
    be `token_logprobs`, the list of the logarithms of its tokens, of which a null at
    its beginning is left out. How a model splits a text into tokens does not matter, so
    that models with other tokens can be compared. A response without these numbers is
    not scored, and neither is a logarithm above 0 or infinite. Without any byte it is
    0 / 0, and null; so it is where a missing response counts, as nothing is the worst.
    Range 0 to infinity, lower is better; the delta method's interval of the
    logarithm.

    Source: Gao et al., The Pile: An 800GB Dataset of Diverse Text for Language
    Modeling, 2020, section 3.1; lm-evaluation-harness's and HELM's `bits_per_byte`.

    Example:
        >>> import evalkit, math
        >>> said = {"logprob": [8 * math.log(1 / 2)], "num_bytes": [4]}
        >>> found = evalkit.score("bits-per-byte", [""], [""], fields=said)
        >>> found["bits-per-byte"].value
        2.0
    """

    columns = (LOGPROB, "num_bytes", TOKENS)
    bounds = (0.0, None)

    def value(self, nats: pl.Expr) -> pl.Expr:
        """Turn nats into bits."""
        return nats / math.log(2)
