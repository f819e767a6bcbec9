"""Macro-averaged recall."""

from __future__ import annotations

import polars as pl

from evalkit_metrics_classification import confusion
from evalkit_metrics_classification.macro import MacroMetric


class MacroRecall(MacroMetric):
    """Mean over classes of recall = hits / gold.

    With `labels=gold` (the default) this is balanced accuracy, and the official metric
    of TweetEval's sentiment. With `labels=seen`, `declared` or a list `labels=a/b`, a
    class without gold examples counts 0. A missing prediction is a miss. Range 0 to 1,
    in %, higher is better; a multinomial interval, with clusters a bootstrap.

    Source: Brodersen et al., The Balanced Accuracy and Its Posterior Distribution,
    2010; scikit-learn's `recall_score` with `average="macro", zero_division=0` and
    `labels=sorted(set(y_true))`.

    Example:
        >>> import evalkit
        >>> said, gold = ["a", "a", "a", "b"], ["a", "a", "b", "b"]
        >>> evalkit.score("macro-recall", said, gold)["macro-recall"].value
        0.75
    """

    def class_score(self) -> pl.Expr:
        """Return the recall of a class; null where it has no examples."""
        return confusion.recall()
