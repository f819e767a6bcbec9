"""What the comparison of two models on one group of examples gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from evalkit.statistics.clusters import Integers
from evalkit.statistics.intervals import without_interval
from evalkit_analysis_compare.paired_tests import Intervals, Significance
from evalkit_analysis_compare.pairing import PairedRuns

EQUIVALENCE_LEVEL = 2.0
"""Tails of the interval for equivalence are this many times as wide: two one-sided
tests at alpha are an interval of 1 - 2 alpha (Schuirmann 1987)."""


class Difference(NamedTuple):
    """The difference of one score on one group; all values as stored."""

    value_a: float | None
    value_b: float | None
    n: int
    left_out: int
    """Examples that only one of the two was scored on."""
    n_clusters: int | None
    error: float | None
    """Standard error of the difference."""
    intervals: Intervals
    """Its interval, by confidence."""
    detects: Callable[[float], float | None]
    """The smallest true difference that the test would find, by level; None where it
    is not known, or there is none."""
    tested: Significance | None = None
    wins: int | None = None
    losses: int | None = None
    ties: int | None = None
    reason: str | None = None
    """Why there is no difference, or else no test."""
    lacking: tuple[int, int] = (0, 0)
    """Examples that only the second was scored on, and that only the first was."""
    as_wrong: tuple[int, int] = (0, 0)
    """Examples whose answer by the first is missing or invalid and counts as wrong, and
    those by the second; of those that both were scored on."""

    @property
    def value(self) -> float | None:
        """The first value less the second; None where one is undefined."""
        if self.value_a is None or self.value_b is None:
            return None
        return self.value_a - self.value_b


def without_difference(
    reason: str, n: int, left_out: int, n_clusters: int | None
) -> Difference:
    """Return a difference that there is not, with the reason."""
    none = without_interval("there is no difference")
    return Difference(
        *(None, None, n, left_out, n_clusters, None),
        intervals=lambda _confidence: none,
        detects=lambda _level: None,
        reason=reason,
    )


def narrower(confidence: float) -> float:
    """Return the confidence of the interval for equivalence: .90 for .95."""
    return max(0.0, 1 - EQUIVALENCE_LEVEL * (1 - confidence))


def members_of(pair: PairedRuns) -> list[Integers]:
    """Return the examples of each group, sorted, by number of the group."""
    members = pair.groups.members.sort("group", "position")
    examples = members["position"].to_numpy().astype(np.int64)
    ends = np.cumsum(pair.groups.sizes)
    return list(np.split(examples, ends[:-1]))


def count_clusters(pair: PairedRuns, examples: Integers) -> int | None:
    """Count the clusters of some examples; None where there are none."""
    if pair.clusters is None:
        return None
    return len(np.unique(pair.clusters[examples]))


def count_as_wrong(pair: PairedRuns, examples: Integers) -> tuple[int, int]:
    """Count the examples whose answer is missing or invalid and counts as wrong."""
    first, second = pair.as_wrong
    return int(first[examples].sum()), int(second[examples].sum())
