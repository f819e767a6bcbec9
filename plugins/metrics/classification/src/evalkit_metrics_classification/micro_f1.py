"""Micro-averaged F1."""

from __future__ import annotations

import polars as pl

from evalkit_metrics_classification.averages import (
    LabelAverage,
    LabelChoice,
    LabelParameters,
    Numbers,
    Places,
    ratio,
    totals,
)


class MicroParameters(LabelParameters):
    """Which classes are added up."""

    labels: LabelChoice | tuple[str, ...] = "seen"
    """`seen` (the default), `gold`, `declared`, or a list of labels."""


class MicroF1(LabelAverage):
    """F1 of several classes together, 2 hits / (gold + predicted), each added up first.

    Over all classes seen (`labels=seen`, the default) it is accuracy where every
    example has a prediction: it says more where `labels=a/b` leaves out a class, such
    as "none of these". A missing prediction adds to gold alone. Undefined, and null,
    where none of the classes occurs. Range 0 to 1, in %, higher is better; a
    multinomial interval, with clusters a bootstrap.

    Source: Manning, Raghavan and Schuetze, Introduction to Information Retrieval, 2008,
    section 13.6; scikit-learn's `f1_score` with `average="micro"`.

    Example:
        >>> import evalkit
        >>> name = "micro-f1:labels=per/loc"
        >>> said, gold = ["no", "per", "per", "no"], ["no", "no", "per", "loc"]
        >>> evalkit.score(name, said, gold)[name].value
        0.5
    """

    Parameters = MicroParameters
    # a wrong prediction of a listed class lowers it more than none does
    has_possible_range = False
    lacking = "no example and no prediction of any of the classes"

    def averages(self, classes: pl.DataFrame, starts: Places) -> Numbers:
        """Divide the added hits by the added gold and predicted ones."""
        hits, gold, predicted = (
            totals(column.to_numpy(), starts)
            for column in classes.select("hits", "gold_count", "predicted_count")
        )
        return ratio(2 * hits, gold + predicted)
