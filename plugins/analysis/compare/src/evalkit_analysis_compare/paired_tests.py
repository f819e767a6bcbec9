"""Two-sided tests of paired differences, and the intervals that go with them.

| scores | test | interval |
|---|---|---|
| zeros and ones | McNemar's mid-p (Fagerland, Lydersen and Laake 2013) | Tango (1998) |
| other scores | paired t; below 30 sign flips (Pitman 1937) | Student's t |
| scores in clusters | t with CR2 and Satterthwaite's degrees of freedom | the same |

All are symmetric: exchanging the two runs changes the sign of the interval alone.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from evalkit.scoring import Interval
from evalkit.statistics.clusters import (
    Floats,
    Integers,
    cluster_sums,
    degrees_of_freedom,
)
from evalkit.statistics.intervals import (
    ALL_EQUAL,
    clustered_mean_interval,
    mean_interval,
    without_interval,
)
from evalkit.statistics.student_t import outside_probability
from evalkit_analysis_compare.paired_shares import tango_interval

FLIPS = 9_999
"""Random flips of signs; all of them are taken where they are no more."""

FEWEST_FOR_T = 30
"""Units below which signs are flipped."""

FIRST_CONFIDENCE = 0.95
"""Confidence of the interval that the standard error is taken from."""

_MOST_EXACT = 1_000
"""Examples that differ up to which McNemar's test counts in whole numbers."""

_SLACK = 1e-12
"""Share by which two sums may differ by rounding alone."""

Intervals = Callable[[float], Interval]
"""Gives the interval of a probability, whatever it is."""


class Significance(NamedTuple):
    """The outcome of a two-sided test."""

    p_value: float
    method: str
    at_most: bool = False
    """Whether no random draw was as great, so that the p-value may be smaller."""
    least: float = 0.0
    """The smallest p-value that the test can give, as with few units that differ."""


class TestedMean(NamedTuple):
    """The intervals and the test of a mean difference."""

    intervals: Intervals
    error: float | None
    degrees: float
    tested: Significance


def compare_mean(
    differences: Floats, clusters: Integers | None, *, binary: bool
) -> TestedMean:
    """Test whether a mean difference is zero."""
    n = len(differences)
    if binary and clusters is None:
        wins, losses = int((differences > 0).sum()), int((differences < 0).sum())
        shares = partial(tango_interval, wins, losses, n)
        error = shares(FIRST_CONFIDENCE).standard_error
        return TestedMean(shares, error, n - 1.0, mcnemar(wins, losses))
    intervals: Intervals
    if clusters is None:
        intervals, units = partial(mean_interval, differences, np.ones(n)), differences
        degrees = max(1.0, n - 1.0)
    else:
        units, sizes = cluster_sums(differences, clusters)
        intervals = partial(clustered_mean_interval, units, sizes)
        degrees = degrees_of_freedom(sizes) if len(sizes) > 1 else 1.0
    error = intervals(FIRST_CONFIDENCE).standard_error
    if error is None:
        return TestedMean(
            partial(_say_equal, intervals, differences), None, degrees, flip_test(units)
        )
    if clusters is None and n < FEWEST_FOR_T:
        return TestedMean(intervals, error, degrees, flip_test(units))
    method = "t" if clusters is None else "t-clustered"
    tested = compare_by_t(math.fsum(differences) / n, error, degrees, method)
    return TestedMean(intervals, error, degrees, tested)


def _say_equal(
    intervals: Intervals, differences: Floats, confidence: float
) -> Interval:
    found = intervals(confidence)
    if found.reason != ALL_EQUAL:
        return found
    same = "equal" if differences.any() else "zero"
    return without_interval(f"all differences are {same}")


def compare_by_t(
    value: float, error: float, degrees: float, method: str
) -> Significance:
    """Test a value by its standard error and Student's t."""
    return Significance(outside_probability(abs(value) / error, degrees), method)


def mcnemar(only_first: int, only_second: int) -> Significance:
    """Test whether two models are equally often right where they disagree.

    The mid-p-value is `2 P(X <= min(b, c)) - P(X = min(b, c))` for X binomial with
    b + c trials of probability 1/2 (Fagerland, Lydersen and Laake 2013).
    """
    trials, fewer = only_first + only_second, min(only_first, only_second)
    least = 0.5**trials
    if only_first == only_second:
        return Significance(1.0, "mcnemar-mid", least=least)
    if trials <= _MOST_EXACT:
        ways = [math.comb(trials, count) for count in range(fewer + 1)]
        p_value = (2 * sum(ways) - ways[-1]) / 2**trials
    else:
        from scipy.stats import binom

        seen = float(binom.pmf(fewer, trials, 0.5))
        p_value = 2 * float(binom.cdf(fewer, trials, 0.5)) - seen
    return Significance(p_value, "mcnemar-mid", least=least)


def flip_test(differences: Floats) -> Significance:
    """Test whether a sum of paired differences is zero by flipping their signs.

    All flips are counted where they are at most `FLIPS`. Otherwise `FLIPS` random ones
    are, and the p-value is `(1 + hits) / (1 + flips)`. They are seeded by the sizes of
    the differences, so that they are the same for both orders of the runs.
    """
    sizes = np.sort(np.abs(differences[differences != 0]))
    least = min(1.0, 2.0 ** (1 - len(sizes)))
    observed = abs(math.fsum(differences)) * (1 - _SLACK)
    if 2 ** len(sizes) <= FLIPS:
        sums = np.zeros(1)
        for size in sizes:
            sums = np.concatenate([sums + size, sums - size])
        p_value = float(np.mean(np.abs(sums) >= observed))
        return Significance(p_value, "sign-flips-exact", least=least)
    random = seeded_by(sizes.tobytes())
    hits = 0
    for start in range(0, FLIPS, 1_000):
        count = min(1_000, FLIPS - start)
        signs = random.integers(0, 2, (count, len(sizes)), dtype=np.int8)
        sums = np.abs((2.0 * signs - 1.0) @ sizes)
        hits += int((sums >= observed).sum())
    p_value = (1 + hits) / (1 + FLIPS)
    return Significance(p_value, "sign-flips", hits == 0, least)


def seeded_by(content: bytes, seed: int = 0) -> np.random.Generator:
    """Make a random generator from what is tested, for both orders of the runs."""
    digest = hashlib.sha256(str(seed).encode() + b"\x1f" + content).digest()
    return np.random.Generator(np.random.PCG64(int.from_bytes(digest[:16], "big")))
