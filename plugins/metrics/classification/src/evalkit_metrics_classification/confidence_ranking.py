"""Accuracy of the predictions of which a model is most sure."""

from __future__ import annotations

from typing import Annotated

import numpy as np
import polars as pl
from pydantic import Field

from evalkit import MetricContext, Parameters
from evalkit_metrics_classification.averages import Numbers
from evalkit_metrics_classification.confidences import ConfidenceMetric, confidences_of
from evalkit_metrics_classification.rankings import (
    Rankings,
    rankings_of_groups,
    rankings_of_samples,
)


class ConfidenceRanking(ConfidenceMetric):
    """A score of the right and wrong predictions in the order of confidence."""

    higher_is_better = True
    interval = "bootstrap"
    keys = ("confidence", "is_right")

    def sample_scores(self, rankings: Rankings) -> Numbers:
        """Return the score of each sample.

        Args:
            rankings: The right and the wrong predictions by confidence.
        """
        raise TypeError(f"{type(self).__name__} does not define sample_scores")

    def statistics(self, batch: pl.DataFrame, context: MetricContext) -> pl.DataFrame:
        """Return the confidence of every prediction, and whether it is right."""
        return confidences_of(batch, context)

    def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
        """Score every group."""
        groups, rankings = rankings_of_groups(sums, ["group"], "confidence", "is_right")
        return groups.with_columns(value=pl.Series(self.sample_scores(rankings)))

    def finalize_counts(
        self, counts: Numbers, cells: pl.DataFrame
    ) -> dict[str, Numbers]:
        """Score every sample."""
        numbers, kinds = cells["confidence"].to_numpy(), cells["is_right"].to_numpy()
        return {"": self.sample_scores(rankings_of_samples(counts, numbers, kinds))}


class CoverageAccuracyArea(ConfidenceRanking):
    """Mean over k of the accuracy of the k most confident predictions.

    With k from 1 to n: near 1 where the wrong predictions are those of which the model
    is least sure; accuracy, on average, where confidence says nothing. Confidence is
    the probability of the predicted label. Predictions of equal confidence stand in no
    order: for each k the mean accuracy over all their orders is taken. A response that
    gives its label no probability is not scored; a missing prediction that counts is
    sure and wrong. Range 0 to 1, in %, higher is better; a bootstrap interval.

    Source: HELM's `selective_cov_acc_area`, but for ties, which are in the order of the
    examples there; 1 minus the area under the risk-coverage curve of Geifman et al.,
    Bias-Reduced Uncertainty Estimation for Deep Neural Classifiers, 2019.

    Example:
        >>> import evalkit
        >>> prob = [{"a": p, "b": 1 - p} for p in (0.9, 0.8, 0.7, 0.6, 0.55)]
        >>> gold = ["a", "a", "b", "a", "b"]
        >>> name = "coverage-accuracy-area"
        >>> found = evalkit.score(name, ["a"] * 5, gold, fields={"prob": prob})
        >>> round(found[name].value, 6)
        0.803333
    """

    def sample_scores(self, rankings: Rankings) -> Numbers:
        """Return the mean accuracy, over all orders of what is equally confident."""
        right, counts = rankings.positives, rankings.positives + rankings.negatives
        taken, hits = rankings.running(counts), rankings.running(right)
        before, hits_before = rankings.higher(taken), rankings.higher(hits)
        share = np.divide(right, counts, out=np.zeros_like(counts), where=counts > 0)
        # the sum over j of (hits + j share) / (before + j), from 1 to the count
        harmonic = _harmonic(int(np.ceil(taken.max(initial=0))))
        reached = _at(taken, harmonic)
        steps = reached - rankings.higher(reached)
        areas = right + (hits_before - share * before) * steps
        np.divide(hits, taken, out=areas, where=counts == 1)
        area: Numbers = rankings.totals(areas) / rankings.totals(counts)
        return area


def _at(counts: Numbers, harmonic: Numbers) -> Numbers:
    """Return the harmonic number of each count, interpolated between whole ones."""
    whole = counts.astype(np.int64)
    if (whole == counts).all():
        found: Numbers = harmonic[whole]
        return found
    # which the delta method asks for
    return np.interp(counts, np.arange(len(harmonic)), harmonic)


def _harmonic(most: int) -> Numbers:
    """Return the harmonic numbers from 0 to the given one."""
    numbers: Numbers = np.concatenate([[0.0], np.cumsum(1 / np.arange(1, most + 1))])
    return numbers


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
