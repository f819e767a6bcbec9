"""Which unit (an example or a cluster) a row belongs to."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from evalkit.statistics.resampling import Keys, UnitWeights, unit_keys


class Units:
    """The units that a sample is made of: examples, or clusters of examples.

    Clusters are the units where there are any. Else the units are the examples; the
    replications of an example are one unit.

    Args:
        ids: The name of each row's example; replications follow each other.
        clusters: The cluster of each row, of shape (rows,); None for independent
            examples.
        seed: Seed of the resampling.
        repeats: How many rows each example has.

    Attributes:
        codes: Number of the unit of each row, from 0.
        count: How many units there are.
        clustered: Whether examples are grouped into clusters.
    """

    def __init__(
        self,
        ids: Sequence[str] | pl.Series,
        clusters: NDArray[Any] | None,
        seed: int,
        repeats: int = 1,
    ) -> None:
        self._names: Sequence[Any] | pl.Series = ids[::repeats]
        self._seed = seed
        self.clustered = clusters is not None
        self.codes: NDArray[np.int64] = np.arange(len(ids), dtype=np.int64) // repeats
        if clusters is not None:
            distinct, codes = np.unique(clusters, return_inverse=True)
            self._names = distinct.tolist()
            self.codes = codes.astype(np.int64)
        self.count = len(self._names)

    @cached_property
    def keys(self) -> Keys:
        """What decides how often each unit is drawn, by number of the unit."""
        return unit_keys(map(str, self._names), self._seed)

    @cached_property
    def weights(self) -> UnitWeights:
        """How often each unit is drawn."""
        return UnitWeights(self.keys)

    def count_of(self, rows: NDArray[Any]) -> int:
        """Count the units of some rows."""
        is_present = np.zeros(self.count, dtype=bool)
        is_present[self.codes[rows]] = True
        return int(np.count_nonzero(is_present))

    def sizes_of(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        """Count those of some rows that each unit has, of units that have any."""
        sizes = np.bincount(self.codes[rows], minlength=self.count)
        return sizes[sizes > 0].astype(np.float64)
