"""Macro-averaged recall."""

from __future__ import annotations

import polars as pl

from evalkit_metrics_classification.confusion import ConfusionMetric


class MacroRecall(ConfusionMetric):
    """Mean over classes of recall = hits / gold.

    With `labels=gold` (the default) this is balanced accuracy. With `labels=seen` or
    `declared` a class without gold examples counts 0. Range 0 to 1, higher is better;
    a bootstrap interval.
    """

    def class_score(self) -> pl.Expr:
        """Give the recall of a class; 0 where it has no examples."""
        gold = pl.col("gold_count")
        return pl.when(gold > 0).then(pl.col("hits") / gold).otherwise(0.0)
