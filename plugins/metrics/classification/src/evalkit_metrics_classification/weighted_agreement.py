"""Agreement of two labellings whose labels have an order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import polars as pl

from evalkit import MetricError
from evalkit_metrics_classification.averages import Numbers, ratio

Weights = Literal["none", "linear", "quadratic"]

_ROUNDING = 1e-12
"""What rounding may leave of 0 where counts are fractions, by examples squared."""


def distances(labels: Sequence[str], weights: Weights) -> Numbers:
    """Return how far each prediction is from each answer.

    Args:
        labels: The labels, in their order.
        weights: Whether distances count as they are, or squared.

    Returns:
        An array of shape (labels, labels + 1): the last prediction is none of them, and
        as far from each as can be.
    """
    place = np.arange(len(labels), dtype=np.float64)
    found = np.abs(place[:, None] - place[None])
    if weights == "quadratic":
        found **= 2
    furthest = found.max(initial=0.0)
    return np.column_stack([found, np.full(len(labels), furthest)])


def weighted_kappa(counts: Numbers, distance: Numbers) -> Numbers:
    """Return 1 - observed / expected distance; nan where that is 0 / 0.

    Args:
        counts: How many examples have each answer and prediction, of shape
            (groups, labels, labels + 1).
        distance: How far the two are apart.

    Returns:
        An array of shape (groups,).
    """
    n = counts.sum(axis=(1, 2))
    observed = np.einsum("gij,ij->g", counts, distance) * n
    gold, said = counts.sum(axis=2), counts.sum(axis=1)
    expected = np.einsum("gi,ij,gj->g", gold, distance, said)
    return ratio(expected - observed, expected, _ROUNDING * n**2)


def places_of(cells: pl.DataFrame, labels: Sequence[str]) -> tuple[pl.Series, ...]:
    """Return the place of the answer and of the prediction of each cell.

    Args:
        cells: `gold` and `predicted`, which may be null.
        labels: The labels; a prediction that is none of them comes after the last.

    Raises:
        MetricError: An answer is none of them.
    """
    kind = pl.Enum(list(labels))
    places = cells.select(
        pl.col("gold", "predicted").cast(kind, strict=False).to_physical()
    ).cast(pl.Int64)
    gold, said = places.get_columns()
    if gold.null_count():
        raise MetricError("an answer is none of the declared labels")
    return gold, said.fill_null(len(labels))
