"""Means over classes: F1 and recall."""

from __future__ import annotations

import numpy as np
import polars as pl

from evalkit import Parameters
from evalkit_metrics_classification import confusion
from evalkit_metrics_classification.averages import (
    LabelAverage,
    LabelChoice,
    Numbers,
    Places,
    totals,
)


class MacroMetric(LabelAverage):
    """A mean over classes, in which an undefined score of a class counts 0."""

    def averages(self, classes: pl.DataFrame, starts: Places) -> Numbers:
        """Take the mean over the classes of every group."""
        score = self.class_score().fill_null(0.0).cast(pl.Float64)
        scores = classes.select(score).to_series().to_numpy()
        return totals(scores, starts) / np.diff(starts, append=len(classes))


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


class BalancedAccuracy(MacroRecall):
    """Mean recall, hits / gold, of the classes that have gold examples in the group.

    It is `macro-recall` without parameters, under its other name. Chance is 1 / classes
    however often each class occurs. A missing prediction is a miss. Range 0 to 1, in %,
    higher is better; a multinomial interval, with clusters a bootstrap.

    Source: Brodersen et al., The Balanced Accuracy and Its Posterior Distribution,
    2010; scikit-learn's `balanced_accuracy_score`.

    Example:
        >>> import evalkit
        >>> said, gold = ["a", "a", "a", "b"], ["a", "a", "b", "b"]
        >>> evalkit.score("balanced-accuracy", said, gold)["balanced-accuracy"].value
        0.75
    """

    Parameters = Parameters

    @property
    def labels(self) -> LabelChoice:
        """The classes: those with gold examples."""
        return "gold"
