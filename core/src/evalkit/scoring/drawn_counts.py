"""Counts of cells in replicates, and the table that a metric finalizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from evalkit.statistics.clusters import Floats
from evalkit.statistics.label_pairs import Pair


class DrawnCounts(NamedTuple):
    """Counts of cells, such as pairs of labels, in replicates of one group."""

    names: Sequence[str]
    """Names of the keys of a cell, and of the count."""
    cells: Sequence[Sequence[Any]]
    """The keys of each cell."""
    counts: Floats | NDArray[np.integer[Any]]
    """The counts, of shape (replicates, cells)."""
    kinds: Sequence[Any] = ()
    """The type of each key; none where all are texts."""

    def cell_table(self) -> pl.DataFrame:
        """Return the keys of the cells, one row each."""
        return _table(self, self.cells)


def as_replicate(counts: Mapping[Pair, float], names: Sequence[str]) -> DrawnCounts:
    """Return counts as those of a single replicate."""
    return DrawnCounts(names, list(counts), np.array([[*counts.values()]]))


def counts_table(groups: Sequence[DrawnCounts], firsts: Sequence[int]) -> pl.DataFrame:
    """Put the counts of groups into one table, which takes long for each by itself.

    Args:
        groups: The counts of one group or more, with the same names.
        firsts: The number of the first replicate of each.

    Returns:
        `replicate`, the keys and the counts, one group below the other; no row for a
        count of 0.
    """
    names = groups[0].names
    keys = _table(groups[0], [cell for group in groups for cell in group.cells])
    before = np.cumsum([0, *(len(group.cells) for group in groups)])
    replicates, places, counts = [], [], []
    for group, first, start in zip(groups, firsts, before.tolist(), strict=False):
        replicate, place = np.nonzero(group.counts)
        counts.append(group.counts[replicate, place].astype(np.float64))
        replicates.append(replicate + first)
        places.append(place + start)
    return pl.DataFrame(
        [
            pl.Series("replicate", np.concatenate(replicates)),
            *keys[np.concatenate(places)].get_columns(),
            pl.Series(names[-1], np.concatenate(counts)),
        ]
    )


def _table(counts: DrawnCounts, cells: Sequence[Sequence[Any]]) -> pl.DataFrame:
    keys = counts.names[:-1]
    kinds = counts.kinds or [pl.String()] * len(keys)
    return pl.DataFrame(cells, dict(zip(keys, kinds, strict=True)), orient="row")
