"""The bootstrap of units (examples or clusters), and percentiles of its replicates.

How often a unit is drawn depends on the seed, the unit's own name and the replicate,
and on nothing else. So a unit is drawn equally often in the whole set and in every tag,
in a part of the data and in the whole, for two models that are compared, and on any
machine; and the sums of replicates of disjoint parts add up. Drawing each unit
independently by Poisson(1) in place of n out of n is due to Hanley and MacGibbon
(2006). Intervals are percentiles (Efron 1979).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evalkit.statistics.clusters import Floats
from evalkit.statistics.intervals import TOO_LARGE, Interval, without_interval
from evalkit.statistics.student_t import normal_quantile

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
    """Hash the names of units, each given once; the same on any machine."""
    start = hashlib.blake2b(str(seed).encode(), digest_size=8)
    digests = bytearray()
    for name in names:
        hashed = start.copy()
        hashed.update(b"\x1f" + name.encode("utf-8", "surrogatepass"))
        digests += hashed.digest()
    return np.frombuffer(bytes(digests), dtype="<u8").astype(np.uint64)


def unit_weights(keys: Keys, first: int, count: int) -> Weights:
    """Draw how often each unit of a group is in some of its replicates.

    Weights of shape (units, count), from the replicate `first` on: n units out of n
    where there are few, else Poisson(1) draws.
    """
    if len(keys) < FEWEST_POISSON_UNITS:
        return exact_weights(keys, first + count)[:, first:]
    return poisson_weights(keys, first, count)


def poisson_weights(keys: Keys, first: int, count: int) -> Weights:
    """Draw how often each unit is in some replicates, from `first` on.

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
    """Draw n units out of n with replacement; there are at most 255.

    Weights of shape (units, count), from the first replicate on. What a unit gets does
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

    Each bit of the result depends on all bits of its value.
    """
    with np.errstate(over="ignore"):
        values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: Keys = values ^ (values >> np.uint64(31))
    return mixed


LEAST_IN_TAIL = 5
"""Replicates beyond each end of a percentile interval."""


def percentile_interval(replicates: Floats, confidence: float, method: str) -> Interval:
    """Compute the percentile interval of replicates (Efron 1979).

    Replicates are nan where undefined. The standard error is their standard deviation.
    The interval is empty if more than half of them are undefined, all are equal, or
    fewer than `LEAST_IN_TAIL` lie beyond each end.
    """
    tail = (1 - confidence) / 2
    if len(replicates) * tail < LEAST_IN_TAIL - 1e-9:
        return without_interval(
            f"{len(replicates)} bootstrap replicates are too few for this confidence"
        )
    defined = replicates[np.isfinite(replicates)]
    if len(defined) < len(replicates) / 2:
        return without_interval("the score is undefined in most bootstrap replicates")
    low, high = np.quantile(defined, [tail, 1 - tail])
    with np.errstate(over="ignore"):
        error = float(np.std(defined, ddof=1))
    if not np.isfinite(error):
        return without_interval(TOO_LARGE)
    if high - low <= 1e-15 * max(abs(float(low)), abs(float(high))):
        share = "all" if np.ptp(defined) == 0 else "nearly all"
        return without_interval(f"{share} bootstrap replicates are equal")
    return Interval(float(low), float(high), error, method)


def corrected_bounds(
    replicates: Floats, centre: float, confidence: float
) -> tuple[float, float]:
    """Return the percentiles of replicates, corrected for their bias (Efron 1981).

    Where the replicates lie lower than what they were drawn from, whose score is the
    centre, the score itself lies lower than the truth. So the percentiles are moved the
    other way, by twice the normal quantile of the share of replicates below the centre.
    All replicates are finite.
    """
    normal = NormalDist()
    slack = 1e-12 * max(1.0, abs(centre))
    below = np.count_nonzero(replicates < centre - slack)
    equal = np.count_nonzero(np.abs(replicates - centre) <= slack)
    shift = 2 * normal.inv_cdf((float(below) + equal / 2 + 0.5) / (len(replicates) + 1))
    quantile = normal_quantile(confidence)
    levels = [normal.cdf(shift - quantile), normal.cdf(shift + quantile)]
    low, high = np.quantile(replicates, levels)
    return float(low), float(high)


def generator(seed: int, *parts: str) -> np.random.Generator:
    """Make a random generator from a seed and what it is used for.

    The same seed and parts, such as the metric and the tag, give the same numbers
    anywhere.
    """
    digest = hashlib.sha256("\x1f".join((str(seed), *parts)).encode()).digest()
    return np.random.Generator(np.random.PCG64(int.from_bytes(digest[:16], "big")))


DRAWS_OF_SUMS = 1_000
"""Replicates of a score that is computed from sums."""

DRAWS_OF_LISTS = 200
"""Replicates of a function of lists, which has to be called for each."""

DRAWS_BY_METHOD: Mapping[str, int] = {
    "multinomial": DRAWS_OF_SUMS,
    # a function of lists and a score of sums are called the same
    "bootstrap": min(DRAWS_OF_SUMS, DRAWS_OF_LISTS),
}
"""The fewest draws of an interval, by a word in the name of its method.

The bounds of an interval of another method do not depend on the seed.
"""
