"""Which unit (an example or a cluster) a row belongs to, and how often it is drawn.

How often a unit is drawn depends on the seed, the unit's own name and the replicate,
and on nothing else. So a unit is drawn equally often in the whole set and in every tag,
in a part of the data and in the whole, for two models that are compared, and on any
machine; and the sums of replicates of disjoint parts add up. Drawing each unit
independently by Poisson(1) in place of n out of n is due to Hanley and MacGibbon
(2006).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

Keys = NDArray[np.uint64]
Weights = NDArray[np.uint8]

FEWEST_POISSON_UNITS = 20
"""Units below which n are drawn out of n: so few Poisson weights may all be zero."""

_LANES = 4
"""Draws of 16 bits that one hash gives."""

# of 65 536 equally likely draws, how many give 0, 1, 2, …: Poisson(1) rounded to
# whole numbers in such a way that mean and variance are exactly 1
_POISSON_COUNTS = (24107, 24113, 12055, 4017, 1004, 201, 33, 5, 1)
_POISSON = np.repeat(np.arange(9, dtype=np.uint8), _POISSON_COUNTS)


def unit_keys(names: Iterable[str], seed: int) -> Keys:
    """Hash the names of units.

    Args:
        names: Names of the units, each once.
        seed: The user's seed.

    Returns:
        One key for each, the same on any machine.
    """
    start = hashlib.blake2b(str(seed).encode(), digest_size=8)
    digests = bytearray()
    for name in names:
        hashed = start.copy()
        hashed.update(b"\x1f" + name.encode("utf-8", "surrogatepass"))
        digests += hashed.digest()
    return np.frombuffer(bytes(digests), dtype="<u8").astype(np.uint64)


MOST_KEPT_WEIGHTS = 4_000_000
"""Weights that are kept for further groups and metrics, a byte each."""


class UnitWeights:
    """Draws how often units of a sample are in replicates of their group.

    Args:
        keys: Keys of all units, by number.
    """

    def __init__(self, keys: Keys) -> None:
        self._keys = keys
        self._kept: dict[int, Weights] = {}

    def of(
        self, units: NDArray[np.int64], first: int, count: int, replicates: int
    ) -> Weights:
        """Draw how often each unit of a group is in some of its replicates.

        Args:
            units: Numbers of the group's units.
            first: Number of the first replicate.
            count: How many are wanted.
            replicates: How many there are in all.

        Returns:
            What `unit_weights` draws.
        """
        are_many = len(self._keys) * replicates > MOST_KEPT_WEIGHTS
        if are_many or len(units) < FEWEST_POISSON_UNITS:
            return unit_weights(self._keys[units], first, count, replicates)
        if replicates not in self._kept:
            self._kept[replicates] = poisson_weights(self._keys, 0, replicates)
        return self._kept[replicates][units, first : first + count]


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
        ids: Sequence[str],
        clusters: NDArray[Any] | None,
        seed: int,
        repeats: int = 1,
    ) -> None:
        self._names: Sequence[Any] = ids[::repeats]
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

    def sums_of(
        self, rows: NDArray[Any], values: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], Keys]:
        """Add up values of rows by unit.

        Args:
            rows: Numbers of the rows, of shape (n,); one may come several times.
            values: Their values, of shape (n,).

        Returns:
            The sums and the keys of the units that have any of these rows.
        """
        units, place = np.unique(self.codes[rows], return_inverse=True)
        sums = np.bincount(place, weights=values, minlength=len(units))
        return sums.astype(np.float64), self.keys[units]


def unit_weights(keys: Keys, first: int, count: int, replicates: int) -> Weights:
    """Draw how often each unit of a group is in some of its replicates.

    Args:
        keys: Keys of the group's units, of shape (units,).
        first: Number of the first replicate.
        count: How many are wanted.
        replicates: How many there are in all.

    Returns:
        Weights of shape (units, count): n units out of n where there are few, else
        Poisson(1) draws.
    """
    if len(keys) < FEWEST_POISSON_UNITS:
        return exact_weights(keys, replicates)[:, first : first + count]
    return poisson_weights(keys, first, count)


def poisson_weights(keys: Keys, first: int, count: int) -> Weights:
    """Draw how often each unit is in some replicates.

    Args:
        keys: Keys of the units, of shape (units,).
        first: Number of the first replicate.
        count: How many replicates.

    Returns:
        Poisson(1) draws to 16 bits, of shape (units, count), 0 to 8.
    """
    from_lane = first % _LANES
    hashes = -(-(from_lane + count) // _LANES)
    numbers = np.arange(first // _LANES, first // _LANES + hashes, dtype=np.uint64)
    mixed = mixed_bits(keys[:, None] + _step(numbers)[None, :])
    lanes = mixed.astype("<u8", copy=False).view("<u2")
    drawn: Weights = _POISSON[lanes[:, from_lane : from_lane + count]]
    return drawn


def exact_weights(keys: Keys, count: int) -> Weights:
    """Draw n units out of n with replacement.

    Args:
        keys: Keys of the units, of shape (units,), at most 255.
        count: How many replicates, from the first one.

    Returns:
        How often each unit is drawn, of shape (units, count); what a unit gets does
        not depend on the order of the keys.
    """
    units = len(keys)
    order = np.argsort(keys)
    together = np.zeros(1, dtype=np.uint64)
    for key in keys[order]:
        together = mixed_bits(together + key)
    numbers = np.arange(count * units, dtype=np.uint64)
    drawn = mixed_bits(together + _step(numbers)) % np.uint64(max(1, units))
    weights = np.zeros((units, count), dtype=np.uint8)
    replicates = np.arange(count).repeat(units)
    np.add.at(weights, (order[drawn.astype(np.int64)], replicates), 1)
    return weights


def _step(numbers: Keys) -> Keys:
    with np.errstate(over="ignore"):
        return (numbers + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)


def mixed_bits(values: NDArray[Any]) -> Keys:
    """Mix bits as the finaliser of SplitMix64 does (Steele, Lea and Flood 2014).

    Args:
        values: Unsigned integers of 64 bits, of any shape.

    Returns:
        As many integers, in which each bit depends on all bits of its value.
    """
    with np.errstate(over="ignore"):
        values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: Keys = values ^ (values >> np.uint64(31))
    return mixed
