"""Computes one metric for all groups, with intervals.

No file is read or written here.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from typing import Any

import polars as pl

from evalkit.base.columns import named
from evalkit.base.failures import log_failure
from evalkit.base.terms import MetricContext
from evalkit.base.wording import absent_field, count_of
from evalkit.errors import MetricError
from evalkit.parallel.workers import Workers
from evalkit.plugins.bound import BoundMetric
from evalkit.scoring.aggregates import aggregate_scores
from evalkit.scoring.calls import checked_value
from evalkit.scoring.evidence import Evidence, example_column
from evalkit.scoring.group_intervals import GroupIntervals
from evalkit.scoring.grouping import Groups
from evalkit.scoring.lists import score_lists
from evalkit.scoring.outcomes import Outcomes, no_outcomes
from evalkit.scoring.passes import metric_outcomes
from evalkit.scoring.records import (
    Advance,
    GroupScore,
    MetricScores,
    ScoringSettings,
    score_flag,
)
from evalkit.scoring.replications import (
    Repeated,
    repeated_statistics,
    with_replications,
)
from evalkit.scoring.table import ScoringTable
from evalkit.scoring.unscored import (
    NOTHING_SCORED,
    failure_text,
    reasons_of,
    unscored_notices,
    why_no_value,
    without_too_few,
)
from evalkit.statistics.clusters import Floats
from evalkit.statistics.intervals import without_interval

Finish = Callable[[BoundMetric, ScoringTable, Outcomes, Advance], MetricScores]
"""Turns what a metric made of the examples of a table into scores."""

_LARGE = 1e100


def score_metric(
    metric: BoundMetric,
    table: ScoringTable,
    groups: Groups,
    settings: ScoringSettings,
    advance: Advance = lambda _: None,
    workers: Workers | None = None,
    finish: Finish | None = None,
) -> MetricScores:
    """Compute a metric for all groups; a failure is caught and reported.

    Args:
        metric: The metric.
        table: What is scored.
        groups: The groups.
        settings: How intervals are computed.
        advance: Told about progress.
        workers: Processes for metrics written in Python; None for this one only.
        finish: Turns what it made of the examples into scores; None for
            `score_statistics`.

    Returns:
        Its scores; nulls with the reason where it does not apply or failed.
    """
    try:
        groups = groups.of(metric.whole_only)
        refuse_absent_fields(metric, table)
        reason = why_not(metric, table)
        if reason:
            unsaid = table.lacking_for(metric)
            if unsaid.height < table.frame.height:  # that is not the reason
                unsaid = unsaid.clear()
            error = failure_text(metric, unsaid, table)
            nulls = _all_null(metric, groups, reason)
            return nulls._replace(unscored=unsaid, error=error)
        if metric.has("compute"):
            return score_lists(metric, table, groups, settings, advance)
        rate = _Rate(metric.name, table.frame.height, advance)
        found = metric_outcomes(metric, table, workers, rate.told)
        _log_failed_row(metric)
        if finish is not None:
            return finish(metric, table, found, advance)
        given = (metric, found.statistics, table, groups, settings)
        return score_statistics(*given, advance, found.unscored)
    except MetricError as error:
        return failed_scores(metric, groups, error)


def _log_failed_row(metric: BoundMetric) -> None:
    """Log what the metric raised for the first row that it was left out for."""
    cause = metric.computed.pop("cause", None)
    if cause is not None:
        error = MetricError(f"{metric.component.origin}: failed for an example")
        error.__cause__ = cause
        log_failure(error)


def failed_scores(
    metric: BoundMetric, groups: Groups, error: MetricError
) -> MetricScores:
    """Return the scores of a metric that failed: null for every group.

    Args:
        metric: The metric.
        groups: The groups.
        error: How it failed.

    Returns:
        Nulls with the error as their reason.
    """
    log_failure(error)
    nulls = _all_null(metric, groups, str(error))
    return nulls._replace(error=str(error), failure=error)


def refuse_absent_fields(metric: BoundMetric, table: ScoringTable) -> None:
    """Refuse to score without a field that a metric asks for.

    Args:
        metric: The metric.
        table: What would be scored.

    Raises:
        MetricError: The table lacks one of the metric's columns.
    """
    why = _absent_field(metric, table)
    if why and not table.frame.is_empty():
        raise MetricError(f"{metric.component.origin}: {why}")


def _absent_field(metric: BoundMetric, table: ScoringTable) -> str | None:
    """Say which column of a metric the table lacks; None for none."""
    absent = metric.absent_columns(table.frame.columns)
    if not absent:
        return None
    why = f"it needs {absent_field(absent[0], table.offered)}"
    return f"{why}; no plugin computes it" if "; data and" in why else why


def why_not(metric: BoundMetric, table: ScoringTable) -> str | None:
    """Say why a metric cannot score a table; None if it can.

    Args:
        metric: The metric.
        table: What would be scored.

    Returns:
        The reason.
    """
    if why := why_not_applicable(metric, table.context):
        return why
    if why := _absent_field(metric, table):
        return why
    if table.frame.is_empty():
        return NOTHING_SCORED
    unsaid = table.lacking_for(metric)
    if unsaid.height == table.frame.height:
        failed = unsaid.filter("failed")["reason"]
        why = failed[0] if len(failed) else reasons_of(unsaid)
        return f"no example has what it asks for ({why})"
    lacking = table.without_prediction()
    if lacking and not takes_no_prediction(metric):
        return why_unanswered(lacking)
    return None


def why_not_applicable(metric: BoundMetric, context: MetricContext) -> str | None:
    """Say why a metric does not apply to a kind of answers; None where it does."""
    kind = context.answer_kind
    if kind in metric.answer_kinds:
        return None
    if kind == "none":
        return "the task has no answers, and the metric needs them"
    if kind == "any-of":
        return "examples have several acceptable answers; answer_kinds lacks any-of"
    return f"the metric does not take answers of the kind {kind!r}"


def takes_no_prediction(metric: BoundMetric) -> bool:
    """Whether a metric scores an answer without a prediction."""
    if metric.accepts_no_prediction:
        return True
    if metric.example_hook is None:
        return False
    return all(part.worst_value is not None for part in metric.parts())


def why_unanswered(count: int) -> str:
    """Say why a metric does not score a set with answers without a prediction."""
    return (
        f"{count_of(count, 'example')} without a prediction, and the metric declares "
        "no worst value (worst_value, or accepts_no_prediction)"
    )


def _all_null(metric: BoundMetric, groups: Groups, reason: str) -> MetricScores:
    empty = without_interval("there is no value")
    scores = [
        GroupScore("", number, None, 0, None, empty, reason)
        for number in range(len(groups.of(metric.whole_only).tags))
    ]
    return MetricScores(metric.name, metric, scores, None)


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


def score_statistics(
    metric: BoundMetric,
    statistics: pl.DataFrame,
    table: ScoringTable,
    groups: Groups,
    settings: ScoringSettings,
    advance: Advance = lambda _: None,
    unscored: pl.DataFrame | None = None,
) -> MetricScores:
    """Compute scores and intervals from statistics.

    Args:
        metric: The metric.
        statistics: What `metric_statistics` returned.
        table: What is scored.
        groups: The groups.
        settings: How intervals are computed.
        advance: Told about progress.
        unscored: The examples that the metric did not score; None for none.

    Returns:
        The scores.

    Raises:
        MetricError: The metric failed.
    """
    column, groups = example_column(metric), groups.of(metric.whole_only)
    repeated = _repeated(metric, statistics, table)
    evidence = _evidence(metric, repeated, table, groups, settings)
    intervals = GroupIntervals(evidence, advance)
    left = no_outcomes() if unscored is None else unscored
    scores = [score_group(evidence, intervals, row) for row in _values(evidence, left)]
    scores = without_too_few(metric, scores, left, table, groups)
    per_example = None
    if column:
        per_example = statistics.select("position", score=named(column))
    if table.repeats > 1:
        scores = with_replications(scores, evidence, repeated, per_example)
    return MetricScores(
        metric.name,
        metric,
        scores,
        per_example,
        aggregates=aggregate_scores(evidence, intervals, scores),
        statistics=statistics,
        error=failure_text(metric, left, table),
        notices=unscored_notices(metric, statistics, table, left),
        unscored=left,
    )


def _repeated(
    metric: BoundMetric, statistics: pl.DataFrame, table: ScoringTable
) -> Repeated:
    if table.repeats == 1 or metric.joins_replications:
        return Repeated(statistics, 1)
    keys = metric.keys
    return repeated_statistics(statistics, example_column(metric), keys, table.repeats)


def _evidence(
    metric: BoundMetric,
    repeated: Repeated,
    table: ScoringTable,
    groups: Groups,
    settings: ScoringSettings,
) -> Evidence:
    statistics, apart = repeated.statistics, repeated.apart
    return Evidence(metric, statistics, table, groups, settings, apart)


def _values(evidence: Evidence, unscored: pl.DataFrame) -> list[dict[str, Any]]:
    """Return the values of all groups, null with the reason where there is none."""
    values = evidence.finalizer(evidence.sums)
    given = set(values["group"])
    rows = values.to_dicts()
    for group in range(len(evidence.groups.tags)):
        if group in given:
            continue
        rows.append(dict.fromkeys(values.columns))
        rows[-1].update(
            group=group, score="", reason=why_no_value(evidence, group, unscored)
        )
    return sorted(rows, key=lambda row: (row["score"], row["group"]))


def score_group(
    evidence: Evidence, intervals: GroupIntervals, row: Mapping[str, Any]
) -> GroupScore:
    """Score a group, with interval, spread and flags.

    Args:
        evidence: What the scores are computed from.
        intervals: Their intervals.
        row: What the finalizer returned for a score of the group.

    Returns:
        The score.
    """
    metric, group, score = evidence.metric, row["group"], row["score"]
    value, reason = checked_value(metric.score_of(score), row["value"])
    column = example_column(metric)
    if metric.example_hook and row["value"] in (math.inf, -math.inf):
        # each score is finite: it was evalkit that added them up
        reason = "the sum of the scores is too large for a number"
    reason = row["reason"] or reason if value is None else None
    interval, spread = without_interval("there is no value"), None
    if value is not None:
        confidence = evidence.settings.confidence
        interval = intervals.of(group, score, value, confidence)
        if column and score == "":
            spread = _spread(*evidence.values_of(group, column))
    sizes = evidence.cluster_sizes(group)
    return GroupScore(
        score,
        group,
        value,
        int(evidence.n[group]),
        sizes.clusters if sizes else evidence.n_clusters(group),
        interval,
        reason,
        score_flag(row["flag"], sizes, interval),
        spread,
        stddev_replications=row["stddev_replications"],
        cluster_sizes=sizes,
    )


def _spread(values: Floats, counts: Floats) -> tuple[float, float, float, float]:
    """Return mean, population standard deviation, least and greatest value."""
    least, greatest = float(values.min()), float(values.max())
    largest = max(-least, greatest)
    # squares of larger values are no floats
    scale = largest if largest > _LARGE else 1.0
    values, n = values / scale, math.fsum(counts)
    mean = math.fsum(values * counts) / n
    deviation = math.sqrt(math.fsum(counts * (values - mean) ** 2) / n)
    return mean * scale, deviation * scale, least, greatest
