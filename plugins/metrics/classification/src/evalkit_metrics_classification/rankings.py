"""Examples in the order of a number, as counts of those that have each number."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
import polars as pl
import polars.selectors as cs
from numpy.typing import NDArray

from evalkit_metrics_classification.averages import Numbers, Places, totals
from evalkit_metrics_classification.confusion import first_rows


class Rankings(ABC):
    """Counts of examples of two kinds by a number, in each of some samples.

    In each sample, the numbers go from high to low.

    Args:
        positives: Examples of the class, or right ones, with each number.
        negatives: The other examples with it.
    """

    def __init__(self, positives: Numbers, negatives: Numbers) -> None:
        self.positives = positives
        self.negatives = negatives

    @abstractmethod
    def totals(self, numbers: Numbers) -> Numbers:
        """Add up the numbers of each sample."""

    @abstractmethod
    def running(self, counts: Numbers) -> Numbers:
        """Add up the counts of each number and of all higher ones of its sample."""

    @abstractmethod
    def higher(self, running: Numbers) -> Numbers:
        """Give every number what the next higher one has, and 0 to the highest."""

    @abstractmethod
    def each(self, of_samples: Numbers) -> Numbers:
        """Give every number what its sample has."""


class _OneAfterTheOther(Rankings):
    """Samples that have numbers of their own, in arrays of shape (numbers of all,)."""

    def __init__(self, positives: Numbers, negatives: Numbers, starts: Places) -> None:
        super().__init__(positives, negatives)
        self._starts = starts
        self._lengths = np.diff(starts, append=len(positives))

    def totals(self, numbers: Numbers) -> Numbers:
        return totals(numbers, self._starts) if len(self._starts) else numbers

    def running(self, counts: Numbers) -> Numbers:
        # exact, as counts are whole numbers
        sums: Numbers = np.cumsum(counts)
        starts = self._starts
        return sums - self.each(np.where(starts > 0, sums[starts - 1], 0.0))

    def higher(self, running: Numbers) -> Numbers:
        higher = np.roll(running, 1)
        higher[self._starts] = 0.0
        return higher

    def each(self, of_samples: Numbers) -> Numbers:
        return np.repeat(of_samples, self._lengths)


class _SideBySide(Rankings):
    """Samples of the same numbers, in arrays of shape (numbers, samples)."""

    def totals(self, numbers: Numbers) -> Numbers:
        added: Numbers = numbers.sum(axis=0)
        return added

    def running(self, counts: Numbers) -> Numbers:
        # row by row: numpy's cumsum goes down one column at a time
        sums = counts.copy()
        for row in range(1, len(sums)):
            sums[row] += sums[row - 1]
        return sums

    def higher(self, running: Numbers) -> Numbers:
        return np.vstack([np.zeros((1, running.shape[1])), running[:-1]])

    def each(self, of_samples: Numbers) -> Numbers:
        return of_samples[None, :]


def rankings_of_samples(
    counts: Numbers, numbers: Numbers, is_positive: NDArray[np.bool_]
) -> Rankings:
    """Rank the cells of many samples.

    Args:
        counts: How many examples each sample has in a cell, of shape (samples, cells).
        numbers: The number of each cell.
        is_positive: Whether its examples are positives. No two cells have the same
            number and are of the same kind.

    Returns:
        The counts of every sample.
    """
    known, place = np.unique(-numbers, return_inverse=True)
    by_cell = counts.T
    kinds = []
    for chosen in (is_positive, ~is_positive):
        placed = np.zeros((len(known), len(counts)))
        placed[place[chosen]] = by_cell[chosen]
        kinds.append(placed)
    return _SideBySide(*kinds)


def rankings_of_groups(
    sums: pl.DataFrame, keys: Sequence[str], number: str, is_positive: str
) -> tuple[pl.DataFrame, Rankings]:
    """Rank the sums of every group.

    Args:
        sums: The keys, the number, whether it is of positives, and `count`.
        keys: Names of the columns that tell groups apart.
        number: Name of the column by which examples are ranked.
        is_positive: Name of the column that says whether they are positives.

    Returns:
        The keys of each group, and its counts.
    """
    count, kind = pl.col("count").cast(pl.Float64), cs.by_name(is_positive).as_expr()
    ordered = (
        sums.group_by(cs.by_name(*keys, number))
        .agg(positives=count.filter(kind).sum(), negatives=count.filter(~kind).sum())
        .sort(
            [cs.by_name(n).as_expr() for n in (*keys, number)],
            descending=[*([False] * len(keys)), True],
        )
    )
    starts = first_rows(ordered, keys)
    positives, negatives = (
        ordered[name].to_numpy() for name in ("positives", "negatives")
    )
    names = ordered.select(cs.by_name(*keys))[starts]
    return names, _OneAfterTheOther(positives, negatives, starts)
