"""Drops of set-level scores of large groups: the delta method in place of drawing.

A score is taken for linear in what each unit adds to it, so the test flips the signs of
what units add to the drop.
"""

from __future__ import annotations

from functools import cached_property, partial

import numpy as np
import polars as pl

from evalkit.base.terms import MetricContext
from evalkit.inference.intervals import influence_interval, without_interval
from evalkit.inference.resampling import Units
from evalkit.plugins.bound import BoundMetric
from evalkit.robustness.means import numbered_groups
from evalkit.robustness.tested_drops import FLIPS, GroupedStatistics, difference_of_drop
from evalkit.scoring.evidence import Evidence, UnitTotals
from evalkit.scoring.group_intervals import NO_GRADIENT
from evalkit.scoring.records import GroupScore, ScoringSettings
from evalkit.scoring.table import ScoringTable
from evalkit_analysis_compare.differences import Difference, Intervals
from evalkit_analysis_compare.sign_flips import flip_test


class SetDrops:
    """The drops of one metric of whole sets.

    Args:
        metric: A metric whose statistics add up.
        sides: The originals and the copies that have each other.
        units: The unit of each original.
        context: The metric's context.
        settings: Seed and probability.
    """

    def __init__(
        self,
        metric: BoundMetric,
        sides: tuple[GroupedStatistics, GroupedStatistics],
        units: Units,
        context: MetricContext,
        settings: ScoringSettings,
    ) -> None:
        self._metric = metric
        self._sides = sides
        self._units = units
        self._context = context
        self._settings = settings


class LargeDrops(SetDrops):
    """Computes intervals and tests of the drops of large groups."""

    def intervals(self, group: int, score: str, value: float) -> Intervals:
        """Return the intervals of a drop by confidence.

        Args:
            group: The group.
            score: Name of the score within the metric.
            value: The drop.

        Returns:
            The intervals; none, with the reason, where a side has no gradient.
        """
        added = self._added(group, score)
        if added is None:
            nothing = without_interval(NO_GRADIENT)
            return lambda _confidence: nothing
        return partial(
            influence_interval,
            value,
            added.totals,
            clustered=self._units.clustered,
            sizes=added.sizes,
        )

    def test(self, drop: GroupScore, level: float) -> Difference | None:
        """Test whether there is a drop.

        Args:
            drop: The drop, with its interval.
            level: Level that the test must decide at.

        Returns:
            The difference from no drop; None where a side has no gradient.
        """
        added = self._added(drop.group, drop.score)
        if added is None or drop.value is None:
            return None
        shares = added.sizes / added.sizes.sum()
        units = np.unique(self._units.codes[self._sides[0].original])
        keys = self._units.keys[units[added.units]]
        tested = flip_test(added.totals + drop.value * shares, keys, level, flips=FLIPS)
        intervals = self.intervals(drop.group, drop.score, drop.value)
        return difference_of_drop(drop, intervals, tested)

    def _added(self, group: int, score: str) -> UnitTotals | None:
        """Return what each unit adds to the error of a drop."""
        before, after = (each.influences(group, score) for each in self._evidence)
        if before is None or after is None:
            return None
        # both sides have the same originals, so their units are the same
        return before._replace(totals=before.totals - after.totals)

    @cached_property
    def _evidence(self) -> tuple[Evidence, ...]:
        found = []
        for side in self._sides:
            tags = [str(number) for number in range(int(side.group.max()) + 1)]
            groups = numbered_groups(tags, side.group)
            units = pl.Series("cluster", self._units.codes[side.original])
            ids = [""] * len(side.group)
            table = ScoringTable(pl.DataFrame(), ids, units, self._context)
            found.append(
                Evidence(self._metric, side.statistics, table, groups, self._settings)
            )
        return tuple(found)
