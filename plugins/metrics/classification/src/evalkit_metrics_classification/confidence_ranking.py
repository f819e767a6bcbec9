"""Accuracy of the predictions of which a model is most sure."""

from __future__ import annotations

import polars as pl

from evalkit import MetricContext
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
