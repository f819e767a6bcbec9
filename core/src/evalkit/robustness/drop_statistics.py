"""What the drop of a set-level score is computed from."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import polars as pl

from evalkit.inference.intervals import Floats, Integers
from evalkit.robustness.pairs import Mask


class Drawn(NamedTuple):
    """The statistics of originals, or of copies, in groups."""

    statistics: pl.DataFrame
    """`position` (the number of the entry), keys and number columns that add up."""
    group: Integers
    """The group of each entry."""
    original: Integers
    """The original of each entry."""
    weight: Floats | None = None
    """How much each entry counts already; None for 1."""

    def mass(self, members: Mask) -> float:
        """Give how much some entries count."""
        if self.weight is None:
            return float(np.count_nonzero(members))
        return float(self.weight[members].sum())
