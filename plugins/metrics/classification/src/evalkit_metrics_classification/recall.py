"""Recall of each class."""

from __future__ import annotations

import polars as pl

from evalkit_metrics_classification import confusion
from evalkit_metrics_classification.per_class import ClassMetric


class Recall(ClassMetric):
    """Recall of a class, hits / gold: `recall:label=irony`.

    The share of its examples that are predicted as such. Without `label`, every class
    has a score of its own: `recall#irony`. Where a class has no examples it is
    undefined, and null. A missing prediction is a miss. Range 0 to 1, in %, higher is
    better; a multinomial interval, with clusters a bootstrap.

    Source: van Rijsbergen, Information Retrieval, 1979, chapter 7; scikit-learn's
    `recall_score` with `zero_division=np.nan`.

    Example:
        >>> import evalkit
        >>> said, gold = ["a", "a", "b", "b"], ["a", "b", "b", "b"]
        >>> evalkit.score("recall:label=a", said, gold)["recall:label=a"].value
        1.0
    """

    lacking = "no example"

    def class_score(self) -> pl.Expr:
        """Return the recall of a class; null where it has no examples."""
        return confusion.recall()
