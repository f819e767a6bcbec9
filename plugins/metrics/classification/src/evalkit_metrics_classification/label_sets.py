"""Sets of labels, of which an example may have several or none."""

from __future__ import annotations

import polars as pl

from evalkit import Metric


class LabelSetMetric(Metric):
    """A score of sets of labels; a label that is given twice counts once."""

    unit = "%"
    bounds = (0.0, 1.0)
    higher_is_better = True
    scale = 100.0
    answer_kinds = ("all-of",)
    accepts_no_prediction = True


def set_counts(batch: pl.DataFrame) -> pl.DataFrame:
    """Count the labels of every example.

    Args:
        batch: Lists `prediction`, null where there is none, and `target`.

    Returns:
        `hits` (labels that both have), `gold`, `predicted` (0 where there is no
        prediction) and `is_silent`.
    """
    sets = as_sets(batch)
    prediction, target = pl.col("prediction"), pl.col("target")
    return sets.select(
        hits=prediction.list.set_intersection(target).list.len().cast(pl.Float64),
        gold=target.list.len().cast(pl.Float64),
        predicted=prediction.list.len().cast(pl.Float64),
        is_silent="is_silent",
    )


def as_sets(batch: pl.DataFrame) -> pl.DataFrame:
    """Return both lists as texts without repetitions, and `is_silent`.

    Args:
        batch: Lists `prediction`, null where there is none, and `target`.

    Returns:
        `prediction`, empty where there is none, `target` and `is_silent`.
    """
    kind = pl.List(pl.String)
    given = pl.col("prediction").cast(kind)
    return batch.select(
        is_silent=pl.col("prediction").is_null(),
        prediction=given.fill_null(pl.lit([], dtype=kind)).list.unique(),
        target=pl.col("target").cast(kind).list.unique(),
    )
