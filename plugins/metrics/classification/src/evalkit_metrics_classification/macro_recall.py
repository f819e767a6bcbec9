"""Macro-averaged recall."""

from __future__ import annotations

import polars as pl

from evalkit_metrics_classification import confusion
from evalkit_metrics_classification.macro import MacroMetric


class MacroRecall(MacroMetric):
    """Mean over classes of recall = hits / gold.

    With `labels=gold` (the default) this is balanced accuracy (Brodersen et al., The
    Balanced Accuracy and Its Posterior Distribution, 2010), and the official metric of
    TweetEval's sentiment. With `labels=seen`, `declared` or a list `labels=a/b`, a
    class without gold examples counts 0. Range 0 to 1, in %, higher is better; a
    multinomial interval, with clusters a bootstrap.
    """

    def class_score(self) -> pl.Expr:
        """Return the recall of a class; null where it has no examples."""
        return confusion.recall()
