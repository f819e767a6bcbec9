"""The units that a sample is made of: examples, or clusters of examples."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evalkit.inference.resampling import Keys, unit_keys
from evalkit.scoring.table import ScoringTable

Codes = NDArray[np.int64]


class Units:
    """Which unit each example belongs to.

    Clusters are the units where the data set names any. Else the units are the
    examples; the replications of an example are one unit.

    Args:
        table: What is scored.
        seed: Seed of the resampling.

    Attributes:
        codes: Number of the unit of each position, from 0.
        count: How many units there are.
        clustered: Whether examples are grouped into clusters.
    """

    def __init__(self, table: ScoringTable, seed: int) -> None:
        self._table = table
        self._seed = seed
        self.clustered = table.clusters is not None
        repeats = table.repeats
        if table.clusters is not None:
            clusters = table.clusters.to_numpy()
            self._distinct, codes = np.unique(clusters, return_inverse=True)
            self.codes: Codes = codes.astype(np.int64)
            self.count = len(self._distinct)
        else:
            self.codes = np.arange(len(table.ids), dtype=np.int64) // repeats
            self.count = len(table.ids) // repeats

    def count_of(self, positions: NDArray[Any]) -> int:
        """Count the units of some positions."""
        is_present = np.zeros(self.count, dtype=bool)
        is_present[self.codes[positions]] = True
        return int(np.count_nonzero(is_present))

    def sizes_of(self, positions: NDArray[Any]) -> NDArray[np.float64]:
        """Count the positions of each unit that has any of them."""
        sizes = np.bincount(self.codes[positions], minlength=self.count)
        return sizes[sizes > 0].astype(np.float64)

    @cached_property
    def keys(self) -> Keys:
        """What decides how often each unit is drawn, by number of the unit."""
        names: Sequence[str]
        if self.clustered:
            names = [str(cluster) for cluster in self._distinct.tolist()]
        else:
            given = self._table.unit_names or self._table.ids
            names = given[:: self._table.repeats]
        return unit_keys(names, self._seed)
