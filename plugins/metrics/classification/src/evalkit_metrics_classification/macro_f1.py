"""Macro-averaged F1."""

from __future__ import annotations

import polars as pl

from evalkit_metrics_classification import confusion
from evalkit_metrics_classification.macro import MacroMetric


class MacroF1(MacroMetric):
    """Mean over classes of F1 = 2 hits / (gold + predicted).

    The mean of the F1 of classes, not the F1 of mean precision and recall. With
    `labels=gold` (the default) it is over the classes that have gold examples in the
    group: in a group of one class with three of four right it is 6/7 = 85.71 %. With
    `labels=seen` it is scikit-learn's default, and 42.86 % there; predictions that are
    none of the declared labels are one class of it. With
    `labels=declared`, or a list `labels=a/b`, a class without examples and predictions
    counts 0. A missing prediction is a miss. Range 0 to 1, in %, higher is better; a
    multinomial interval, with clusters a bootstrap.

    Source: Opitz and Burst, Macro F1 and Macro F1, 2019; scikit-learn's `f1_score` with
    `average="macro", labels=sorted(set(y_true))`.

    Example:
        >>> import evalkit
        >>> found = evalkit.score("macro-f1", ["a", "a", "a", "b"], ["a"] * 4)
        >>> round(found["macro-f1"].value, 4)
        0.8571
    """

    def class_score(self) -> pl.Expr:
        """Return F1 of a class; null where it has neither examples nor predictions."""
        return confusion.f1()
