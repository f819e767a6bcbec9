"""Scores several metrics of one set of examples by their tallies.

Also what scores would be if the examples that were left out were all wrong or right.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

import polars as pl

from evalkit.base.columns import named
from evalkit.base.progress import Progress
from evalkit.errors import MetricError
from evalkit.parallel.workers import Workers
from evalkit.plugins.bound import BoundMetric
from evalkit.scoring.evidence import example_column
from evalkit.scoring.grouping import Groups
from evalkit.scoring.lists import list_values
from evalkit.scoring.metric import failed_scores, score_metric, why_not
from evalkit.scoring.outcomes import Outcomes, no_outcomes
from evalkit.scoring.records import Advance, MetricScores, ScoringSettings
from evalkit.scoring.table import ScoringTable
from evalkit.tallies.build import Labeled, all_right, rows_of, tally_rows
from evalkit.tallies.counted import SharedPairs
from evalkit.tallies.finalization import finalize_metric
from evalkit.tallies.groups import number_groups
from evalkit.tallies.outcomes import MISSING
from evalkit.tallies.tally import ClusterKeys, Tallies, number_clusters


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
    scored = []
    tallied = _Tallied(measured, settings)
    table = measured.table
    with Workers(settings.jobs) as workers:
        for number, metric in enumerate(metrics):
            advance = partial(_advance, progress, number / len(metrics))
            advance(f"computing {metric.name}")
            try:
                ready = prepared(metric, measured.everything)
            except MetricError as error:
                scored.append(failed_scores(metric, measured.groups, error))
                continue
            for part in ready.parts():
                known = (statistics or {}).get(part.name)
                if known is not None:
                    left = (unscored or {}).get(part.name, no_outcomes())
                    scored.append(tallied.known(part, table, Outcomes(known, left)))
                    continue
                parts = part, table, measured.groups, settings, advance, workers
                scored.append(tallied.with_bounds(score_metric(*parts, tallied.finish)))
    return scored


class _Tallied:
    """Finishes scores by tallies."""

    def __init__(self, measured: Measured, settings: ScoringSettings) -> None:
        table, groups = measured.everything, measured.groups
        self._groups, self._settings = groups, settings
        self._sets, tag_set = number_groups(groups, table.repeats)
        self._clusters: ClusterKeys | None = None
        cluster = None
        if table.clusters is not None:
            of_examples = table.clusters.gather_every(table.repeats)
            self._clusters, cluster = number_clusters(of_examples)
        left_out = pl.select(pl.when(~measured.counted).then(pl.lit(MISSING)))
        self._labeled = Labeled(table, left_out.to_series(), tag_set, cluster)
        self._shared = SharedPairs()

    def finish(
        self,
        metric: BoundMetric,
        table: ScoringTable,
        found: Outcomes,
        advance: Advance = lambda _: None,
    ) -> MetricScores:
        """Turn what a metric made of the examples into its scores.

        Raises:
            MetricError: The metric failed.
        """
        rows = rows_of(metric, table, found)
        own, _ = tally_rows(metric, self._labeled, rows)
        replications = self._labeled.table.replications
        metrics = {metric.name: own}
        tallies = Tallies(self._sets, self._clusters, replications, metrics)
        parts = table.context, tallies, self._settings, advance, self._shared
        scored = finalize_metric(metric, *parts)
        column = example_column(metric)
        per_example = None
        if column in found.statistics.columns and not scored.failure:
            per_example = found.statistics.select("position", score=named(str(column)))
        return scored._replace(
            per_example=per_example,
            statistics=None if scored.failure else found.statistics,
            unscored=found.unscored,
        )

    def known(
        self, metric: BoundMetric, table: ScoringTable, found: Outcomes
    ) -> MetricScores:
        """Score statistics that were computed before."""
        try:
            return self.finish(metric, table, found)
        except MetricError as error:
            return failed_scores(metric, self._groups, error)

    def with_bounds(self, scored: MetricScores) -> MetricScores:
        """Add the bounds to scores that no tally was made for."""
        metric, table = scored.metric, self._labeled.table
        if scored.statistics is not None or scored.error:
            return scored
        if not self._has_bounds(metric):
            return scored
        if not metric.has("compute"):
            nothing = Outcomes(pl.DataFrame({"position": []}), no_outcomes())
            counted = self._labeled.counted
            if counted.frame.height:
                return scored
            bounded = self.known(metric, counted, nothing)
            return bounded._replace(statistics=None, per_example=None, unscored=None)
        low = self._values(metric, table)
        try:
            is_out = self._labeled.left_out.is_not_null()
            high = self._values(metric, all_right(table, is_out))
        except pl.exceptions.PolarsError:
            # answers and predictions are of types that cannot stand in one column
            high = {}
        scores = [
            score._replace(bounds=(low.get(score.group), high.get(score.group)))
            for score in scored.scores
        ]
        return scored._replace(scores=scores)

    def _has_bounds(self, metric: BoundMetric) -> bool:
        labeled = self._labeled
        return (
            metric.has_possible_range
            and not metric.is_costly
            and labeled.table.context.answer_kind != "none"
            and not labeled.left_out.is_null().all()
        )

    def _values(
        self, metric: BoundMetric, table: ScoringTable
    ) -> Mapping[int, float | None]:
        if why_not(metric, table):
            return {}
        try:
            values = list_values(metric, table, self._groups)
            return {group: value for (group, _), value in values.items()}
        except MetricError:
            return {}


def _advance(progress: Progress, share: float, text: str) -> None:
    progress(text, share)


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
