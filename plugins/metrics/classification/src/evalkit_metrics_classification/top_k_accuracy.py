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

    `top-k-accuracy:k=1` is accuracy; the default is k = 5. An example with fewer
    alternatives is judged by those that it has. Range 0 to 1, higher is better;
    Wilson's interval.
    """

    Parameters = TopKParameters

    def right_rows(self, batch: pl.DataFrame, context: MetricContext) -> pl.Series:
        """Find the examples with a right one among the first alternatives."""
        parameters = self.parameters
        assert isinstance(parameters, TopKParameters)
        first = alternatives_of(batch).list.head(parameters.k)
        return only_right(ranked(first), batch, context)["row"]
