"""Tests of drops under perturbation, as differences from a drop of nothing.

The test of a drop is that of two models on the same examples: McNemar's where an
original and its copy are right or wrong, flipped signs of units' mean drops else. If
there is no drop, which of an original's two answers is the copy's is a coin toss.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from evalkit.comparing.differences import Difference, Intervals
from evalkit.comparing.examples import spread_of
from evalkit.inference.binomial_tests import mcnemar
from evalkit.inference.intervals import Floats, Integers, Interval
from evalkit.inference.paired_shares import tango_interval
from evalkit.inference.randomised_tests import Significance
from evalkit.inference.resampling import Units
from evalkit.inference.sign_flips import flip_test
from evalkit.robustness.pairs import Rows
from evalkit.scoring.grouping import WHOLE
from evalkit.scoring.records import GroupScore

FLIPS = 1_000
"""Random flips of a drop's signs that are made in any case."""

TestedDrops = Sequence[Difference | None]
"""The tests of scores, in their order; None of a score that has none."""


class DropLevels:
    """Levels that the tests of drops must decide at.

    Args:
        confidence: Probability of the intervals; 1 less it is the level of a family.
        whole: The most drops of the whole set that are read together.
        tags: The most drops of tags that are read together.
        fewest: Originals below which a tag is not tested.
    """

    def __init__(
        self, confidence: float, whole: int, tags: int, fewest: int = 1
    ) -> None:
        self._whole = (1 - confidence) / max(1, whole)
        self._tags = (1 - confidence) / max(1, tags)
        self._fewest = fewest

    def of(self, drop: GroupScore) -> float | None:
        """Give the level of a drop; None where it is not tested."""
        if drop.value is None:
            return None
        if drop.group == WHOLE:
            return self._whole
        return self._tags if drop.n >= self._fewest else None


def difference_of_drop(
    score: GroupScore, intervals: Intervals, tested: Significance | str
) -> Difference:
    """Make the difference of a drop from nothing.

    Args:
        score: The drop, with its own interval.
        intervals: Intervals by confidence, for drops that are read together.
        tested: The test, or why there is none.

    Returns:
        The difference, whose intervals hold the drop's own.
    """
    own = score.interval

    def holding(confidence: float) -> Interval:
        found = intervals(confidence)
        if found.low is None or found.high is None:
            return found
        if own.low is None or own.high is None:
            return found
        return found._replace(
            low=min(found.low, own.low), high=max(found.high, own.high)
        )

    return Difference(
        score.value,
        0.0,
        score.n,
        0,
        score.n_clusters,
        own.standard_error,
        holding,
        detects=lambda _level: None,
        tested=None if isinstance(tested, str) else tested,
        reason=tested if isinstance(tested, str) else None,
    )


def mean_differences(
    scores: Sequence[GroupScore],
    rows: Rows,
    units: Units,
    levels: DropLevels,
    *,
    clustered: bool,
    shares: bool,
) -> TestedDrops:
    """Test the mean drop of each group.

    Args:
        scores: The drops.
        rows: Original less perturbed of each row.
        units: The unit of each original.
        levels: Levels that the tests must decide at.
        clustered: Whether units are clusters of originals.
        shares: Whether the scores lie between 0 and 1.

    Returns:
        The tests.
    """
    order = np.argsort(rows.group, kind="stable")
    last = max((score.group for score in scores), default=0)
    ends = np.searchsorted(rows.group[order], np.arange(last + 2))
    are_alone = rows.are_originals and not clustered

    def found() -> Iterator[Difference | None]:
        for score in scores:
            level = levels.of(score)
            if level is None:
                yield None
                continue
            part = order[ends[score.group] : ends[score.group + 1]]
            yield _test_mean(
                score,
                rows.value[part],
                rows.original[part],
                are_alone,
                units,
                level,
                shares,
            )

    return list(found())


def _test_mean(
    score: GroupScore,
    drops: Floats,
    originals: Integers,
    are_alone: bool,
    units: Units,
    level: float,
    shares: bool,
) -> Difference:
    if shares and are_alone and bool(np.isin(drops, (-1.0, 0.0, 1.0)).all()):
        return _test_right_or_wrong(score, drops)
    clusters = None if are_alone else units.codes[originals]
    intervals = spread_of(drops, clusters, shares=shares).intervals
    tested = flip_test(*units.sums_of(originals, drops), level, flips=FLIPS)
    return difference_of_drop(score, intervals, tested)


def _test_right_or_wrong(score: GroupScore, drops: Floats) -> Difference:
    worse, better = int((drops > 0).sum()), int((drops < 0).sum())
    least = mcnemar(worse + better, 0).exact
    tested = Significance(mcnemar(worse, better).exact, "mcnemar-exact", least=least)
    intervals = partial(tango_interval, worse, better, len(drops))
    return difference_of_drop(score, intervals, tested)
