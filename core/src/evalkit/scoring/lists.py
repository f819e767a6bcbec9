"""Scores metrics that are functions of two whole lists, group by group."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from hashlib import blake2b
from typing import Any

import numpy as np
import polars as pl

from evalkit.base.terms import MetricContext, NotScored
from evalkit.base.violations import shorten
from evalkit.errors import MetricError
from evalkit.plugins.bound import BoundMetric
from evalkit.scoring.grouping import Groups, Positions
from evalkit.scoring.records import (
    NO_VALUE,
    NOTHING_SCORED,
    Advance,
    GroupScore,
    MetricScores,
    ScoringSettings,
    bootstrap_method,
    checked_value,
    reason_of_group,
    score_flag,
    why_failed,
    without_too_few,
)
from evalkit.scoring.statistics_rows import Codes
from evalkit.scoring.table import ScoringTable, columns_for
from evalkit.statistics.clusters import ClusterSizes, describe_sizes
from evalkit.statistics.intervals import (
    N_IS_1,
    ONE_CLUSTER,
    Interval,
    few_examples,
    without_interval,
)
from evalkit.statistics.resampling import (
    DRAWS_OF_LISTS,
    percentile_interval,
    unit_weights,
)

LIST_REPLICATES = DRAWS_OF_LISTS
MOST_LIST_EXAMPLES = 10_000
"""Maximum number of examples of a group whose function of lists is resampled."""

COSTLY = "the metric is costly, so it is not resampled"

Row = tuple[Any, ...]
"""Prediction, target and the metric's columns of one example."""


def score_lists(
    metric: BoundMetric,
    table: ScoringTable,
    groups: Groups,
    settings: ScoringSettings,
    advance: Advance,
) -> MetricScores:
    """Compute a function of lists for every group."""
    lists = _Lists(metric, table, settings)
    scores = []
    for group, tag in enumerate(groups.tags):
        advance(f"{metric.name}: {tag or 'all'}")
        positions = groups.positions_of(group)
        counted = lists.counted(positions)
        score = lists.score(group, counted, groups.sizes[group])
        given = int(lists.is_given[positions].sum())
        score = without_too_few(metric, score, given - len(counted), given)
        scores.append(score)
    left = table.lacking_for(metric)
    return MetricScores(
        metric.name,
        metric,
        scores,
        None,
        error=why_failed(metric, left, table),
        unscored=left,
    )


def list_values(
    metric: BoundMetric, table: ScoringTable, groups: Groups
) -> Mapping[int, float | None]:
    """Compute the values of all groups and nothing else."""
    lists = _Lists(metric, table, ScoringSettings())
    return {
        group: lists.value(lists.counted(groups.positions_of(group)))[0]
        for group in range(len(groups.tags))
    }


class _Lists:
    """Predictions and targets by position, and what their groups score."""

    def __init__(
        self, metric: BoundMetric, table: ScoringTable, settings: ScoringSettings
    ) -> None:
        self._metric = metric
        self._table = table
        self._settings = settings
        self._units = table.units(settings.seed)
        rows = table.frame.select(
            "position", *list_columns(metric, table.frame)
        ).iter_rows()
        self._rows: dict[int, Row] = {position: tuple(row) for position, *row in rows}
        self.is_given = np.zeros(len(table.ids), dtype=bool)
        self.is_given[table.frame["position"].to_numpy()] = True
        self._is_counted = self.is_given.copy()
        self._is_counted[table.lacking_for(metric)["position"].to_numpy()] = False

    def counted(self, positions: Positions) -> Codes:
        """Return those positions whose examples count."""
        return positions[self._is_counted[positions]].astype(np.int64)

    def score(self, group: int, positions: Codes, size: int) -> GroupScore:
        """Score one group."""
        if not len(positions):
            return GroupScore("", group, None, 0, None, NO_VALUE, NOTHING_SCORED)
        value, why, deviation = self.value(positions)
        interval = NO_VALUE if value is None else self._interval(positions)
        repeats = self._table.repeats
        is_repeated = repeats > 1
        sizes = self._cluster_sizes(positions)
        return GroupScore(
            "",
            group,
            value,
            len(np.unique(positions // repeats)),
            sizes and sizes.clusters,
            interval,
            why,
            score_flag(None, sizes, interval),
            coverage=len(positions) / size if is_repeated else None,
            replications=repeats if is_repeated else None,
            stddev_replications=deviation,
            cluster_sizes=sizes,
        )

    def value(self, positions: Codes) -> tuple[float | None, str | None, float | None]:
        """Return the value, or the mean of the replications', and their deviation."""
        repeats = self._table.repeats
        values = []
        for replication in range(repeats):
            part = positions[positions % repeats == replication]
            if not len(part):
                return None, NOTHING_SCORED, None
            value, why = picked_value(self._metric, self._returned(part))
            if value is None:
                return None, why, None
            values.append(value)
        deviation = float(np.std(values, ddof=1)) if repeats > 1 else None
        return float(np.mean(values)), None, deviation

    def _returned(self, positions: Codes) -> Any:
        """Call the metric; of several scores that it gives, once for all of them."""
        metric = self._metric
        rows, frame = [self._rows[at] for at in positions], self._table.frame
        if metric.whole is None:
            return call(metric, rows, self._table.context)
        of_frame, kept = metric.computed.setdefault("lists", (frame, {}))
        if of_frame is not frame:
            kept = {}
            metric.computed["lists"] = (frame, kept)
        key = blake2b(positions.tobytes(), digest_size=16).digest()
        if key not in kept:
            kept[key] = call(metric, rows, self._table.context)
        return kept[key]

    def _cluster_sizes(self, positions: Codes) -> ClusterSizes | None:
        if not self._units.clustered:
            return None
        return describe_sizes(self._units.sizes_of(positions))

    @cached_property
    def _rank(self) -> Codes:
        """Order of all positions by content, which does not depend on their order."""
        shown = {at: repr(pair) for at, pair in self._rows.items()}
        rank = np.zeros(len(self._table.ids), dtype=np.int64)
        rank[sorted(shown, key=shown.__getitem__)] = np.arange(len(shown))
        return rank

    def _interval(self, positions: Codes) -> Interval:
        if self._metric.interval == "none":
            return without_interval("the metric declares no interval")
        if self._metric.is_costly:
            return without_interval(COSTLY)
        if len(positions) > MOST_LIST_EXAMPLES:
            return without_interval(
                "a function of lists is not resampled beyond "
                f"{MOST_LIST_EXAMPLES} examples"
            )
        present, units = np.unique(self._units.codes[positions], return_inverse=True)
        if len(present) < 2:
            return without_interval(ONE_CLUSTER if self._units.clustered else N_IS_1)
        order = np.argsort(self._rank[positions], kind="stable")
        weights = unit_weights(self._units.keys[present], 0, LIST_REPLICATES)
        replicates = np.full(LIST_REPLICATES, np.nan)
        for number in range(LIST_REPLICATES):
            drawn = np.repeat(positions[order], weights[units[order], number])
            try:
                value, _, _ = self.value(drawn)
            except MetricError:
                # undefined for what was drawn, such as a single class, not for all
                continue
            replicates[number] = np.nan if value is None else value
        method = bootstrap_method(self._units.clustered)
        interval = percentile_interval(replicates, self._settings.confidence, method)
        flags = few_examples(len(present)) if interval.low is not None else ()
        return interval._replace(flags=flags)


def list_columns(metric: BoundMetric, frame: pl.DataFrame) -> list[pl.Expr]:
    """Return the columns whose values are the rows of a function of lists."""
    return [pl.col("prediction", "target"), *columns_for(metric, frame)]


def compute(
    metric: BoundMetric, rows: list[Row], context: MetricContext
) -> tuple[float | None, str | None]:
    """Call a function of lists."""
    return picked_value(metric, call(metric, rows, context))


def call(metric: BoundMetric, rows: list[Row], context: MetricContext) -> Any:
    """Call a function of lists."""
    predictions, targets, *columns = map(list, zip(*rows, strict=True))
    return metric.call(
        "compute",
        predictions=predictions,
        targets=targets,
        fields=dict(zip(metric.columns, columns, strict=True)),
        context=context,
    )


def picked_value(metric: BoundMetric, value: Any) -> tuple[float | None, str | None]:
    """Check what a function of lists returned."""
    origin = metric.component.origin
    if isinstance(value, NotScored):
        return None, reason_of_group(metric, value)
    if metric.whole is not None and value is not None:
        names = [*metric.whole.scores]
        if not isinstance(value, Mapping) or value.keys() != {*names}:
            raise MetricError(
                f"{origin}: it must return a dict of the scores {', '.join(names)}, is "
                f"{shorten(value)}"
            )
        value = value[metric.part]
        if isinstance(value, NotScored):
            return None, reason_of_group(metric, value)
    return checked_value(metric, value)
