"""F1 of classes, weighted by their examples."""

from __future__ import annotations

import polars as pl

from evalkit_metrics_classification import confusion
from evalkit_metrics_classification.averages import (
    LabelAverage,
    Numbers,
    Places,
    ratio,
    totals,
)


class WeightedF1(LabelAverage):
    """Mean over classes of F1, each weighted by the number of its gold examples.

    A class without gold examples has no weight, so that `labels=gold` (the default),
    `seen` and `declared` give the same; a list `labels=a/b` takes these classes alone,
    and is undefined, and null, where none of them has a gold example. Frequent classes
    decide it: `macro-f1` weights all alike. A missing prediction is a miss. Range 0 to
    1, in %, higher is better; a multinomial interval, with clusters a bootstrap.

    Source: scikit-learn's `f1_score` with `average="weighted"`.

    Example:
        >>> import evalkit
        >>> said, gold = ["a", "a", "b", "b"], ["a", "b", "b", "b"]
        >>> found = evalkit.score("weighted-f1", said, gold)
        >>> round(found["weighted-f1"].value, 4)
        0.7667
    """

    def class_score(self) -> pl.Expr:
        """Return F1 of a class; null where it has neither examples nor predictions."""
        return confusion.f1()

    def averages(self, classes: pl.DataFrame, starts: Places) -> Numbers:
        """Divide the weighted sum by the examples of the classes."""
        scores = classes.select(self.class_score().fill_null(0.0)).to_series()
        gold = classes["gold_count"].to_numpy()
        return ratio(totals(scores.to_numpy() * gold, starts), totals(gold, starts))
