"""Intervals of the drop of a set-level score, original minus perturbed.

Originals are drawn together with all of their copies, or clusters of them, in 1 000
replicates, of which the interval holds the percentiles; label pairs are smoothed, and
their interval reaches at least as far as that of the share of right answers. In large
groups, where drawing takes long and adds nothing, it is the delta method's: what an
original adds to the error of both values is summed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

import numpy as np
import polars as pl

from evalkit.calls import ScoringTable, finalize, value_columns
from evalkit.cluster_smoothing import widened, widening
from evalkit.effective_pairs import share_reach
from evalkit.errors import MetricError
from evalkit.evidence import Evidence, interval_kind
from evalkit.group_intervals import NO_GRADIENT
from evalkit.group_replicates import MOST_RESAMPLED
from evalkit.grouping import Groups
from evalkit.intervals import (
    N_IS_1,
    ONE_CLUSTER,
    Floats,
    Integers,
    Interval,
    influence_interval,
    without_interval,
)
from evalkit.metrics import MetricContext
from evalkit.paired_replicates import replicate_interval
from evalkit.paired_statistics import SUM_REPLICATES
from evalkit.paired_sums import UnitSums
from evalkit.perturbed_pairs import Sample
from evalkit.perturbed_smoothing import (
    PairColumns,
    PairSmoothing,
    Sides,
    are_label_pairs,
    count_changed,
    right_differences,
)
from evalkit.registry import Bound
from evalkit.resampling import Keys, unit_keys
from evalkit.scores import ScoringSettings
from evalkit.seeds import generator

MOST_DRAWN = 1_000
"""Originals or copies of a group beyond which the delta method takes the place of
drawing. (By simulation of macro-F1 with 1 000 examples it covers .93 to .96, also where
a class of five has 2 % of the examples.)"""

FEWEST_CHANGED = 100
"""Originals of such a group whose answer changes, below which it is drawn all the same:
label pairs then need smoothing."""

DropInterval = Callable[[int, str, float], Interval]
"""Gives the interval of a group's score whose value is given."""


class Drawn(NamedTuple):
    """The statistics of originals, or of copies, in groups."""

    statistics: pl.DataFrame
    """`position` (the number of the entry), keys and number columns that add up."""
    group: Integers
    """The group of each entry."""
    original: Integers
    """The original of each entry."""


class _Units(NamedTuple):
    """What is drawn: originals, or the data set's clusters of them."""

    units: Integers
    keys: Keys


class DropIntervals:
    """Computes the intervals of one metric.

    Args:
        metric: A metric whose statistics add up.
        sides: The originals and the copies that have each other.
        sample: The examples that originals are.
        context: The metric's context.
        settings: Seed and probability.
    """

    def __init__(
        self,
        metric: Bound,
        sides: tuple[Drawn, Drawn],
        sample: Sample,
        context: MetricContext,
        settings: ScoringSettings,
    ) -> None:
        self._metric = metric
        self._sides = sides
        self._sample = sample
        self._context = context
        self._settings = settings
        self._drawn: dict[int, dict[str, Floats] | str] = {}
        self._widening: dict[int, float] = {}
        self._least_reach: dict[int, tuple[float, float]] = {}
        self._rare: dict[int, bool] = {}

    def of(self, group: int, score: str, value: float) -> Interval:
        """Compute an interval.

        Args:
            group: The group.
            score: Name of the score within the metric.
            value: The drop.

        Returns:
            The interval, or none with the reason.
        """
        members = [side.group == group for side in self._sides]
        units = np.unique(self._units.units[self._sides[0].original[members[0]]])
        if len(units) < 2:
            clustered = self._sample.clusters is not None
            return without_interval(ONE_CLUSTER if clustered else N_IS_1)
        rows = max(int(each.sum()) for each in members)
        if rows > MOST_DRAWN and not (rows <= MOST_RESAMPLED and self._is_rare(group)):
            return self._by_influence(group, score, value)
        if group not in self._drawn:
            self._drawn[group] = self._draw(group)
        drawn = self._drawn[group]
        draws = drawn if isinstance(drawn, str) else drawn.get(score, np.empty(0))
        clustered = self._sample.clusters is not None
        method = "paired-bootstrap" + ("-clustered" if clustered else "")
        interval = replicate_interval(draws, self._settings.confidence, method)
        if interval.low is None or interval.high is None or isinstance(draws, str):
            return interval
        if group not in self._widening:
            return interval
        middle = float(np.nanmedian(draws))
        low, high = widened(
            (interval.low, interval.high), middle, self._widening[group]
        )
        # smoothing may draw the replicates away from the drop
        least, most = self._least_reach[group]
        return interval._replace(
            low=min(low, value - least), high=max(high, value + most)
        )

    def _reach_of_shares(
        self, parts: Sides, columns: PairColumns
    ) -> tuple[float, float]:
        """Give how far the interval of the share of right answers reaches."""
        found = right_differences(parts, columns)
        units = None
        if self._sample.clusters is not None:
            units = self._units.units[found["example"].to_numpy()]
        differences = found["difference"].to_numpy()
        return share_reach(differences, units, self._settings.confidence)

    def _is_rare(self, group: int) -> bool:
        """Tell whether so few answers change that they have to be smoothed."""
        if group not in self._rare:
            parts = self._parts(group)
            predicted = self._metric.attributes["keys"][-1:]
            self._rare[group] = (
                self._are_smoothed(parts)
                and count_changed(parts, *predicted) < FEWEST_CHANGED
            )
        return self._rare[group]

    def _are_smoothed(self, parts: Sides) -> bool:
        keys = self._metric.attributes["keys"]
        kind = interval_kind(self._metric)
        return kind == "multinomial" and are_label_pairs(parts, keys)

    def _parts(self, group: int) -> Sides:
        """Give the numbered statistics of a group."""
        before, after = (
            part.filter(pl.col("__group") == group).drop("__group")
            for part in self._numbered
        )
        return before, after

    @cached_property
    def _units(self) -> _Units:
        seed = self._settings.seed
        if self._sample.clusters is None:
            count = len(self._sample.ids)
            return _Units(np.arange(count), unit_keys(self._sample.ids, seed))
        distinct, units = np.unique(
            self._sample.clusters.to_numpy(), return_inverse=True
        )
        return _Units(units.astype(np.int64), unit_keys(map(str, distinct), seed))

    @cached_property
    def _numbered(self) -> tuple[pl.DataFrame, ...]:
        """The statistics of both sides with group, original and the one replication."""
        return tuple(
            side.statistics.with_columns(
                __group=pl.Series(side.group[side.statistics["position"].to_numpy()]),
                example=pl.Series(
                    side.original[side.statistics["position"].to_numpy()]
                ),
                replication=pl.lit(0, dtype=pl.Int64),
            )
            for side in self._sides
        )

    def _draw(self, group: int) -> dict[str, Floats] | str:
        """Give the drop in each replicate by score, or why there is none."""
        keys = list(self._metric.attributes["keys"])
        parts = self._parts(group)
        columns = value_columns(self._metric, self._sides[0].statistics)
        before, after = (part.drop("position") for part in parts)
        source = UnitSums((before, after), keys, columns, self._units)
        of_originals, of_copies = source.draw(SUM_REPLICATES)
        # together, since most of the time goes into calling
        later = of_copies.with_columns(pl.col("replicate") + SUM_REPLICATES)
        drawn = pl.concat([of_originals, later])
        if len(columns) == 1 and self._are_smoothed(parts):
            drawn = self._smoothed(group, parts, PairColumns(*keys, *columns), drawn)
        try:
            values = self._values(drawn)
        except MetricError as error:
            return f"resampling failed: {error}"
        return {
            name: both[:SUM_REPLICATES] - both[SUM_REPLICATES:]
            for name, both in values.items()
        }

    def _smoothed(
        self, group: int, parts: Sides, columns: PairColumns, drawn: pl.DataFrame
    ) -> pl.DataFrame:
        declared = self._context.labels or ()
        smoothing = PairSmoothing(parts, columns, self._units.units, declared)
        confidence = self._settings.confidence
        self._widening[group] = widening(smoothing.rows.units, confidence)
        self._least_reach[group] = self._reach_of_shares(parts, columns)
        content = parts[0].group_by(*columns[:2]).len().sort(*columns[:2]).rows()
        random = generator(
            self._settings.seed, "drop", self._metric.name, repr(content)
        )
        return smoothing(drawn, SUM_REPLICATES, random)

    def _values(self, sums: pl.DataFrame) -> dict[str, Floats]:
        """Give the scores of all replicates, first of the originals, then of copies."""
        keys = self._metric.attributes["keys"]
        numbered = sums.rename({"replicate": "group"}).drop("replication")
        ordered = numbered.select("group", *keys, pl.exclude("group", *keys))
        scores = finalize(self._metric, ordered.sort("group", *keys), self._context)
        found = {}
        for (name,), part in scores.partition_by("score", as_dict=True).items():
            values = np.full(2 * SUM_REPLICATES, np.nan)
            values[part["group"].to_numpy()] = part["value"].fill_null(np.nan)
            found[str(name)] = values
        return found

    @cached_property
    def _evidence(self) -> tuple[Evidence, ...]:
        found = []
        for side in self._sides:
            count = len(side.group)
            groups = Groups(
                tuple(map(str, range(int(side.group.max()) + 1))),
                np.arange(count, dtype=np.uint32),
                side.group.astype(np.uint32),
                {},
            )
            units = pl.Series("cluster", self._units.units[side.original])
            table = ScoringTable(pl.DataFrame(), [""] * count, units, self._context)
            found.append(
                Evidence(self._metric, side.statistics, table, groups, self._settings)
            )
        return tuple(found)

    def _by_influence(self, group: int, score: str, value: float) -> Interval:
        before, after = (each.influences(group, score) for each in self._evidence)
        if before is None or after is None:
            return without_interval(NO_GRADIENT)
        # both sides have the same originals, so their units are the same
        difference = before.totals - after.totals
        clustered = self._sample.clusters is not None
        confidence = self._settings.confidence
        return influence_interval(
            value, difference, confidence, clustered, before.sizes
        )
