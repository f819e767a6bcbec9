"""Precision of each class."""

from __future__ import annotations

import polars as pl

from evalkit_metrics_classification import confusion
from evalkit_metrics_classification.per_class import ClassMetric


class Precision(ClassMetric):
    """Precision of a class, hits / predicted: `precision:label=irony`.

    The share of its predictions that are right. Without `label`, every class has a
    score of its own: `precision#irony`. Where a class is never predicted it is
    undefined, and null. A missing prediction is of no class. Range 0 to 1, in %, higher
    is better; a multinomial interval, with clusters a bootstrap.

    Source: van Rijsbergen, Information Retrieval, 1979, chapter 7; scikit-learn's
    `precision_score` with `zero_division=np.nan`.

    Example:
        >>> import evalkit
        >>> said, gold = ["a", "a", "b", "b"], ["a", "b", "b", "b"]
        >>> evalkit.score("precision:label=a", said, gold)["precision:label=a"].value
        0.5
    """

    lacking = "no prediction"

    def class_score(self) -> pl.Expr:
        """Return the precision of a class; null where it is never predicted."""
        return confusion.precision()
