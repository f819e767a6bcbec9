"""Statistics of two lists of numbers that depend on their order alone."""

from __future__ import annotations

import math
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


class Spearman(RankMetric):
    """Correlation of the ranks: how far predictions rise where answers do.

    Pearson's correlation of both lists' ranks, where equal numbers share the mean of
    their ranks. Any rising function of the answers is 1. Where all predictions, or all
    answers, are equal it is 0 / 0, and null. An answer or prediction that is NaN or
    infinite is not scored, and the score is null where a missing prediction counts. All
    numbers are kept, 16 bytes an example. Range -1 to 1, 0 is chance, higher is better;
    a bootstrap interval up to 10 000 examples.

    Source: Spearman, The Proof and Measurement of Association between Two Things, 1904;
    `scipy.stats.spearmanr`.

    Example:
        >>> import evalkit
        >>> evalkit.score("spearman", [1, 2, 9], [10, 30, 20])["spearman"].value
        0.5
    """

    def association(self, predictions: Floats, targets: Floats) -> float | None:
        """Return the correlation of the ranks."""
        middle = (len(predictions) + 1) / 2
        one, other = mean_ranks(predictions) - middle, mean_ranks(targets) - middle
        value = one @ other / np.sqrt((one @ one) * (other @ other))
        return float(np.clip(value, -1.0, 1.0))


class Kendall(RankMetric):
    """Kendall's tau-b: pairs of examples in the right order, less those in the wrong.

    Of all pairs of two examples C are in the same order by prediction and by answer, D
    in the opposite one, P are not tied by prediction and T not by answer: (C - D) /
    sqrt(P T). Where all predictions, or all answers, are equal it is 0 / 0, and null.
    An answer or prediction that is NaN or infinite is not scored, and the score is null
    where a missing prediction counts. All numbers are kept, 16 bytes an example. Range
    -1 to 1, 0 is chance, higher is better; a bootstrap interval up to 10 000 examples.

    Source: Kendall, The Treatment of Ties in Ranking Problems, 1945;
    `scipy.stats.kendalltau`.

    Example:
        >>> import evalkit
        >>> evalkit.score("kendall", [1, 2, 3, 4], [1, 3, 2, 4])["kendall"].value
        0.6666666666666666
    """

    def association(self, predictions: Floats, targets: Floats) -> float | None:
        """Count the pairs."""
        one, ones = dense_ranks(predictions)
        other, others = dense_ranks(targets)
        together = one * len(others) + other
        order = np.argsort(together, kind="stable")
        starts = np.flatnonzero(np.diff(together[order], prepend=-1))
        both = np.diff(np.append(starts, len(order)))
        every = _pairs(np.array([len(one)]))
        tied_one, tied_other, tied_both = map(_pairs, (ones, others, both))
        # where predictions are tied, answers rise: such pairs are not out of order
        discordant = inversions(other[order])
        difference = every - tied_one - tied_other + tied_both - 2 * discordant
        value = difference / math.sqrt((every - tied_one) * (every - tied_other))
        return max(-1.0, min(1.0, value))


def _pairs(counts: Integers) -> int:
    """Count the pairs within groups of so many each."""
    return int((counts.astype(np.int64) * (counts - 1) // 2).sum())


def inversions(ranks: Integers) -> int:
    """Count the pairs of which the first one is greater.

    Halves that are in order are compared and merged, all of one length at a time
    (Knight, A Computer Method for Calculating Kendall's Tau with Ungrouped Data, 1966).

    Args:
        ranks: Whole numbers from 0.

    Returns:
        How many there are.
    """
    length = 1 << max(0, len(ranks) - 1).bit_length()
    highest = int(ranks.max(initial=0)) + 1
    # what is filled in at the end is greater than none that stands after it
    padded = np.full(length, highest, dtype=np.int64)
    padded[: len(ranks)] = ranks
    found, width = 0, 1
    while width < length:
        blocks = padded.reshape(-1, 2 * width)
        apart = np.arange(len(blocks))[:, None] * (highest + 1)
        left, right = (blocks + apart)[:, :width], (blocks + apart)[:, width:]
        below = np.searchsorted(left.ravel(), right.ravel(), side="right")
        ends = np.repeat(np.arange(1, len(blocks) + 1) * width, width)
        found += int((ends - below).sum())
        padded = np.sort(blocks, axis=1).ravel()
        width *= 2
    return found
