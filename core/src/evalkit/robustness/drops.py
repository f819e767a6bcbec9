"""Intervals and tests of the drop of a set-level score, original minus perturbed.

Originals are drawn together with all of their copies, or clusters of them, in 1 000
replicates, of which the interval holds the percentiles; label pairs are smoothed, and
their interval reaches at least as far as that of the share of right answers. In large
groups, where drawing takes long and adds nothing, it is the delta method's: what an
original adds to the error of both values is summed.

The test swaps originals with their copies, unit by unit: in all ways, or 256 times and
on until it is decided. In large groups it flips the signs of what units add to the
drop.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np
import polars as pl

from evalkit.base.columns import all_named
from evalkit.errors import MetricError
from evalkit.inference.cluster_smoothing import widened, widening
from evalkit.inference.intervals import (
    N_IS_1,
    ONE_CLUSTER,
    Floats,
    Interval,
    without_interval,
)
from evalkit.inference.percentiles import percentile_interval
from evalkit.inference.seeds import generator
from evalkit.robustness.drop_swaps import DropSwaps
from evalkit.robustness.large_drops import LargeDrops, SetDrops
from evalkit.robustness.pairs import Mask
from evalkit.robustness.tested_drops import difference_of_drop
from evalkit.scoring.calls import call_finalize, value_columns
from evalkit.scoring.evidence import interval_kind
from evalkit.scoring.group_replicates import MOST_RESAMPLED
from evalkit.scoring.records import GroupScore
from evalkit_analysis_compare.differences import Difference
from evalkit_analysis_compare.effective_pairs import share_reach
from evalkit_analysis_compare.pair_smoothing import (
    PairColumns,
    PairSmoothing,
    Sides,
    are_label_pairs,
    count_changed,
    right_differences,
)
from evalkit_analysis_compare.paired_sums import SUM_REPLICATES, SumPair, UnitSums
from evalkit_analysis_compare.replicates import Replicates, most_apart

MOST_DRAWN = 1_000
"""Originals or copies of a group beyond which the delta method takes the place of
drawing. (By simulation of macro-F1 with 1 000 examples it covers .93 to .96, also where
a class of five has 2 % of the examples.)"""

FEWEST_CHANGED = 100
"""Originals of such a group whose answer changes, below which it is drawn all the same:
label pairs then need smoothing."""


class _Draws(NamedTuple):
    """What was drawn of a group."""

    drops: Mapping[str, Floats] | str
    """The drop in each replicate by score; or why there is none."""
    swaps: DropSwaps | None = None
    units: float = 0.0
    """Units of one size that would be as unequal."""
    differing: float = 0.0
    """The same of units whose answers are not all alike."""
    widening: float | None = None
    """The factor by which percentiles of smoothed drops are too narrow."""
    reach: Callable[[float], tuple[float, float]] | None = None
    """How far the interval of the mean drop of right answers reaches below and above
    it, by confidence; of smoothed drops."""

    def of(self, score: str) -> Floats | str:
        """Return the drop of a score in each replicate, or why there is none."""
        if isinstance(self.drops, str):
            return self.drops
        return self.drops.get(score, np.empty(0))


class DropIntervals(SetDrops):
    """Computes the intervals of the drops of one metric."""

    @cached_property
    def _drawn(self) -> dict[int, _Draws]:
        return {}

    @cached_property
    def _rare(self) -> dict[int, bool]:
        return {}

    def of(self, group: int, score: str, value: float) -> Interval:
        """Compute an interval.

        Args:
            group: The group.
            score: Name of the score within the metric.
            value: The drop.

        Returns:
            The interval, or none with the reason.
        """
        members = self._members(group)
        if self._units.count_of(self._sides[0].original[members[0]]) < 2:
            return without_interval(ONE_CLUSTER if self._units.clustered else N_IS_1)
        if self._is_large(group):
            return self._large.intervals(group, score, value)(self._settings.confidence)
        drawn, confidence = self._draws_of(group), self._settings.confidence
        drops = drawn.of(score)
        if isinstance(drops, str):
            return without_interval(drops)
        interval = percentile_interval(drops, len(drops), confidence, self._method)
        if interval.low is None or interval.high is None:
            return interval
        if drawn.widening is None or drawn.reach is None:
            return interval
        bounds = interval.low, interval.high
        low, high = widened(bounds, float(np.nanmedian(drops)), drawn.widening)
        # smoothing may draw the replicates away from the drop
        least, most = drawn.reach(confidence)
        return interval._replace(
            low=min(low, value - least), high=max(high, value + most)
        )

    def test(self, drop: GroupScore, level: float) -> Difference | None:
        """Test whether there is a drop.

        Args:
            drop: The drop, with the interval that `of` gave.
            level: Level that the test must decide at.

        Returns:
            The difference from no drop; None for a drop without interval.
        """
        assert drop.value is not None
        if drop.interval.low is None:
            return None
        if self._is_large(drop.group):
            return self._large.test(drop, level)
        drawn = self._draws_of(drop.group)
        replicates = Replicates(
            drawn.of(drop.score),
            self._method,
            drawn.units,
            drawn.differing,
            most_apart(self._metric),
            drop.value,
            drawn.reach,
        )
        if drawn.swaps is None:
            return None
        tested = drawn.swaps.test(drop.score, drop.value, level)
        return difference_of_drop(drop, replicates.interval, tested)

    def _members(self, group: int) -> tuple[Mask, Mask]:
        before, after = (side.group == group for side in self._sides)
        return before, after

    def _is_large(self, group: int) -> bool:
        """Tell whether the delta method takes the place of drawing."""
        rows = max(int(each.sum()) for each in self._members(group))
        if rows <= MOST_DRAWN:
            return False
        return rows > MOST_RESAMPLED or not self._is_rare(group)

    @property
    def _method(self) -> str:
        return "paired-bootstrap" + ("-clustered" if self._units.clustered else "")

    def _draws_of(self, group: int) -> _Draws:
        if group not in self._drawn:
            # only the last one is kept, as those of many groups take much memory
            self._drawn.clear()
            self._drawn[group] = self._draw(group)
        return self._drawn[group]

    def _is_rare(self, group: int) -> bool:
        """Tell whether so few answers change that they have to be smoothed."""
        if group not in self._rare:
            parts = self._parts(group)
            predicted = self._metric.keys[-1:]
            self._rare[group] = (
                self._are_smoothed(parts)
                and count_changed(parts, *predicted) < FEWEST_CHANGED
            )
        return self._rare[group]

    def _are_smoothed(self, parts: Sides) -> bool:
        keys = self._metric.keys
        kind = interval_kind(self._metric)
        return kind == "multinomial" and are_label_pairs(parts, keys)

    def _parts(self, group: int) -> Sides:
        """Return the numbered statistics of a group."""
        before, after = (parts[(group,)] for parts in self._numbered)
        return before, after

    @cached_property
    def _large(self) -> LargeDrops:
        return LargeDrops(
            self._metric,
            self._sides,
            self._units,
            self._context,
            self._settings,
        )

    @cached_property
    def _numbered(self) -> tuple[dict[tuple[object, ...], pl.DataFrame], ...]:
        """The statistics of both sides with original and the one replication."""
        numbered = (
            side.statistics.with_columns(
                __group=pl.Series(side.group[side.statistics["position"].to_numpy()]),
                example=pl.Series(
                    side.original[side.statistics["position"].to_numpy()]
                ),
                replication=pl.lit(0, dtype=pl.Int64),
            )
            for side in self._sides
        )
        return tuple(
            part.partition_by(
                "__group", as_dict=True, include_key=False, maintain_order=True
            )
            for part in numbered
        )

    def _draw(self, group: int) -> _Draws:
        """Draw a group, and swap its originals with their copies."""
        keys = list(self._metric.keys)
        parts = self._parts(group)
        columns = value_columns(self._metric, self._sides[0].statistics)
        before, after = (part.drop("position") for part in parts)
        source = UnitSums((before, after), keys, columns, self._units)
        drawn = _together(source.draw(SUM_REPLICATES), SUM_REPLICATES)
        factor = reach = None
        if len(columns) == 1 and self._are_smoothed(parts):
            labels = PairColumns(*keys, *columns)
            smoothing = PairSmoothing(
                parts, labels, self._units.codes, self._context.labels or ()
            )
            factor = widening(smoothing.rows.units, self._settings.confidence)
            random = self._random(parts[0], labels)
            drawn = smoothing(drawn, SUM_REPLICATES, random)
            drawn = drawn.sort("replicate", maintain_order=True)
            reach = self._reach(parts, labels)
        swaps = self._swaps_of(group, (before, after), source, keys, columns)
        try:
            drops, swapped = self._drops(
                [
                    (drawn, SUM_REPLICATES),
                    (_together(swaps.begun, swaps.count), swaps.count),
                ]
            )
        except MetricError as error:
            return _Draws(f"resampling failed: {error}")
        swaps.take(swapped)
        units, differing = source.effective_units, source.effective_differing
        return _Draws(drops, swaps, units, differing, factor, reach)

    def _reach(
        self, parts: Sides, columns: PairColumns
    ) -> Callable[[float], tuple[float, float]]:
        found = right_differences(parts, columns)
        clusters = None
        if self._units.clustered:
            clusters = self._units.codes[found["example"].to_numpy()]
        return partial(share_reach, found["difference"].to_numpy(), clusters)

    def _random(
        self, statistics: pl.DataFrame, columns: PairColumns
    ) -> np.random.Generator:
        """Seed by content, so that a tag draws what its examples alone draw."""
        labels = all_named(columns[:2])
        content = statistics.group_by(labels).len().sort(labels).rows()
        seed = self._settings.seed
        return generator(seed, "drop", self._metric.name, repr(content))

    def _swaps_of(
        self,
        group: int,
        parts: Sides,
        source: UnitSums,
        keys: Sequence[str],
        columns: Sequence[str],
    ) -> DropSwaps:
        """Swap originals with copies that count together as much."""
        members = self._members(group)
        sides = zip(self._sides, members, strict=True)
        before, after = (side.mass(chosen) for side, chosen in sides)
        are_weighted = not math.isclose(before, after)
        if np.count_nonzero(members[0]) != np.count_nonzero(members[1]):
            # so that an original whose copies are all as it is does not differ
            together = parts[1].group_by(all_named(["example", "replication", *keys]))
            copies = together.agg(all_named(columns).sum() * (before / after))
            source = UnitSums((parts[0], copies), keys, columns, self._units)
        return DropSwaps(
            source,
            lambda sums, count: self._drops([(_together(sums, count), count)])[0],
            are_weighted=are_weighted,
        )

    def _drops(
        self, sums: Sequence[tuple[pl.DataFrame, int]]
    ) -> list[dict[str, Floats]]:
        """Return the drop in each replicate by score, of several sets of replicates.

        Each set holds so many replicates of the originals, then as many of the copies,
        sorted by replicate. All are scored at once, since most of the time
        goes into calling.
        """
        keys = self._metric.keys
        counts = [count for _, count in sums]
        ends = 2 * np.cumsum([0, *counts])
        numbered = [
            part.select(
                (pl.col("replicate") + start).alias("group"),
                all_named(keys),
                ~all_named(["replicate", "replication", *keys]),
            )
            for (part, _), start in zip(sums, ends[:-1].tolist(), strict=True)
        ]
        scores = call_finalize(self._metric, pl.concat(numbered), self._context)
        found: list[dict[str, Floats]] = [{} for _ in sums]
        for (name,), part in scores.partition_by("score", as_dict=True).items():
            values = np.full(ends[-1], np.nan)
            values[part["group"].to_numpy()] = part["value"].fill_null(np.nan)
            for drops, start, count in zip(found, ends[:-1], counts, strict=True):
                before, after = values[start : start + 2 * count].reshape(2, -1)
                drops[str(name)] = before - after
        return found


def _together(sums: SumPair, count: int) -> pl.DataFrame:
    """Number the replicates of the copies after those of the originals."""
    of_originals, of_copies = sums
    later = of_copies.with_columns(pl.col("replicate") + count)
    return pl.concat([of_originals, later])
