"""Statistics of two lists of numbers that depend on their order alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from evalkit_metrics_statistics.number_pairs import PairsMetric

Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]


class RankMetric(PairsMetric):
    """A metric that keeps all numbers, 16 bytes an example, to bring them in order."""

    interval = "bootstrap"
    merges = {"prediction": "values", "target": "values"}

    def association(self, predictions: Floats, targets: Floats) -> float | None:
        """Return the value of two lists of equal length, neither of equal numbers."""
        raise TypeError(f"{type(self).__name__} does not define association")

    def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
        """Compute the value of each group, null where one list has no order."""
        rows = [
            values_or_reason(one.to_numpy(), other.to_numpy(), self.association)
            for one, other in zip(sums["prediction"], sums["target"], strict=True)
        ]
        schema = {"value": pl.Float64, "reason": pl.String}
        found = pl.DataFrame(rows, schema=schema, orient="row")
        return sums.select("group").hstack(found)


def values_or_reason(
    predictions: Floats,
    targets: Floats,
    association: Callable[[Floats, Floats], float | None],
) -> tuple[float | None, str | None]:
    """Return the value of two lists; where there is none, the reason.

    Args:
        predictions: The predictions.
        targets: As many answers.
        association: What is computed of them.

    Returns:
        Either, and None.
    """
    for numbers, word in ((targets, "answers"), (predictions, "predictions")):
        if (numbers == numbers[0]).all():
            return None, f"all {word} are equal"
    return association(predictions, targets), None


def dense_ranks(numbers: Floats) -> tuple[Integers, Integers]:
    """Number the different values of a list by size.

    Args:
        numbers: The list.

    Returns:
        The number of each value, from 0, and how often each different value occurs.
    """
    order = np.argsort(numbers, kind="stable")
    is_new = np.diff(numbers[order], prepend=-np.inf) > 0
    starts = np.flatnonzero(is_new)
    ranks = np.empty(len(numbers), dtype=np.int64)
    ranks[order] = np.cumsum(is_new) - 1
    return ranks, np.diff(np.append(starts, len(numbers)))


def mean_ranks(numbers: Floats) -> Floats:
    """Rank numbers from the least one on; equal ones have the mean of their ranks.

    Args:
        numbers: A list.

    Returns:
        The rank of each, from 1.
    """
    ranks, counts = dense_ranks(numbers)
    ends = np.cumsum(counts)
    of_value: Floats = ends - (counts - 1) / 2
    return of_value[ranks]
