"""Sums of consecutive rows of an array, as of weights of the units of a group.

numpy's `reduceat` goes down one column at a time, which takes about ten times as long
where an array has many columns.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from evalkit.statistics.clusters import Integers

_LONG = 32
"""Rows of a segment beyond which it is added up by itself."""


def segment_sums(
    numbers: NDArray[np.uint8] | NDArray[np.int32], starts: Integers
) -> NDArray[np.int32]:
    """Add up whole numbers by segments of rows.

    Args:
        numbers: The numbers, of shape (rows, columns); no sum is beyond 32 bits.
        starts: Where each segment begins, from 0; each has a row at least.

    Returns:
        The sums, of shape (segments, columns).
    """
    lengths = np.diff(starts, append=len(numbers))
    sums = numbers[starts].astype(np.int32)
    for place in np.flatnonzero(lengths > _LONG).tolist():
        rows = slice(starts[place], starts[place] + lengths[place])
        np.add.reduce(numbers[rows], axis=0, dtype=np.int32, out=sums[place])
    places = np.flatnonzero((lengths > 1) & (lengths <= _LONG))
    further = 1
    while len(places):
        sums[places] += numbers[starts[places] + further]
        further += 1
        places = places[lengths[places] > further]
    return sums
