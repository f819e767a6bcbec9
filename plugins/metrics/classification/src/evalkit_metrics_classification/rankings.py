"""Examples in the order of a number, as counts of those that have each number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import polars as pl
import polars.selectors as cs
from numpy.typing import NDArray

from evalkit_metrics_classification.averages import Numbers, Places, totals
from evalkit_metrics_classification.confusion import first_rows


class Rankings(NamedTuple):
    """Counts of examples of two kinds by a number, in each of some samples.

    The samples stand one after the other; in each, the numbers go from high to low.
    """

    positives: Numbers
    """Examples of the class, or right ones, with each number."""
    negatives: Numbers
    """The other examples with it."""
    starts: Places
    """Where each sample begins."""

    def totals(self, numbers: Numbers) -> Numbers:
        """Add up the numbers of each sample."""
        added: Numbers = totals(numbers, self.starts) if len(self.starts) else numbers
        return added

    def running(self, counts: Numbers) -> Numbers:
        """Add up the counts of each number and of all higher ones of its sample."""
        # exact, as counts are whole numbers
        sums = np.cumsum(counts)
        before = np.where(self.starts > 0, sums[self.starts - 1], 0.0)
        lengths = np.diff(self.starts, append=len(counts))
        running: Numbers = sums - np.repeat(before, lengths)
        return running


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
    kinds = []
    for chosen in (is_positive, ~is_positive):
        placed = np.zeros((len(counts), len(known)))
        placed[:, place[chosen]] = counts[:, chosen]
        kinds.append(placed.ravel())
    starts = np.arange(len(counts), dtype=np.int64) * len(known)
    return Rankings(kinds[0], kinds[1], starts)


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
    return names, Rankings(positives, negatives, starts)
