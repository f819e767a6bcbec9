"""Accuracy of the most confident predictions."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field

from evalkit import Parameters
from evalkit_metrics_classification.averages import Numbers
from evalkit_metrics_classification.confidence_ranking import ConfidenceRanking
from evalkit_metrics_classification.rankings import Rankings

_ROUNDING = 1e-9
"""What rounding may add to a share of examples that is a whole number."""


class SelectiveParameters(Parameters):
    """How many predictions count."""

    coverage: Annotated[float, Field(gt=0, le=1)] = 0.5
    """The share of predictions that count, the most confident ones."""


class SelectiveAccuracy(ConfidenceRanking):
    """Share of right ones among the most confident predictions.

    Of n examples the `coverage` * n, rounded up, count whose confidence is greatest:
    half of them, unless `selective-accuracy:coverage=0.9` says another share; with 1 it
    is accuracy. Confidence is the probability of the predicted label, which need not be
    the greatest in `prob`. Of predictions as sure as the last that counts, of which not
    all can count, each counts in part, so that the order of rows does not matter. A
    response that gives its label no probability is not scored; a missing prediction
    that counts is sure and wrong. Range 0 to 1, in %, higher is better; a bootstrap
    interval.

    Source: El-Yaniv and Wiener, On the Foundations of Noise-free Selective
    Classification, 2010: 1 minus the selective risk at that coverage.

    Example:
        >>> import evalkit
        >>> prob = [{"a": p, "b": 1 - p} for p in (0.9, 0.8, 0.7, 0.6)]
        >>> gold = ["a", "a", "b", "b"]
        >>> found = evalkit.score(
        ...     "selective-accuracy", ["a"] * 4, gold, fields={"prob": prob}
        ... )
        >>> found["selective-accuracy"].value
        1.0
    """

    Parameters = SelectiveParameters

    def sample_scores(self, rankings: Rankings) -> Numbers:
        """Return the accuracy of the predictions that count."""
        parameters = self.parameters
        assert isinstance(parameters, SelectiveParameters)
        right, counts = rankings.positives, rankings.positives + rankings.negatives
        n = rankings.totals(counts)
        share_of_n = parameters.coverage * n
        # the delta method changes counts by a little, and a step of 1 would be no slope
        is_whole = n == np.round(n)
        whole = np.ceil(share_of_n - _ROUNDING)
        wanted = np.maximum(1, np.where(is_whole, whole, share_of_n))
        before = rankings.running(counts) - counts
        taken = np.clip(rankings.each(wanted) - before, 0, counts)
        share = np.divide(right, counts, out=np.zeros_like(counts), where=counts > 0)
        accuracy: Numbers = rankings.totals(taken * share) / wanted
        return accuracy
