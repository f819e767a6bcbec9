"""Turns tallies into scores: values and intervals by group, and by facet."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from evalkit.base.terms import MetricContext
from evalkit.base.violations import shorten
from evalkit.base.wording import count_of
from evalkit.errors import MetricError
from evalkit.plugins.bound import BoundMetric
from evalkit.scoring.aggregates import aggregate_scores
from evalkit.scoring.calls import checked_value
from evalkit.scoring.evidence import Evidence, example_column
from evalkit.scoring.group_intervals import GroupIntervals
from evalkit.scoring.metric import failed_scores, score_group, why_unanswered
from evalkit.scoring.outcomes import most_left
from evalkit.scoring.records import (
    Advance,
    GroupScore,
    MetricScores,
    ScoringSettings,
)
from evalkit.scoring.unscored import NOTHING_SCORED, silence_of
from evalkit.statistics.intervals import without_interval
from evalkit.tallies.counted import CountedTally, SharedPairs
from evalkit.tallies.outcomes import (
    FAILED,
    LOST,
    NOT_SCORED,
    OUTCOME,
    REASON,
    SILENT,
    UNANSWERED,
    UNSCORED,
)
from evalkit.tallies.tally import Tallies, Tally

_NO_VALUE = without_interval("there is no value")

_SHOWN_REASONS = 3

_VALUE_COLUMNS = ("group", "score", "value", "reason", "flag", "stddev_replications")


def finalize_metric(
    metric: BoundMetric,
    context: MetricContext,
    tallies: Tallies,
    settings: ScoringSettings | None = None,
    advance: Advance = lambda _: None,
    shared: SharedPairs | None = None,
) -> MetricScores:
    """Turn the tally of a metric into its scores.

    Args:
        metric: The metric.
        context: What else the metric knows.
        tallies: The tallies, also of other metrics.
        settings: How intervals are computed.
        advance: Progress callback.
        shared: What metrics of the same tallies share; None for this one alone.

    Returns:
        The scores; null with the reason where the metric does not apply or failed.
    """
    own = tallies.metrics[metric.name]
    groups = 1 if metric.whole_only else len(tallies.tag_sets.texts)
    if own.tally is None:
        return _failed_scores(metric, groups, own.refusal, own.error)

    def count(tally: Tally) -> CountedTally:
        sets, repeats = tallies.tag_sets, max(1, len(tallies.replications))
        parts = tally, sets, tallies.clusters, settings or ScoringSettings(), repeats
        return CountedTally(metric, context, *parts)

    counts = count(own.tally)
    try:
        if refusal := _refusal(counts):
            return _failed_scores(metric, groups, refusal)
        _refuse_failures(counts)
        evidence = counts.evidence(shared)
        intervals = GroupIntervals(evidence, advance)
        bounds = None
        if own.as_wrong is not None and own.as_right is not None:
            filled = () if own.is_unbounded else (own.as_wrong, own.as_right)
            bounds = [_values(count(tally)) for tally in filled] or [{}, {}]
        elif own.is_unbounded:
            bounds = [{}, {}]
        scores = _scores(counts, evidence, intervals, bounds)
        if repeats := len(tallies.replications):
            scores = [one._replace(replications=repeats) for one in scores]
        return MetricScores(
            metric.name,
            metric,
            scores,
            None,
            _failure(counts),
            aggregates=aggregate_scores(evidence, intervals, scores),
            notices=_notices(counts),
        )
    except MetricError as error:
        return failed_scores(metric, counts.groups, error)


def _failed_scores(
    metric: BoundMetric, groups: int, refusal: str | None, error: str | None = None
) -> MetricScores:
    """Return scores without values, for a metric that failed or does not apply."""
    scores = [
        GroupScore("", group, None, 0, None, _NO_VALUE, error or refusal)
        for group in range(groups)
    ]
    return MetricScores(metric.name, metric, scores, None, error)


def _refusal(counts: CountedTally) -> str | None:
    """Say why a metric cannot score examples without a prediction."""
    unanswered = counts.per_group(counts.tally.patterns.answers([UNANSWERED]))[0]
    return why_unanswered(int(unanswered)) if unanswered else None


def _refuse_failures(counts: CountedTally) -> None:
    """Refuse the scores of a metric that failed for too many answers, or for all.

    Raises:
        MetricError: It did. It is the first failure in alphabetical order.
    """
    failed = int(counts.per_group(counts.tally.patterns.answers([FAILED]))[0])
    most = most_left(counts.metric, int(counts.given[0]))
    if failed > most or (failed and not counts.n[0]):
        failures = counts.outcomes_of(0).filter(pl.col(OUTCOME) == FAILED)
        raise MetricError(str(failures[REASON].min()))


_Values = Mapping[tuple[int, str], float | None]


def _values(counts: CountedTally) -> _Values:
    """Return the values by group and score; none where an answer is not scored."""
    if counts.unscored[0] or _refusal(counts) or not counts.n[0]:
        return {}
    evidence = counts.evidence()
    try:
        scores = evidence.finalizer(evidence.sums).select("group", "score", "value")
        return {
            (group, score): checked_value(counts.metric, value)[0]
            for group, score, value in scores.iter_rows()
        }
    except MetricError:
        return {}


def _scores(
    counts: CountedTally,
    evidence: Evidence,
    intervals: GroupIntervals,
    bounds: Sequence[_Values] | None,
) -> list[GroupScore]:
    """Return the scores of all groups, by score and group."""
    within = _stddevs_within(counts)
    between = _stddevs_of_replications(counts)
    scores = []
    for row in _value_rows(counts, evidence):
        score = _without_too_few(counts, score_group(evidence, intervals, row))
        group, key = score.group, (score.group, score.score)
        if counts.answers[group]:
            share = float(counts.scored[group]) / float(counts.answers[group])
            score = score._replace(coverage=share)
        if bounds is not None:
            low, high = (values.get(key) for values in bounds)
            score = score._replace(bounds=(low, high))
        if counts.averages and score.score == "" and score.value is not None:
            score = score._replace(
                stddev_within=within[group], stddev_replications=between[group]
            )
        scores.append(score)
    return scores


def _without_too_few(counts: CountedTally, score: GroupScore) -> GroupScore:
    """Take the value of a group of which too few answers were scored."""
    metric, group = counts.metric, score.group
    left, given = int(counts.unscored[group]), int(counts.given[group])
    if score.value is None or left <= most_left(metric, given):
        return score
    reason = (
        f"{metric.component.origin}: did not score {left} of {given}, and its "
        f"most_not_scored is {metric.most_not_scored:g}"
    )
    return score._replace(value=None, interval=_NO_VALUE, reason=reason, spread=None)


def _value_rows(counts: CountedTally, evidence: Evidence) -> list[dict[str, Any]]:
    """Return the values of all groups, null with the reason where there is none."""
    rows: list[dict[str, Any]] = []
    if counts.n[0]:
        rows = evidence.finalizer(evidence.sums).to_dicts()
    known = {row["group"] for row in rows}
    for group in range(len(counts.groups.tags)):
        if group not in known:
            rows.append(dict.fromkeys(_VALUE_COLUMNS))
            rows[-1].update(group=group, score="", reason=_why_no_value(counts, group))
    return sorted(rows, key=lambda row: (row["score"], row["group"]))


def _stddevs_within(counts: CountedTally) -> list[float | None]:
    """Return the pooled standard deviation over the answers to an example."""
    column, groups = example_column(counts.metric), len(counts.groups.tags)
    if not counts.averages or column is None:
        return [None] * groups
    patterns = counts.tally.patterns
    if column not in patterns.columns:
        return [None] * groups
    values = patterns.values(column)
    answers = patterns.sums(np.ones(patterns.rows.height))
    means = patterns.sums(values) / np.maximum(answers, 1)
    items, owners = patterns.sequences.items, patterns.sequences.owners()
    distances = np.where(patterns.has_numbers[items], values[items] - means[owners], 0)
    squares = np.bincount(owners, weights=distances**2, minlength=len(patterns))
    variances = squares / np.maximum(answers - 1, 1)
    has_several = answers > 1
    group, pattern, times = counts.by_group
    weights = times * has_several[pattern]
    known = np.bincount(group, weights=weights, minlength=groups)
    totals = np.bincount(group, weights=weights * variances[pattern], minlength=groups)
    return [
        math.sqrt(total / number) if number else None
        for total, number in zip(totals.tolist(), known.tolist(), strict=True)
    ]


def _stddevs_of_replications(counts: CountedTally) -> list[float | None]:
    """Return the standard deviation of the mean score over the replications."""
    column, groups = example_column(counts.metric), len(counts.groups.tags)
    if not counts.averages or column not in counts.tally.patterns.columns:
        return [None] * groups
    means = counts.means_of_replications(str(column))
    return [
        float(np.std(row, ddof=1)) if np.isfinite(row).all() else None for row in means
    ]


def _why_no_value(counts: CountedTally, group: int) -> str:
    """Say why a group has no value."""
    origin = counts.metric.component.origin
    if counts.n[group]:
        return f"{origin}: finalize gave no value"
    given = int(counts.given[group])
    if not given:
        return NOTHING_SCORED
    word = _word(counts)
    whom = f"all {given} {word}s" if given > 1 else f"the only {word}"
    if counts.unscored[group] == given:
        reasons = _reasons(counts.outcomes_of(group), UNSCORED)
        return f"{origin}: did not score {whom} ({reasons})"
    return f"{origin}: {silence_of(counts.metric)} for {whom}"


def _word(counts: CountedTally) -> str:
    return "answer" if counts.repeats > 1 else "example"


def _reasons(outcomes: pl.DataFrame, chosen: Sequence[str]) -> str:
    """List the most frequent reasons."""
    rows = (
        outcomes.filter(pl.col(OUTCOME).is_in(chosen))
        .group_by(REASON)
        .agg(pl.col("times").sum())
        .sort("times", REASON, descending=[True, False])
    )
    shown = [
        f"{shorten(reason, 60)}: {times}"
        for reason, times in rows.head(_SHOWN_REASONS).iter_rows()
    ]
    more = rows.height - _SHOWN_REASONS
    return ", ".join([*shown, *([f"{more} more reasons"] if more > 0 else [])])


def _times(outcomes: pl.DataFrame, outcome: str) -> int:
    return int(outcomes.filter(pl.col(OUTCOME) == outcome)["times"].sum())


def _failure(counts: CountedTally) -> str | None:
    """Say for how many examples a metric failed that has scores of others."""
    if not counts.unscored[0]:
        return None
    outcomes = counts.outcomes_of(0)
    failed = _times(outcomes, FAILED) + _times(outcomes, LOST)
    if not failed:
        return None
    origin = counts.metric.component.origin
    given = count_of(int(counts.given[0]), _word(counts))
    is_failed = pl.col(OUTCOME).is_in([FAILED, LOST])
    first = str(outcomes.filter(is_failed)[REASON].min())
    own = first.removeprefix(f"{origin}: ")
    # the reason of a computed column names what computed it
    why = f", as it failed: {own}" if own != first else f": {first}"
    return f"{origin}: {failed} of {given} left out{why}"


def _notices(counts: CountedTally) -> list[str]:
    """Say how many examples a metric gave no score."""
    if not counts.n[0] or counts.given[0] == counts.scored[0]:
        return []
    metric = counts.metric
    outcomes = counts.outcomes_of(0)
    origin = metric.component.origin + (f"#{metric.part}" if metric.part else "")
    given = count_of(int(counts.given[0]), _word(counts))
    rest = "they are not part of its n and value"
    notices = []
    if silent := _times(outcomes, SILENT):
        notices.append(
            f"{origin}: {silence_of(metric)} for {silent} of {given}; {rest}"
        )
    if named := _times(outcomes, NOT_SCORED):
        reasons = _reasons(outcomes, (NOT_SCORED,))
        notices.append(
            f"{origin}: did not score {named} of {given} ({reasons}); {rest}"
        )
    return notices
