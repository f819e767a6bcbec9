"""Turns tallies into scores: values by group, and what they amount to by facet."""

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
from evalkit.scoring.calls import checked_value
from evalkit.statistics.intervals import Interval
from evalkit.tallies.counted import MetricCounts, example_column
from evalkit.tallies.groups import WHOLE
from evalkit.tallies.outcomes import (
    FAILED,
    LOST,
    NOT_SCORED,
    OUTCOME,
    REASON,
    SILENT,
    UNANSWERED,
    UNSCORED,
    most_unscored,
    why_unanswered,
)
from evalkit.tallies.records import (
    NO_VALUE,
    NOTHING_SCORED,
    AggregateScore,
    FacetTest,
    GroupScore,
    Intervals,
    MetricScores,
    NoIntervals,
    Spread,
    failed_scores,
)
from evalkit.tallies.sums import exact_sums
from evalkit.tallies.tally import MetricTally, Tallies, Tally

DESCRIBED = Interval(reason="it is described, without an interval")

_SHOWN_REASONS = 3


def finalize_metric(
    metric: BoundMetric,
    context: MetricContext,
    tallies: Tallies,
    intervals: Intervals | None = None,
    smallest: int = 1,
) -> MetricScores:
    """Turn the tally of a metric into its scores.

    Args:
        metric: The metric.
        context: What else the metric knows.
        tallies: The tallies, also of other metrics.
        intervals: Computes intervals and tests; None for none.
        smallest: Examples below which a tag takes no part in a worst group or gap.

    Returns:
        The scores; null with the reason where the metric does not apply or failed.
    """
    own = tallies.metrics[metric.name]
    names = [WHOLE] if metric.whole_only else tallies.tag_sets.names
    if own.tally is None:
        return failed_scores(metric, names, own.refusal, own.error)
    repeats = max(1, len(tallies.replications))
    counts = MetricCounts(metric, context, own.tally, tallies.tag_sets, repeats)
    is_clustered = tallies.clusters is not None
    try:
        if refusal := _refusal(counts):
            return failed_scores(metric, names, refusal)
        _refuse_failures(counts)
        made = _Finalizer(counts, intervals or NoIntervals(), is_clustered, smallest)
        scores = made.scores(_bounds(counts, own, tallies, repeats))
        return MetricScores(
            metric.name,
            metric,
            scores,
            made.aggregates(scores),
            _failure(counts),
            _notices(counts),
        )
    except MetricError as error:
        return failed_scores(metric, names, None, str(error))


def _refusal(counts: MetricCounts) -> str | None:
    """Say why a metric cannot score examples without a prediction."""
    unanswered = counts.per_group(counts.tally.patterns.answers([UNANSWERED]))[0]
    return why_unanswered(int(unanswered)) if unanswered else None


def _refuse_failures(counts: MetricCounts) -> None:
    """Refuse the scores of a metric that failed for too many answers, or for all.

    Raises:
        MetricError: It did. It is the first failure in alphabetical order.
    """
    failed = int(counts.per_group(counts.tally.patterns.answers([FAILED]))[0])
    most = most_unscored(counts.metric, int(counts.given[0]))
    if failed > most or (failed and not counts.n[0]):
        failures = counts.outcomes_of(0).filter(pl.col(OUTCOME) == FAILED)
        raise MetricError(str(failures[REASON].min()))


Bounds = Mapping[tuple[int, str], tuple[float | None, float | None]]


def _bounds(
    counts: MetricCounts, own: MetricTally, tallies: Tallies, repeats: int
) -> Bounds | None:
    """Return the values if all answers that were left out were wrong, and right."""
    if own.as_wrong is None or own.as_right is None:
        return {} if own.is_unbounded else None
    low, high = (
        {} if own.is_unbounded else _values(counts, tally, tallies, repeats)
        for tally in (own.as_wrong, own.as_right)
    )
    return {key: (low.get(key), high.get(key)) for key in {**low, **high}}


def _values(
    counts: MetricCounts, tally: Tally, tallies: Tallies, repeats: int
) -> dict[tuple[int, str], float | None]:
    """Return the values by group and score; none where an answer is not scored."""
    metric, context = counts.metric, counts.context
    filled = MetricCounts(metric, context, tally, tallies.tag_sets, repeats)
    if filled.unscored[0] or _refusal(filled) or not filled.sums.height:
        return {}
    try:
        scores = filled.finalize(filled.sums)
        return {
            (group, score): checked_value(metric, value)[0]
            for group, score, value in scores.select(
                "group", "score", "value"
            ).iter_rows()
        }
    except MetricError:
        return {}


class _Finalizer:
    """Makes the scores of one metric."""

    def __init__(
        self,
        counts: MetricCounts,
        intervals: Intervals,
        is_clustered: bool,
        smallest: int,
    ) -> None:
        self._counts, self._intervals = counts, intervals
        self._is_clustered, self._smallest = is_clustered, smallest
        self._spreads = _spreads(counts)
        self._within = _stddevs_within(counts)
        self._between = _stddevs_of_replications(counts)

    def scores(self, bounds: Bounds | None) -> list[GroupScore]:
        """Return the scores of all groups, by score and group."""
        scores = []
        for row in _value_rows(self._counts):
            score = self._without_too_few(self._score(row), row["group"])
            if bounds is not None:
                own = bounds.get((row["group"], score.score), (None, None))
                score = score._replace(bounds=own)
            scores.append(score)
        return scores

    def _score(self, row: Mapping[str, Any]) -> GroupScore:
        counts, number, score = self._counts, row["group"], row["score"]
        metric = counts.metric
        value, reason = checked_value(metric.score_of(score), row["value"])
        if metric.example_hook and row["value"] in (math.inf, -math.inf):
            # each score is finite, so their sum is not
            reason = "the sum of the scores is too large for a number"
        interval = NO_VALUE
        if value is not None:
            interval = self._interval(number, score, value)
        is_mean = counts.averages and score == "" and value is not None
        between = self._between[number] if is_mean else row["stddev_replications"]
        flags = [row["flag"], *interval.flags]
        return GroupScore(
            score,
            counts.names[number],
            value,
            int(counts.n[number]),
            int(counts.n_clusters[number]) if self._is_clustered else None,
            _share(counts.scored[number], counts.answers[number]),
            interval,
            row["reason"] or reason if value is None else None,
            "; ".join(filter(None, flags)) or None,
            self._spreads[number] if score == "" and value is not None else None,
            stddev_within=self._within[number] if is_mean else None,
            stddev_replications=between,
        )

    def _interval(self, group: int, score: str, value: float) -> Interval:
        if isinstance(self._intervals, NoIntervals):
            return Interval(reason=NoIntervals.reason)
        sample = self._counts.sample(group, self._is_clustered)
        return self._intervals.score(sample, score, value)

    def _without_too_few(self, score: GroupScore, group: int) -> GroupScore:
        """Take the value of a group of which too few answers were scored."""
        counts, metric = self._counts, self._counts.metric
        left, given = int(counts.unscored[group]), int(counts.given[group])
        if score.value is None or left <= most_unscored(metric, given):
            return score
        reason = (
            f"{metric.component.origin}: did not score {left} of {given}, and its "
            f"most_not_scored is {metric.most_not_scored:g}"
        )
        return score._replace(value=None, interval=NO_VALUE, reason=reason, spread=None)

    def aggregates(self, scores: Sequence[GroupScore]) -> list[AggregateScore]:
        """Return mean, worst group and gap of every facet with two groups or more."""
        numbers = {group: number for number, group in enumerate(self._counts.names)}
        main = {numbers[one.group]: one for one in scores if one.score == ""}
        aggregates = []
        for facet, groups in self._counts.facets.items():
            known = [g for g in groups if g in main and main[g].value is not None]
            if len(known) < 2:
                continue
            aggregates.append(self._macro(facet, groups, known, main))
            compared = [g for g in known if main[g].n >= self._smallest]
            if len(compared) >= 2:
                aggregates += self._worst(facet, groups, compared, main)
                aggregates.append(self._gap(facet, groups, compared, main))
        return aggregates

    def _macro(
        self,
        facet: str,
        groups: Sequence[int],
        known: Sequence[int],
        main: Mapping[int, GroupScore],
    ) -> AggregateScore:
        values = [float(main[group].value or 0.0) for group in known]
        interval = self._intervals.mean(self._samples(known), values)
        return AggregateScore(
            f"macro:{facet}",
            None,
            math.fsum(values) / len(values),
            *self._union(known),
            interval,
            _flag([*interval.flags], groups, known),
        )

    def _worst(
        self,
        facet: str,
        groups: Sequence[int],
        compared: Sequence[int],
        main: Mapping[int, GroupScore],
    ) -> list[AggregateScore]:
        direction = self._counts.metric.higher_is_better
        if direction is None:
            return []
        sign = 1.0 if direction else -1.0
        worst = min(
            (main[group] for group in compared),
            key=lambda score: (sign * float(score.value or 0.0), str(score.group.tag)),
        )
        return [
            AggregateScore(
                f"worst:{facet}",
                worst.group.tag,
                float(worst.value or 0.0),
                worst.n,
                worst.n_clusters,
                DESCRIBED,
                _flag([], groups, compared),
            )
        ]

    def _gap(
        self,
        facet: str,
        groups: Sequence[int],
        compared: Sequence[int],
        main: Mapping[int, GroupScore],
    ) -> AggregateScore:
        values = np.array([float(main[group].value or 0.0) for group in compared])
        high, low = compared[int(values.argmax())], compared[int(values.argmin())]
        gap = float(values.max() - values.min())
        tags = (self._counts.names[group].tag for group in (high, low))
        text = (
            "from {} to {}".format(*tags) if gap else "all groups have the same score"
        )
        test: FacetTest = self._intervals.test(self._samples(compared))
        interval = Interval(reason=test.reason) if test.reason else DESCRIBED
        flag = _flag([text], groups, compared)
        union = self._union(compared)
        return AggregateScore(
            f"gap:{facet}", None, gap, *union, interval, flag, test.p_value
        )

    def _samples(self, groups: Sequence[int]) -> list[Any]:
        if isinstance(self._intervals, NoIntervals):
            return []
        return [self._counts.sample(group, self._is_clustered) for group in groups]

    def _union(self, groups: Sequence[int]) -> tuple[int, int | None]:
        n, n_clusters = self._counts.union_of(groups)
        return n, n_clusters if self._is_clustered else None


def _share(part: int, whole: int) -> float | None:
    return float(part) / float(whole) if whole else None


def _flag(
    texts: Sequence[str], groups: Sequence[int], chosen: Sequence[int]
) -> str | None:
    left_out = len(groups) - len(chosen)
    last = [f"{count_of(left_out, 'group')} left out"] if left_out else []
    return "; ".join([*texts, *last]) or None


def _value_rows(counts: MetricCounts) -> list[dict[str, Any]]:
    """Return the values of all groups, null with the reason where there is none."""
    rows: list[dict[str, Any]] = []
    if counts.sums.height:
        rows = counts.finalize(counts.sums).to_dicts()
    known = {row["group"] for row in rows}
    names = ("group", "score", "value", "reason", "flag", "stddev_replications")
    for group in range(len(counts.names)):
        if group not in known:
            rows.append(dict.fromkeys(names))
            rows[-1].update(group=group, score="", reason=_why_no_value(counts, group))
    return sorted(rows, key=lambda row: (row["score"], row["group"]))


def _spreads(counts: MetricCounts) -> list[Spread | None]:
    """Describe the scores of the examples of each group."""
    column, groups = example_column(counts.metric), len(counts.names)
    if column is None or column not in counts.patterns.columns:
        return [None] * groups
    values, times, ends = counts.values_of(column)
    present = np.flatnonzero(np.diff(ends))
    if not len(present):
        return [None] * groups
    starts = ends[:-1][present]
    sizes = np.add.reduceat(times, starts)
    with np.errstate(over="ignore", invalid="ignore"):
        means = exact_sums(values, times, starts) / sizes
        distances = values - np.repeat(means, np.diff(ends)[present])
        squares = np.add.reduceat(times * distances**2, starts)
        deviations = np.sqrt(squares / sizes)
    spreads: list[Spread | None] = [None] * groups
    for place, group in enumerate(present.tolist()):
        part = values[ends[group] : ends[group + 1]]
        deviation = float(deviations[place])
        spreads[group] = Spread(
            float(means[place]),
            math.inf if math.isnan(deviation) else deviation,
            float(part.min()),
            float(part.max()),
        )
    return spreads


def _stddevs_within(counts: MetricCounts) -> list[float | None]:
    """Return the pooled standard deviation over the answers to an example."""
    column, groups = example_column(counts.metric), len(counts.names)
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


def _stddevs_of_replications(counts: MetricCounts) -> list[float | None]:
    """Return the standard deviation of the mean score over the replications."""
    column, groups = example_column(counts.metric), len(counts.names)
    if not counts.averages or column not in counts.tally.patterns.columns:
        return [None] * groups
    means = counts.means_of_replications(str(column))
    return [
        float(np.std(row, ddof=1)) if np.isfinite(row).all() else None for row in means
    ]


def _why_no_value(counts: MetricCounts, group: int) -> str:
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
    return f"{origin}: {_silence(counts.metric)} for {whom}"


def _word(counts: MetricCounts) -> str:
    return "answer" if counts.repeats > 1 else "example"


def _silence(metric: BoundMetric) -> str:
    if metric.has("statistics"):
        return "statistics gave no row"
    return f"{metric.example_hook or 'example_statistics'} returned None"


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


def _failure(counts: MetricCounts) -> str | None:
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


def _notices(counts: MetricCounts) -> list[str]:
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
        notices.append(f"{origin}: {_silence(metric)} for {silent} of {given}; {rest}")
    if named := _times(outcomes, NOT_SCORED):
        reasons = _reasons(outcomes, (NOT_SCORED,))
        notices.append(
            f"{origin}: did not score {named} of {given} ({reasons}); {rest}"
        )
    return notices
