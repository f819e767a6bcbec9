"""Tests by approximate randomisation: would it be the same if labels were swapped?

If two models are equally good, which of them gave which of an example's two answers
is a coin toss. The p-value is the share of such tosses, over whole units (examples or
clusters), that give a difference at least as great as the real one (Noreen 1989).
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np
from numpy.typing import NDArray

from evalkit.inference.intervals import Floats
from evalkit.inference.resampling import Keys, mixed_bits
from evalkit_analysis_compare.randomised_tests import Significance, SwapCount, go_on

FLIPS = 10_000
"""Random flips of a sum of differences."""

_MOST_UNITS = 5_000
"""Units beyond which the distribution of flips is taken for normal, if it is."""

_MOST_SKEW = 0.025
"""Bound on Berry and Esseen's distance from the normal that is taken for none."""

_MOST_CELLS = 500_000
"""Units times flips that are made at a time, so that they stay in the cache."""

_LANES = 64
"""Tosses that one hash gives."""

_SLACK = 1e-12
"""Share by which two sums may differ by rounding alone."""


def flip_test(
    differences: Floats, keys: Keys, level: float = 0.05, flips: int = FLIPS
) -> Significance:
    """Test whether a sum of paired differences is zero.

    Args:
        differences: The difference of each unit, of shape (units,).
        keys: Key of each unit.
        level: Level that the test must decide at.
        flips: How many random flips are made in any case.

    Returns:
        The p-value. `sign-flips-exact`: all flips are counted, where at most 13
        units differ. `sign-flips`: `(1 + hits) / (1 + flips)` for random flips,
        and further ones until the decision is clear; they depend on the keys only.
        `sign-flips-normal`: the limit of that, where more than 5 000 units differ and
        none stands out.
    """
    given = differences != 0
    order = np.argsort(keys[given], kind="stable")
    values, units = differences[given][order], keys[given][order]
    least = min(1.0, 2.0 ** (1 - len(values)))
    observed = abs(math.fsum(values)) * (1 - _SLACK)
    if 2 ** len(values) <= FLIPS:
        sums = _all_sums(values)
        p_value = float(np.mean(sums >= observed))
        return Significance(p_value, "sign-flips-exact", least=least)
    if len(values) > _MOST_UNITS and _is_normal(values):
        z = observed / math.sqrt(math.fsum(values**2))
        return Significance(
            math.erfc(z / math.sqrt(2)), "sign-flips-normal", least=least
        )
    count = partial(_count, values, units, observed)
    found = go_on(count, count(0, flips), flips, level)
    return Significance(found.p_value, "sign-flips", found.hits == 0, least)


def _count(
    values: Floats, units: Keys, observed: float, start: int, count: int
) -> SwapCount:
    """Count the flips whose sum is at least as great as what was observed."""
    hits, total = 0, math.fsum(values)
    step = max(1, _MOST_CELLS // (len(values) * _LANES)) * _LANES
    for first in range(start, start + count, step):
        made = min(step, start + count - first)
        swapped = swaps(units, first, made).astype(np.float64)
        hits += int((np.abs(total - 2 * (values @ swapped)) >= observed).sum())
    return SwapCount(hits, count)


def _all_sums(values: Floats) -> Floats:
    sums = np.zeros(1)
    for value in values:
        sums = np.concatenate([sums + value, sums - value])
    return np.abs(sums)


def _is_normal(values: Floats) -> bool:
    sizes = np.abs(values / np.abs(values).max())
    return float((sizes**3).sum() / (sizes**2).sum() ** 1.5) <= _MOST_SKEW


def swaps(keys: Keys, first: int, count: int) -> NDArray[np.uint8]:
    """Toss a coin for each unit in some replicates.

    Args:
        keys: Keys of the units, of shape (units,).
        first: Number of the first replicate.
        count: How many replicates.

    Returns:
        Zeros and ones of shape (units, count). What a unit gets depends on its key and
        the replicate only.
    """
    words = np.arange(
        first // _LANES, (first + count - 1) // _LANES + 1, dtype=np.uint64
    )
    mixed = _mixed(_mixed(keys)[:, None] ^ _mixed(~words)[None, :])
    octets = np.ascontiguousarray(mixed.astype("<u8", copy=False)).view(np.uint8)
    bits = np.unpackbits(octets.reshape(len(keys), -1), axis=1, bitorder="little")
    return bits[:, first % _LANES : first % _LANES + count]


def _mixed(values: Keys) -> Keys:
    with np.errstate(over="ignore"):
        stepped = (values + np.uint64(0x9E3779B97F4A7C15)).astype(np.uint64)
    return mixed_bits(stepped)
