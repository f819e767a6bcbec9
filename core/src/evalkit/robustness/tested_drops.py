"""Tests of drops under perturbation, as differences from a drop of nothing.

The test of a drop is that of two models on the same examples: McNemar's where an
original and its copy are right or wrong, flipped signs of units' mean drops else. If
there is no drop, which of an original's two answers is the copy's is a coin toss.

Drops are adjusted for all that are read together in one table, a family: one metric's
drops of the whole set under all perturbations, those under all families of
perturbations, or those of all tags under one perturbation or family. Within it p-values
and intervals are adjusted as those of compared models are
(`evalkit_analysis_compare.judging`), so that they agree with each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import polars as pl

from evalkit.base.copies import FAMILY
from evalkit.inference.intervals import Floats, Integers, Interval
from evalkit.inference.resampling import Units
from evalkit.robustness.pairs import Mask, Rows
from evalkit.runs.score_columns import Score, plain_number
from evalkit.scoring.grouping import WHOLE
from evalkit.scoring.records import GroupScore
from evalkit_analysis_compare.binomial_tests import mcnemar
from evalkit_analysis_compare.differences import Difference, Intervals
from evalkit_analysis_compare.judging import judge
from evalkit_analysis_compare.paired_shares import tango_interval
from evalkit_analysis_compare.randomised_tests import Significance
from evalkit_analysis_compare.sign_flips import flip_test
from evalkit_analysis_compare.spreads import spread_of

FLIPS = 1_000
"""Random flips of a drop's signs that are made in any case."""

TestedDrops = Sequence[Difference | None]
"""The tests of scores, in their order; None of a score that has none."""


class GroupedStatistics(NamedTuple):
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
        """Return how much some entries count."""
        if self.weight is None:
            return float(np.count_nonzero(members))
        return float(self.weight[members].sum())


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
        """Return the level of a drop; None where it is not tested."""
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
    shares: bool,
) -> TestedDrops:
    """Test the mean drop of each group.

    Args:
        scores: The drops.
        rows: Original less perturbed of each row.
        units: The unit of each original.
        levels: Levels that the tests must decide at.
        shares: Whether the scores lie between 0 and 1.

    Returns:
        The tests.
    """
    by_group = rows.by_group
    are_alone = rows.are_originals and not units.clustered
    tested: list[Difference | None] = []
    for score in scores:
        level = levels.of(score)
        if level is None:
            tested.append(None)
            continue
        part = by_group[score.group]
        drops, originals = rows.value[part], rows.original[part]
        if shares and are_alone and bool(np.isin(drops, (-1.0, 0.0, 1.0)).all()):
            tested.append(_test_right_or_wrong(score, drops))
            continue
        clusters = None if are_alone else units.codes[originals]
        intervals = spread_of(drops, clusters, shares=shares).intervals
        flipped = flip_test(*units.sums_of(originals, drops), level, flips=FLIPS)
        tested.append(difference_of_drop(score, intervals, flipped))
    return tested


def _test_right_or_wrong(score: GroupScore, drops: Floats) -> Difference:
    worse, better = int((drops > 0).sum()), int((drops < 0).sum())
    least = mcnemar(worse + better, 0).exact
    tested = Significance(mcnemar(worse, better).exact, "mcnemar-exact", least=least)
    intervals = partial(tango_interval, worse, better, len(drops))
    return difference_of_drop(score, intervals, tested)


class TestedScore(NamedTuple):
    """A score under perturbation, and the test of a drop."""

    score: Score
    tested: Difference | None = None
    """None of what is no drop, or cannot be tested."""


def adjust(found: Iterable[TestedScore], confidence: float) -> Iterator[TestedScore]:
    """Adjust the drops of tags under one perturbation or family.

    Args:
        found: Its scores by one metric.
        confidence: Probability of the intervals; 1 less it is the level of the tests.

    Returns:
        The same scores, of which drops of tags have adjusted p-values and intervals and
        no test any more.
    """
    listed = list(found)
    yield from _adjusted(listed, confidence, whole=False)


def adjust_whole(found: Sequence[TestedScore], confidence: float) -> list[Score]:
    """Adjust the drops of the whole set, under perturbations and under families.

    Args:
        found: All scores by one metric under all perturbations.
        confidence: Probability of the intervals; 1 less it is the level of the tests.

    Returns:
        The scores, of which drops of the whole set have adjusted p-values and
        intervals.
    """
    return [each.score for each in _adjusted(found, confidence, whole=True)]


def _adjusted(
    found: Sequence[TestedScore], confidence: float, *, whole: bool
) -> Iterator[TestedScore]:
    sizes: dict[tuple[str, bool], int] = {}
    for score, tested in found:
        if tested is not None and (score.tag is None) == whole:
            sizes[_family(score)] = sizes.get(_family(score), 0) + 1
    for score, tested in found:
        if tested is None or (score.tag is None) != whole:
            yield TestedScore(score, tested)
        else:
            size = sizes[_family(score)]
            yield TestedScore(_judged(score, tested, size, confidence))


def _family(score: Score) -> tuple[str, bool]:
    """Tell what a drop is read with: those of a metric, families apart."""
    return score.metric, str(score.perturbation).startswith(FAMILY)


def _judged(score: Score, found: Difference, size: int, confidence: float) -> Score:
    judged = judge(found, size, confidence, None)
    tested = found.tested
    return score._replace(
        reason=score.reason or found.reason,
        p_value=None if tested is None else tested.p_value,
        p_adjusted=judged.p_value,
        p_method=None if tested is None else tested.method,
        p_at_most=None if tested is None else tested.at_most,
        ci_low_adjusted=plain_number(judged.interval.low),
        ci_high_adjusted=plain_number(judged.interval.high),
        family_size=size,
        different=judged.different,
    )
