"""Intervals and tests of drops: scores of originals minus those of perturbed examples.

A drop is a difference of two runs on the same units, so its interval and its test are
those of compared models. The drop of a mean has those of a paired mean; that of a
set-level score has the paired bootstrap of originals with their perturbed examples, and
where it counts labels of independent originals, swaps of these as its test.

Drops that are read together in one table are one family: one metric's drops of the
whole set under all perturbations, those under all families of perturbations, or those
of all tags under one of these. Within it p-values and intervals are adjusted as in
`compare`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from evalkit import MetricContext, Score
from evalkit.base.columns import all_named
from evalkit.base.copies import FAMILY
from evalkit.catalog import BoundMetric
from evalkit.errors import MetricError
from evalkit.runs.score_columns import plain_number
from evalkit.scoring import GroupScore
from evalkit.scoring.finalization import call_finalize
from evalkit.scoring.grouping import WHOLE
from evalkit.scoring.passes import value_columns
from evalkit.scoring.table import Units
from evalkit.statistics.clusters import Floats
from evalkit.statistics.intervals import without_interval
from evalkit_analysis_compare.differences import Difference
from evalkit_analysis_compare.judging import judge
from evalkit_analysis_compare.paired_sums import (
    MOST_CELLS,
    SUM_REPLICATES,
    SumPair,
    UnitSums,
)
from evalkit_analysis_compare.paired_tests import Intervals, Significance, compare_mean
from evalkit_analysis_compare.replicates import SWAPS, Replicates, swap_test
from evalkit_analysis_robustness.pairs import Rows

TestedDrops = Sequence[Difference | None]
"""The tests of scores, in their order; None for a score without one."""


def _difference(
    drop: GroupScore, intervals: Intervals, tested: Significance | str
) -> Difference:
    """Return the difference between a drop and no drop."""
    return Difference(
        drop.value,
        0.0,
        drop.n,
        0,
        drop.n_clusters,
        None,
        intervals,
        detects=lambda _level: None,
        tested=None if isinstance(tested, str) else tested,
        reason=tested if isinstance(tested, str) else None,
    )


def is_tested(drop: GroupScore, fewest: int) -> bool:
    """Tell whether a drop is tested."""
    return drop.value is not None and (drop.group == WHOLE or drop.n >= fewest)


def mean_drops(
    scores: Sequence[GroupScore],
    rows: Rows,
    units: Units,
    fewest: int,
    confidence: float,
    *,
    shares: bool,
) -> tuple[list[GroupScore], TestedDrops]:
    """Return the mean drop of each group with its interval, and its test."""
    by_group = rows.by_group
    found: list[GroupScore] = []
    tested: list[Difference | None] = []
    for score in scores:
        if score.value is None:
            found.append(score)
            tested.append(None)
            continue
        part = by_group[score.group]
        drops, originals = rows.value[part], rows.original[part]
        clusters = units.codes[originals] if units.clustered else None
        is_binary = shares and bool(np.isin(drops, (-1.0, 0.0, 1.0)).all())
        mean = compare_mean(drops, clusters, binary=is_binary)
        score = score._replace(interval=mean.intervals(confidence))
        found.append(score)
        difference = _difference(score, mean.intervals, mean.tested)
        tested.append(difference if is_tested(score, fewest) else None)
    return found, tested


class SetDrops:
    """Computes intervals and tests of the drops of one set-level metric.

    Args:
        metric: A metric whose statistics add up.
        sides: The statistics of originals and of perturbed examples: `group`,
            `example` (position of the original), keys and number columns.
        units: The unit of each original.
        context: The metric's context.
        confidence: Probability of the intervals.
    """

    def __init__(
        self,
        metric: BoundMetric,
        sides: SumPair,
        units: Units,
        context: MetricContext,
        confidence: float,
    ) -> None:
        self._metric = metric
        self._units = units
        self._context = context
        self._confidence = confidence
        self._columns = value_columns(
            metric, sides[0].drop("group", "example", "replication")
        )
        self._sides = [
            side.partition_by("group", as_dict=True, include_key=False)
            for side in sides
        ]

    def of_group(
        self, drops: Sequence[GroupScore], fewest: int
    ) -> list[tuple[GroupScore, Difference | None]]:
        """Return the drops of one group with their intervals, and their tests."""
        source = self._source(drops[0].group)
        if isinstance(source, str):
            nothing = without_interval(source)
            return [(drop._replace(interval=nothing), None) for drop in drops]
        method = "paired-bootstrap" + ("-clustered" if self._units.clustered else "")
        try:
            draws = self._finalized(source.draw(SUM_REPLICATES), SUM_REPLICATES)
            swaps = None
            if self._metric.counts_labels and not self._units.clustered:
                swaps = self._finalized(source.swap(SWAPS), SWAPS)
        except MetricError as error:
            nothing = without_interval(f"resampling failed: {error}")
            return [(drop._replace(interval=nothing), None) for drop in drops]
        found = []
        for drop in drops:
            values = draws.get(drop.score, np.full(SUM_REPLICATES, np.nan))
            replicates = Replicates(values, method, source.effective_units)
            drop = drop._replace(interval=replicates.interval(self._confidence))
            test = None
            if is_tested(drop, fewest) and drop.interval.low is not None:
                tested = replicates.test()
                if swaps is not None and drop.value is not None:
                    swapped = swaps.get(drop.score, np.empty(0))
                    tested = swap_test(swapped, drop.value, source.differing)
                test = _difference(drop, replicates.interval, tested)
            found.append((drop, test))
        return found

    def _source(self, group: int) -> UnitSums | str:
        """Return the sums of a group's units; or why they are not resampled."""
        parts = [side.get((group,)) for side in self._sides]
        if parts[0] is None or parts[1] is None:
            return "no example was scored in both runs"
        both, keys = (parts[0], parts[1]), list(self._metric.keys)
        source = UnitSums(both, keys, self._columns, self._units)
        if source.size > MOST_CELLS:
            return "the group is too large to resample"
        if len(source.keys) < 2:
            clustered = self._units.clustered
            return "all examples are in one cluster" if clustered else "n is 1"
        return source

    def _finalized(self, sums: SumPair, count: int) -> dict[str, Floats]:
        """Return the drop in each replicate by score; NaN where it is undefined."""
        keys = self._metric.keys
        together = pl.concat(
            part.select(
                (pl.col("replicate") + start).alias("group"),
                all_named(keys),
                ~all_named(["replicate", "replication", *keys]),
            )
            for part, start in zip(sums, (0, count), strict=True)
        )
        scores = call_finalize(self._metric, together, self._context)
        found = {}
        for (name,), part in scores.partition_by("score", as_dict=True).items():
            values = np.full(2 * count, np.nan)
            values[part["group"].to_numpy()] = part["value"].fill_null(np.nan)
            before, after = values.reshape(2, -1)
            found[str(name)] = before - after
        return found


class TestedScore(NamedTuple):
    """A score under perturbation, and the test of a drop."""

    score: Score
    tested: Difference | None = None
    """None if it is not a drop, or cannot be tested."""


def adjust(
    scores: Iterable[TestedScore], confidence: float, *, whole: bool
) -> Iterator[TestedScore]:
    """Adjust drops for all that are read together."""
    listed = list(scores)
    sizes: dict[tuple[str, bool], int] = {}
    for score, tested in listed:
        if tested is not None and (score.tag is None) == whole:
            sizes[_family(score)] = sizes.get(_family(score), 0) + 1
    for score, tested in listed:
        if tested is None or (score.tag is None) != whole:
            yield TestedScore(score, tested)
        else:
            size = sizes[_family(score)]
            yield TestedScore(_judged(score, tested, size, confidence))


def _family(score: Score) -> tuple[str, bool]:
    """Return what a drop is read with: those of a metric, families apart."""
    return score.metric, str(score.perturbation).startswith(FAMILY)


def _judged(score: Score, drop: Difference, size: int, confidence: float) -> Score:
    judged = judge(drop, size, confidence, None)
    tested = drop.tested
    return score._replace(
        reason=score.reason or drop.reason,
        p_value=None if tested is None else tested.p_value,
        p_adjusted=judged.p_value,
        p_method=None if tested is None else tested.method,
        p_at_most=None if tested is None else tested.at_most,
        ci_low_adjusted=plain_number(judged.interval.low),
        ci_high_adjusted=plain_number(judged.interval.high),
        family_size=size,
        different=judged.different,
    )
