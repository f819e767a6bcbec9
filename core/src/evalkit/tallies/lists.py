"""Scores metrics that are functions of two whole lists, which have no tally."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
import polars as pl

from evalkit.base.columns import all_named
from evalkit.base.terms import MetricContext
from evalkit.errors import MetricError
from evalkit.plugins.bound import BoundMetric
from evalkit.scoring.lists import picked_value
from evalkit.scoring.table import columns_for
from evalkit.statistics.intervals import Interval
from evalkit.tallies.build import (
    Labeled,
    filled_frames,
    refuse_absent_column,
    why_not_applicable,
)
from evalkit.tallies.groups import WHOLE, Group, TagSets
from evalkit.tallies.numbering import Codes, expanded
from evalkit.tallies.outcomes import takes_no_prediction, why_unanswered
from evalkit.tallies.records import (
    NO_VALUE,
    NOTHING_SCORED,
    GroupScore,
    MetricScores,
    failed_scores,
)


class ListSample(NamedTuple):
    """What the interval of a function of lists is computed from."""

    units: Codes
    """The unit of each answer, from 0 without gaps: its cluster, or its example."""
    value_of: Callable[[Codes], float | None]
    """Returns the value of a resample, from how often each unit is drawn."""


class ListIntervals(Protocol):
    """Computes the interval of a function of lists."""

    def lists(self, sample: ListSample, value: float) -> Interval:
        """Return the interval of a value."""


def score_lists(
    metric: BoundMetric,
    labeled: Labeled,
    tag_sets: TagSets,
    intervals: ListIntervals | None = None,
) -> MetricScores:
    """Compute a function of lists for every group.

    Args:
        metric: A metric that implements `compute`.
        labeled: The examples.
        tag_sets: Their tag sets.
        intervals: Computes intervals; None for none.

    Returns:
        The scores; null with the reason where the metric does not apply or failed.
    """
    names = [WHOLE] if metric.whole_only else tag_sets.names
    try:
        refusal = why_not_applicable(metric, labeled.table.context)
        if refusal is not None:
            return failed_scores(metric, names, refusal)
        refuse_absent_column(metric, labeled.counted)
        counted = labeled.counted.frame
        lists = _Lists(metric, labeled, counted)
        if lists.unanswered:
            return failed_scores(metric, names, why_unanswered(lists.unanswered))
        filled = [
            _Lists(metric, labeled, pl.concat([counted, frame]))
            for frame in filled_frames(metric, labeled)
        ]
        scores = []
        members = _members(tag_sets, labeled, len(names))
        for group, positions in zip(names, members, strict=True):
            score = lists.score(group, positions, intervals)
            if filled:
                low, high = (each.bound(positions) for each in filled)
                score = score._replace(bounds=(low, high))
            scores.append(score)
        return MetricScores(metric.name, metric, scores)
    except MetricError as error:
        return failed_scores(metric, names, None, str(error))


def _members(tag_sets: TagSets, labeled: Labeled, count: int) -> list[Codes]:
    """Return the positions of the answers of each group."""
    repeats, groups = labeled.table.repeats, tag_sets.groups
    tag_set = np.repeat(labeled.tag_set, repeats)
    lengths = groups.lengths[tag_set]
    group = groups.items[expanded(groups.starts[tag_set], lengths)]
    position = np.repeat(np.arange(len(tag_set)), lengths)
    order = np.argsort(group, kind="stable")
    ends = np.searchsorted(group[order], np.arange(1, count))
    return np.split(position[order], ends)[:count]


class _Lists:
    """The lists of predictions and targets, and what groups of them score."""

    def __init__(
        self, metric: BoundMetric, labeled: Labeled, frame: pl.DataFrame
    ) -> None:
        self._metric, self._labeled = metric, labeled
        absent = 0 if takes_no_prediction(metric) else frame["prediction"].null_count()
        self.unanswered = absent
        lacking = labeled.table.lacking_for(metric)["position"]
        frame = frame.filter(~pl.col("position").is_in(lacking.implode()))
        self._rows = frame.select("prediction", "target", *columns_for(metric, frame))
        self._row = np.full(len(labeled.table.ids), -1, dtype=np.int64)
        self._row[frame["position"].to_numpy()] = np.arange(frame.height)

    def score(
        self, group: Group, positions: Codes, intervals: ListIntervals | None
    ) -> GroupScore:
        """Score a group."""
        repeats, cluster = self._labeled.table.repeats, self._labeled.cluster
        known = positions[self._row[positions] >= 0]
        examples = np.unique(known // repeats)
        n_clusters = None if cluster is None else len(np.unique(cluster[examples]))
        value, reason, deviation = self._value(known)
        interval = NO_VALUE
        if value is not None:
            interval = Interval(reason="no interval was requested")
            if intervals is not None:
                interval = intervals.lists(self._sample(known), value)
        return GroupScore(
            "",
            group,
            value,
            len(examples),
            n_clusters,
            len(known) / len(positions) if len(positions) else None,
            interval,
            reason,
            stddev_replications=deviation,
        )

    def bound(self, positions: Codes) -> float | None:
        """Return the value of a group; None where the metric cannot score it."""
        if self.unanswered:
            return None
        try:
            return self._value(positions[self._row[positions] >= 0])[0]
        except MetricError:
            return None

    def _value(self, positions: Codes) -> tuple[float | None, str | None, float | None]:
        """Return the mean over replications, why there is none, and its deviation."""
        repeats = self._labeled.table.repeats
        values = []
        for replication in range(repeats):
            part = positions[positions % repeats == replication]
            if not len(part):
                return None, NOTHING_SCORED, None
            context = self._labeled.table.context
            rows = self._rows[self._row[part]]
            returned = call_lists(self._metric, rows, context)
            value, reason = picked_value(self._metric, returned)
            if value is None:
                return None, reason, None
            values.append(value)
        deviation = float(np.std(values, ddof=1)) if repeats > 1 else None
        return float(np.mean(values)), None, deviation

    def _sample(self, positions: Codes) -> ListSample:
        labeled = self._labeled
        examples = positions // labeled.table.repeats
        unit = examples if labeled.cluster is None else labeled.cluster[examples]
        _, units = np.unique(unit, return_inverse=True)

        def value_of(times: Codes) -> float | None:
            try:
                return self._value(np.repeat(positions, times[units]))[0]
            except MetricError:
                # undefined for a resample, such as one of a single class
                return None

        return ListSample(units, value_of)


def call_lists(metric: BoundMetric, rows: pl.DataFrame, context: MetricContext) -> Any:
    """Call a function of lists.

    Args:
        metric: A metric that implements `compute`.
        rows: `prediction`, `target` and the metric's columns; at least one row.
        context: What else the metric knows.

    Returns:
        What it returned, unchecked.

    Raises:
        MetricError: The metric failed.
    """
    fields = rows.select(all_named(n for n in metric.columns if n in rows.columns))
    lists: dict[str, Any] = {
        "predictions": rows["prediction"].to_list(),
        "targets": rows["target"].to_list(),
        "fields": fields.to_dict(as_series=False),
    }
    return metric.call("compute", context=context, **lists)
