"""Macro-averaged F1."""

from __future__ import annotations

import polars as pl

from evalkit_metrics_classification.confusion import ConfusionMetric


class MacroF1(ConfusionMetric):
    """Mean over classes of F1 = 2 hits / (gold + predicted).

    With `labels=gold` (the default) the mean is over the classes that have gold
    examples in the group: in a group of one class with three of four right it is
    6/7 = 85.71 %. With `labels=seen` it is scikit-learn's default, and 42.86 % there.
    With `labels=declared` a class without examples and predictions counts 0. Range 0
    to 1, higher is better; a bootstrap interval.
    """

    def class_score(self) -> pl.Expr:
        """Give F1 of a class; 0 where it has neither examples nor predictions."""
        total = pl.col("gold_count") + pl.col("predicted_count")
        return pl.when(total > 0).then(2 * pl.col("hits") / total).otherwise(0.0)
