"""Scores several metrics of one set of examples by their tallies.

Also what scores would be if the examples that were left out were all wrong or right.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import polars as pl

from evalkit.base.failures import log_failure
from evalkit.base.progress import Progress
from evalkit.errors import MetricError
from evalkit.parallel import Workers
from evalkit.plugins.bound import BoundMetric
from evalkit.scoring.evidence import Evidence
from evalkit.scoring.final_scores import finalize_metric
from evalkit.scoring.group_intervals import SharedPairs
from evalkit.scoring.grouping import Groups, number_groups
from evalkit.scoring.lists import list_values, score_lists
from evalkit.scoring.passes import metric_outcomes
from evalkit.scoring.records import (
    MISSING,
    Advance,
    MetricScores,
    Outcomes,
    ScoringSettings,
    failed_scores,
    no_outcomes,
    null_scores,
    refuse_absent_fields,
    why_failed,
    why_not,
    with_outcomes,
)
from evalkit.scoring.table import ScoringTable
from evalkit.scoring.tally import Tallies, number_clusters
from evalkit.scoring.tallying import (
    Labeled,
    all_right,
    count_rows,
    has_bounds,
    left_out_rows,
    rows_of,
    tally_rows,
)


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

    Statistics that were computed before, and the examples that metrics did not score
    then, are given by name of the metric. Scores are in the order of the metrics, each
    for itself. A metric that fails does not touch the others.
    """
    scored = []
    tallied = _Tallied(measured.everything, measured.table, measured.groups, settings)
    with Workers(settings.jobs) as workers:
        for number, metric in enumerate(metrics):
            advance = partial(_advance, progress, number / len(metrics))
            advance(f"computing {metric.name}")
            try:
                ready = prepared(metric, measured.everything)
            except MetricError as error:
                scored.append(failed_scores(metric, len(measured.groups.tags), error))
                continue
            for part in ready.parts():
                known = (statistics or {}).get(part.name)
                if known is None:
                    one = tallied.score(part, workers, advance)
                    scored.append(tallied.with_bounds(one))
                else:
                    left = (unscored or {}).get(part.name, no_outcomes())
                    scored.append(tallied.finish(part, Outcomes(known, left)))
    return scored


def score_metric(
    metric: BoundMetric,
    table: ScoringTable,
    groups: Groups,
    settings: ScoringSettings,
    workers: Workers | None = None,
) -> MetricScores:
    """Score a table with one metric; a failure is caught and reported.

    Args:
        metric: The metric; one with `prepare` has seen all answers.
        table: What is scored.
        groups: The groups.
        settings: How intervals are computed.
        workers: Processes for metrics written in Python; None for this one only.

    Returns:
        Its scores; nulls with the reason where it does not apply or failed.
    """
    return _Tallied(table, table, groups, settings).score(metric, workers)


def score_statistics(
    metric: BoundMetric,
    outcomes: Outcomes,
    table: ScoringTable,
    groups: Groups,
    settings: ScoringSettings,
) -> MetricScores:
    """Score what a metric made of the examples of a table.

    Args:
        metric: The metric.
        outcomes: What it made of them.
        table: The examples.
        groups: The groups.
        settings: How intervals are computed.

    Returns:
        Its scores.
    """
    return _Tallied(table, table, groups, settings).finish(metric, outcomes)


def evidence_of(
    metric: BoundMetric, statistics: pl.DataFrame, table: ScoringTable, groups: Groups
) -> Evidence:
    """Count the statistics of the examples of a table."""
    return _Tallied(table, table, groups, ScoringSettings()).evidence(
        metric, statistics
    )


def merge_statistics(
    metric: BoundMetric, statistics: pl.DataFrame, table: ScoringTable, groups: Groups
) -> pl.DataFrame:
    """Merge the statistics of the examples of every group, as scoring does.

    Args:
        metric: A metric that is not a function of lists.
        statistics: One or more rows a position, with the metric's keys.
        table: What is scored, with one answer an example.
        groups: The groups.

    Returns:
        `group`, the metric's keys, and the merged columns, sorted by group and keys.
    """
    return evidence_of(metric, statistics, table, groups).sums


class _Tallied:
    """Scores a table by tallies."""

    def __init__(
        self,
        everything: ScoringTable,
        table: ScoringTable,
        groups: Groups,
        settings: ScoringSettings,
    ) -> None:
        self._table, self._groups, self._settings = table, groups, settings
        answers, repeats = len(table.ids), table.repeats
        self._sets, tag_set = number_groups(groups, answers, repeats)
        self._clusters, cluster = number_clusters(table)
        is_counted = np.zeros(answers, dtype=bool)
        is_counted[table.frame["position"].to_numpy()] = True
        left_out = pl.select(pl.when(~pl.Series(is_counted)).then(pl.lit(MISSING)))
        self._labeled = Labeled(everything, left_out.to_series(), tag_set, cluster)
        self._shared = SharedPairs()

    def score(
        self,
        metric: BoundMetric,
        workers: Workers | None = None,
        advance: Advance = lambda _: None,
    ) -> MetricScores:
        """Score the table; a failure is caught and reported."""
        table, groups = self._table, self._groups.of(metric.whole_only)
        try:
            refuse_absent_fields(metric, table)
            if reason := why_not(metric, table):
                unsaid = table.lacking_for(metric)
                if unsaid.height < table.frame.height:  # that is not the reason
                    unsaid = unsaid.clear()
                error = why_failed(metric, unsaid, table)
                nulls = null_scores(metric, len(groups.tags), reason)
                return nulls._replace(unscored=unsaid, error=error)
            if metric.has("compute"):
                return score_lists(metric, table, groups, self._settings, advance)
            rate = _Rate(metric.name, table.frame.height, advance)
            outcomes = metric_outcomes(metric, table, workers, rate.told)
            _log_failed_row(metric)
            return self.finish(metric, outcomes, advance)
        except MetricError as error:
            return failed_scores(metric, len(groups.tags), error)

    def finish(
        self, metric: BoundMetric, outcomes: Outcomes, advance: Advance = lambda _: None
    ) -> MetricScores:
        """Turn what a metric made of the examples into its scores."""
        table = self._labeled.table
        try:
            rows = rows_of(metric, self._table, outcomes)
            metrics = {metric.name: tally_rows(metric, self._labeled, rows)}
            tallies = Tallies(self._sets, self._clusters, table.replications, metrics)
            parts = table.context, tallies, self._settings, advance, self._shared
            scored = finalize_metric(metric, *parts)
        except MetricError as error:
            return failed_scores(metric, len(self._groups.tags), error)
        if scored.failure:
            return scored._replace(unscored=outcomes.unscored)
        return with_outcomes(scored, outcomes)

    def evidence(self, metric: BoundMetric, statistics: pl.DataFrame) -> Evidence:
        """Count statistics."""
        labeled, table = self._labeled, self._table
        rows = rows_of(metric, table, Outcomes(statistics, no_outcomes()))
        tally = count_rows(metric, labeled, [rows, left_out_rows(metric, labeled)])
        counted = tally, self._sets, self._clusters, self._settings, table.repeats
        return Evidence(metric, table.context, *counted)

    def with_bounds(self, scored: MetricScores) -> MetricScores:
        """Add the bounds to scores that no tally was made for."""
        metric, table = scored.metric, self._labeled.table
        is_done = scored.statistics is not None or scored.error
        if is_done or not has_bounds(metric, self._labeled):
            return scored
        if not metric.has("compute"):
            if self._table.frame.height:
                return scored
            nothing = Outcomes(pl.DataFrame({"position": []}), no_outcomes())
            bounded = self.finish(metric, nothing)
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

    def _values(
        self, metric: BoundMetric, table: ScoringTable
    ) -> Mapping[int, float | None]:
        if why_not(metric, table):
            return {}
        try:
            return list_values(metric, table, self._groups)
        except MetricError:
            return {}


def _log_failed_row(metric: BoundMetric) -> None:
    """Log what the metric raised for the first row that it was left out for."""
    cause = metric.computed.pop("cause", None)
    if cause is not None:
        error = MetricError(f"{metric.component.origin}: failed for an example")
        error.__cause__ = cause
        log_failure(error)


class _Rate:
    """Says how many examples are behind, and how many that is a second."""

    def __init__(self, name: str, rows: int, advance: Advance) -> None:
        self._name = name
        self._rows = rows
        self._advance = advance
        self._done = 0
        self._started = time.monotonic()

    def told(self, rows: int) -> None:
        self._done += rows
        seconds = max(time.monotonic() - self._started, 1e-3)
        rate = f"{self._done / seconds:.3g} examples/s"
        self._advance(f"{self._name}: {self._done:,} of {self._rows:,}, {rate}")


def _advance(progress: Progress, share: float, text: str) -> None:
    progress(text, share)


def prepared(metric: BoundMetric, everything: ScoringTable) -> BoundMetric:
    """Return a metric that has seen all answers, where it wants to."""
    if not metric.has("prepare"):
        return metric
    table = everything
    targets = table.frame["target"].gather_every(table.repeats).to_list()
    return metric.prepare(targets, table.context)
