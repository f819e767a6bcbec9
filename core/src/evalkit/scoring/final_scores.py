"""Turns tallies into scores: values and intervals by group, and by facet."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl
from polars.dataframe.group_by import GroupBy

from evalkit.base.terms import MetricContext
from evalkit.base.wording import count_of
from evalkit.errors import MetricError
from evalkit.plugins.bound import BoundMetric
from evalkit.scoring.aggregates import aggregate_scores
from evalkit.scoring.evidence import Evidence
from evalkit.scoring.group_intervals import GroupIntervals, SharedPairs
from evalkit.scoring.records import (
    FAILED,
    LOST,
    NO_VALUE,
    NOT_SCORED,
    NOTHING_SCORED,
    OUTCOME,
    REASON,
    SILENT,
    UNANSWERED,
    UNSCORED,
    Advance,
    GroupScore,
    MetricScores,
    ScoringSettings,
    checked_value,
    failed_scores,
    failure_text,
    most_left,
    null_scores,
    reasons_of,
    score_flag,
    silence_of,
    why_unanswered,
    without_too_few,
)
from evalkit.scoring.tally import Tallies, Tally
from evalkit.statistics.clusters import Floats

_LARGE = 1e100

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

    They are null with the reason where the metric does not apply or failed. The label
    pairs are shared with further metrics of the same tallies.
    """
    own = tallies.metrics[metric.name]
    groups = len(tallies.tag_sets.texts)
    if own.tally is None:
        reason = str(own.error or own.refusal)
        return null_scores(metric, groups, reason)._replace(error=own.error)

    def count(tally: Tally) -> Evidence:
        sets, repeats = tallies.tag_sets, max(1, len(tallies.replications))
        parts = tally, sets, tallies.clusters, settings or ScoringSettings(), repeats
        return Evidence(metric, context, *parts)

    evidence = count(own.tally)
    try:
        if refusal := _refusal(evidence):
            return null_scores(metric, groups, refusal)
        _refuse_failures(evidence)
        intervals = GroupIntervals(evidence, advance, shared or SharedPairs())
        bounds = None
        if own.as_wrong is not None and own.as_right is not None:
            filled = () if own.is_unbounded else (own.as_wrong, own.as_right)
            bounds = [_values(count(tally)) for tally in filled] or [{}, {}]
        elif own.is_unbounded:
            bounds = [{}, {}]
        scores = _scores(evidence, intervals, bounds)
        if repeats := len(tallies.replications):
            scores = [one._replace(replications=repeats) for one in scores]
        return MetricScores(
            metric.name,
            metric,
            scores,
            None,
            _failure(evidence),
            aggregates=aggregate_scores(evidence, intervals, scores),
            notices=_notices(evidence),
        )
    except MetricError as error:
        return failed_scores(metric, groups, error)


def _refusal(counts: Evidence) -> str | None:
    """Say why a metric cannot score examples without a prediction."""
    unanswered = counts.per_group(counts.tally.patterns.answers([UNANSWERED]))[0]
    return why_unanswered(int(unanswered)) if unanswered else None


def _refuse_failures(counts: Evidence) -> None:
    """Refuse the scores of a metric that failed for too many answers, or for all."""
    failed = int(counts.per_group(counts.tally.patterns.answers([FAILED]))[0])
    most = most_left(counts.metric, int(counts.given[0]))
    if failed > most or (failed and not counts.n[0]):
        failures = counts.outcomes_of(0).filter(pl.col(OUTCOME) == FAILED)
        raise MetricError(str(failures[REASON].min()))


_Values = Mapping[tuple[int, str], float | None]


def _values(counts: Evidence) -> _Values:
    """Return the values by group and score; none where an answer is not scored."""
    if counts.unscored[0] or _refusal(counts) or not counts.n[0]:
        return {}
    try:
        scores = counts.finalizer(counts.sums).select("group", "score", "value")
        return {
            (group, score): checked_value(counts.metric, value)[0]
            for group, score, value in scores.iter_rows()
        }
    except MetricError:
        return {}


def _scores(
    counts: Evidence, intervals: GroupIntervals, bounds: Sequence[_Values] | None
) -> list[GroupScore]:
    """Return the scores of all groups, by score and group."""
    deviations = _stddevs(counts)
    scores = []
    for row in _value_rows(counts):
        score = score_group(counts, intervals, row)
        left, given = int(counts.unscored[score.group]), int(counts.given[score.group])
        score = without_too_few(counts.metric, score, left, given)
        group, key = score.group, (score.group, score.score)
        if counts.answers[group]:
            share = float(counts.scored[group]) / float(counts.answers[group])
            score = score._replace(coverage=share)
        if bounds is not None:
            low, high = (values.get(key) for values in bounds)
            score = score._replace(bounds=(low, high))
        if score.score == "" and score.value is not None and group in deviations:
            within, between = deviations[group]
            score = score._replace(stddev_within=within, stddev_replications=between)
        scores.append(score)
    return scores


def _value_rows(counts: Evidence) -> list[dict[str, Any]]:
    """Return the values of all groups, null with the reason where there is none."""
    rows: list[dict[str, Any]] = []
    if counts.n.any():
        rows = counts.finalizer(counts.sums).to_dicts()
    known = {row["group"] for row in rows}
    for group in range(len(counts.tags)):
        if group not in known:
            rows.append(dict.fromkeys(_VALUE_COLUMNS))
            rows[-1].update(group=group, score="", reason=_why_no_value(counts, group))
    return sorted(rows, key=lambda row: (row["score"], row["group"]))


def score_group(
    evidence: Evidence, intervals: GroupIntervals, row: Mapping[str, Any]
) -> GroupScore:
    """Score a group, with interval, spread and flags."""
    metric, group, score = evidence.metric, row["group"], row["score"]
    value, reason = checked_value(metric.score_of(score), row["value"])
    column = metric.example_column
    if metric.example_hook and row["value"] in (math.inf, -math.inf):
        # each score is finite: it was evalkit that added them up
        reason = "the sum of the scores is too large for a number"
    reason = row["reason"] or reason if value is None else None
    interval, spread = NO_VALUE, None
    if value is not None:
        interval = intervals.of(group, score, value, evidence.settings.confidence)
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
    # squares of larger values are no floats, those of smaller ones are 0
    scale = 1.0 if 1 / _LARGE < largest < _LARGE else largest or 1.0
    values, n = values / scale, math.fsum(counts)
    mean = math.fsum(values * counts) / n
    deviation = math.sqrt(math.fsum(counts * (values - mean) ** 2) / n)
    return mean * scale, deviation * scale, least, greatest


def _stddevs(counts: Evidence) -> dict[int, tuple[float | None, float | None]]:
    """Return standard deviations by group, where examples have several answers.

    The first is over the answers to an example, pooled; the second is that of the mean
    score over the replications.
    """
    column, patterns = counts.metric.example_column, counts.tally.patterns
    if not counts.averages or column not in patterns.columns:
        return {}
    items, value, times = patterns.sequences.items, pl.col("value"), pl.col("times")
    rows = pl.DataFrame(
        {
            "pattern": patterns.sequences.owners(),
            "replication": patterns.replications[items],
            "value": patterns.values(str(column))[items],
        }
    ).filter(pl.Series(patterns.has_numbers[items]))
    groups = pl.DataFrame(counts.by_group._asdict())
    variances = rows.group_by("pattern").agg(variance=value.var()).drop_nulls()
    variance = (pl.col("variance") * times).sum() / times.sum()
    pooled = _by(groups.join(variances, on="pattern"), "group").agg(variance.sqrt())
    mean = (value * times).sum() / times.sum()
    means = _by(groups.join(rows, on="pattern"), "group", "replication").agg(mean)
    deviation = pl.when(pl.len() == counts.repeats).then(value.std()).fill_nan(None)
    found = _by(means, "group").agg(deviation).join(pooled, on="group", how="left")
    return {group: (within, between) for group, between, within in found.iter_rows()}


def _by(frame: pl.DataFrame, *keys: str) -> GroupBy:
    """Group rows in an order that depends on nothing else."""
    return frame.sort(frame.columns).group_by(keys, maintain_order=True)


def _why_no_value(counts: Evidence, group: int) -> str:
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
        reasons = _reasons(counts.outcomes_of(group), *UNSCORED)
        return f"{origin}: did not score {whom} ({reasons})"
    return f"{origin}: {silence_of(counts.metric)} for {whom}"


def _word(counts: Evidence) -> str:
    return "answer" if counts.repeats > 1 else "example"


def _reasons(outcomes: pl.DataFrame, *chosen: str) -> str:
    """List the most frequent reasons of some outcomes."""
    rows = outcomes.filter(pl.col(OUTCOME).is_in(chosen))
    times = rows.group_by(REASON).agg(pl.col("times").sum())
    return reasons_of(dict(times.iter_rows()))


def _times(outcomes: pl.DataFrame, outcome: str) -> int:
    return int(outcomes.filter(pl.col(OUTCOME) == outcome)["times"].sum())


def _failure(counts: Evidence) -> str | None:
    """Say for how many examples a metric failed that has scores of others."""
    if not counts.unscored[0]:
        return None
    outcomes = counts.outcomes_of(0)
    failed = _times(outcomes, FAILED) + _times(outcomes, LOST)
    if not failed:
        return None
    given = count_of(int(counts.given[0]), _word(counts))
    first = str(outcomes.filter(pl.col(OUTCOME).is_in([FAILED, LOST]))[REASON].min())
    return failure_text(counts.metric, failed, given, first)


def _notices(counts: Evidence) -> list[str]:
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
        reasons = _reasons(outcomes, NOT_SCORED)
        notices.append(
            f"{origin}: did not score {named} of {given} ({reasons}); {rest}"
        )
    return notices
