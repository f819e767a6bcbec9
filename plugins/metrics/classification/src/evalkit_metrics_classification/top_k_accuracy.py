"""Accuracy of the best of several ranked answers."""

from __future__ import annotations

import polars as pl

from evalkit import MetricContext, Parameters
from evalkit_metrics_classification.alternatives import (
    AlternativeCount,
    ShareMetric,
    alternatives_of,
    only_right,
    ranked,
)


class TopKParameters(Parameters):
    """How many alternatives count."""

    k: AlternativeCount = 5
    """The first so many, at least 1."""


class TopKAccuracy(ShareMetric):
    """Share of examples with a right answer among the first k alternatives.

    For k = 5, the default, the complement of ImageNet's top-5 error;
    `top-k-accuracy:k=1` is accuracy. An example with fewer alternatives is judged by
    those that it has; an empty list is wrong, and so is a missing response that counts.
    Range 0 to 1, in %, higher is better; Wilson's interval.

    Source: Russakovsky et al., ImageNet Large Scale Visual Recognition Challenge, 2015.

    Example:
        >>> import evalkit
        >>> given = {"responses": [["a", "b"], ["b", "c"]]}
        >>> name = "top-k-accuracy:k=2"
        >>> evalkit.score(name, ["a", "b"], ["b", "a"], fields=given)[name].value
        0.5
    """

    Parameters = TopKParameters

    def right_rows(self, batch: pl.DataFrame, context: MetricContext) -> pl.Series:
        """Find the examples with a right one among the first alternatives."""
        parameters = self.parameters
        assert isinstance(parameters, TopKParameters)
        first = alternatives_of(batch).list.head(parameters.k)
        return only_right(ranked(first), batch, context)["row"]
