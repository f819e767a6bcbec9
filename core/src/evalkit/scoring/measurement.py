"""Computes several metrics of one set of examples.

Also what scores would be if the examples that were left out were all wrong or right.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

import polars as pl

from evalkit.base.progress import Progress
from evalkit.errors import MetricError
from evalkit.parallel.workers import Workers
from evalkit.plugins.bound import BoundMetric
from evalkit.scoring.grouping import Groups
from evalkit.scoring.lists import list_values
from evalkit.scoring.metric import (
    failed_scores,
    group_values,
    score_metric,
    score_statistics,
    why_not,
)
from evalkit.scoring.records import MetricScores, ScoringSettings
from evalkit.scoring.shared_counts import SharedCounts
from evalkit.scoring.table import ScoringTable


class Measured(NamedTuple):
    """What is scored."""

    everything: ScoringTable
    """All examples."""
    counted: pl.Series
    """Whether each of them counts."""
    groups: Groups

    @property
    def table(self) -> ScoringTable:
        """Those that count."""
        if self.counted.all():
            return self.everything
        frame = self.everything.frame.filter(self.counted)
        return self.everything._replace(frame=frame)


def measure(
    metrics: Sequence[BoundMetric],
    measured: Measured,
    settings: ScoringSettings,
    progress: Progress,
    statistics: Mapping[str, pl.DataFrame] | None = None,
    unscored: Mapping[str, pl.DataFrame] | None = None,
) -> list[MetricScores]:
    """Compute metrics for all groups, with the bounds where examples were left out.

    Args:
        metrics: The metrics.
        measured: What is scored.
        settings: How intervals are computed.
        progress: Told what is being done, and which share of it is behind.
        statistics: Statistics by name of the metric that were computed before.
        unscored: The examples that these metrics did not score then.

    Returns:
        Their scores, in the order of the metrics; those of a metric that gives several
        in one pass stand each for itself. A metric that fails does not touch the
        others.
    """
    table, shared = measured.table, SharedCounts()
    scored = []
    with Workers(settings.jobs) as workers:
        for number, named in enumerate(metrics):
            advance = partial(_advance, progress, number / len(metrics))
            advance(f"computing {named.name}")
            try:
                metric = prepared(named, measured.everything)
            except MetricError as error:
                scored.append(failed_scores(named, measured.groups, error))
                continue
            for each in metric.parts():
                known = (statistics or {}).get(each.name)
                if known is None:
                    found = score_metric(
                        each, table, measured.groups, settings, advance, workers, shared
                    )
                else:
                    left = (unscored or {}).get(each.name)
                    groups = measured.groups
                    found = _score_known(
                        each, known, left, table, groups, settings, shared
                    )
                scored.append(_with_range(found, measured))
    return scored


def prepared(metric: BoundMetric, everything: ScoringTable) -> BoundMetric:
    """Return a metric that has seen all answers, where it wants to.

    Args:
        metric: The metric.
        everything: All examples.

    Returns:
        The metric.

    Raises:
        MetricError: It failed.
    """
    if not metric.has("prepare"):
        return metric
    table = everything
    targets = table.frame["target"].gather_every(table.repeats).to_list()
    return metric.prepare(targets, table.context)


def _with_range(found: MetricScores, measured: Measured) -> MetricScores:
    if measured.counted.all() or found.metric.is_costly:
        return found
    left_out = ~measured.counted
    return with_possible_range(found, measured.everything, left_out, measured.groups)


def _advance(progress: Progress, share: float, text: str) -> None:
    progress(text, share)


def _score_known(
    metric: BoundMetric,
    statistics: pl.DataFrame,
    unscored: pl.DataFrame | None,
    table: ScoringTable,
    groups: Groups,
    settings: ScoringSettings,
    shared: SharedCounts,
) -> MetricScores:
    try:
        return score_statistics(
            metric,
            statistics,
            table,
            groups,
            settings,
            unscored=unscored,
            shared=shared,
        )
    except MetricError as error:
        return failed_scores(metric, groups, error)


Values = Mapping[tuple[int, str], float | None]


def with_possible_range(
    scored: MetricScores, everything: ScoringTable, left_out: pl.Series, groups: Groups
) -> MetricScores:
    """Add the bounds to the scores of a metric.

    Args:
        scored: What the metric computed from the examples that count.
        everything: All examples; those left out have null predictions.
        left_out: Whether each example of `everything` was left out.
        groups: The groups.

    Returns:
        The scores with `bounds`; None in them where the metric cannot say, and no
        bounds where it declares no possible range.
    """
    if scored.error or not scored.metric.has_possible_range:
        return scored
    if everything.context.answer_kind == "none":
        return scored  # nothing is known to be right
    low = _values(scored.metric, everything, groups)
    try:
        high = _values(scored.metric, _all_right(everything, left_out), groups)
    except pl.exceptions.PolarsError:
        # answers and predictions are of types that cannot stand in one column
        high = {}
    scores = [
        score._replace(
            bounds=(
                low.get((score.group, score.score)),
                high.get((score.group, score.score)),
            )
        )
        for score in scored.scores
    ]
    return scored._replace(scores=scores)


def _all_right(table: ScoringTable, left_out: pl.Series) -> ScoringTable:
    target = pl.col("target")
    if table.context.answer_kind == "any-of":
        target = target.list.first()
    given = pl.col("prediction")
    if table.without_prediction() == table.frame.height:
        # a column without values may not be of the answers' type
        given = pl.lit(None)
    filled = pl.when(left_out).then(target).otherwise(given)
    return table._replace(frame=table.frame.with_columns(prediction=filled))


def _values(metric: BoundMetric, table: ScoringTable, groups: Groups) -> Values:
    if why_not(metric, table):
        return {}
    try:
        if metric.has("compute"):
            return list_values(metric, table, groups)
        return group_values(metric, table, groups)
    except MetricError:
        # the metric cannot score the filled-in examples: then it has no bounds
        return {}
