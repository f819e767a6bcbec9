"""F1 of each class."""

from __future__ import annotations

import polars as pl

from evalkit_metrics_classification import confusion
from evalkit_metrics_classification.per_class import ClassMetric


class F1(ClassMetric):
    """F1 of a class, 2 hits / (gold + predicted): `f1:label=irony`.

    The harmonic mean of precision and recall. Without `label`, every class has a score
    of its own: `f1#irony`. Where a class has neither examples nor predictions it is
    undefined, and null. A missing prediction is a miss. Range 0 to 1, in %, higher is
    better; a multinomial interval, with clusters a bootstrap.

    Source: van Rijsbergen, Information Retrieval, 1979, chapter 7, with equal weights;
    scikit-learn's `f1_score` with `zero_division=np.nan`.

    Example:
        >>> import evalkit
        >>> said, gold = ["a", "a", "b", "b"], ["a", "b", "b", "b"]
        >>> evalkit.score("f1:label=b", said, gold)["f1:label=b"].value
        0.8
    """

    lacking = "no example and no prediction"

    def class_score(self) -> pl.Expr:
        """Return F1 of a class; null where it has neither examples nor predictions."""
        return confusion.f1()
