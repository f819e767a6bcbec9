"""Units of a sample that is perturbed: what is drawn, and what changes sides."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from evalkit.inference.intervals import Integers
from evalkit.inference.resampling import Keys, unit_keys
from evalkit.robustness.pairs import Sample


class PerturbedUnits(NamedTuple):
    """Originals with their copies, or the data set's clusters of them."""

    units: Integers
    """The unit of each original, of shape (originals,)."""
    keys: Keys
    """A key for each unit, which depends on its name and the seed alone."""


def units_of(sample: Sample, seed: int) -> PerturbedUnits:
    """Say which unit each original belongs to.

    Args:
        sample: The examples that originals are.
        seed: The user's seed.

    Returns:
        Their clusters; without any, the originals themselves.
    """
    if sample.clusters is None:
        count = len(sample.ids)
        return PerturbedUnits(np.arange(count), unit_keys(sample.ids, seed))
    distinct, units = np.unique(sample.clusters.to_numpy(), return_inverse=True)
    keys = unit_keys(map(str, distinct), seed)
    return PerturbedUnits(units.astype(np.int64), keys)
