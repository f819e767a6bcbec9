"""Records that scoring works with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

import polars as pl

from evalkit.base.failures import log_failure
from evalkit.base.names import score_name
from evalkit.base.terms import MetricContext
from evalkit.base.wording import absent_field, count_of
from evalkit.errors import MetricError
from evalkit.plugins.bound import BoundMetric
from evalkit.scoring.outcomes import NOTHING_SCORED, failure_text, most_left, reasons_of
from evalkit.scoring.table import ScoringTable
from evalkit.statistics.clusters import ClusterSizes
from evalkit.statistics.intervals import Interval, without_interval

Advance = Callable[[str], None]
"""Told what is being computed, for a progress bar."""


class ScoringSettings(NamedTuple):
    """How scores and intervals are computed."""

    confidence: float = 0.95
    seed: int = 0
    jobs: int = 1
    """Processes that metrics written in Python may use."""
    fewest: int = 1
    """Examples below which a tag takes no part in a worst group or gap."""
    one_family: bool = True
    """Whether the tests of several facets are adjusted for being read together."""


class GroupScore(NamedTuple):
    """One score of one group."""

    score: str
    """Name within the metric; "" for the main one."""
    group: int
    value: float | None
    n: int
    n_clusters: int | None
    interval: Interval
    reason: str | None = None
    flag: str | None = None
    spread: tuple[float, float, float, float] | None = None
    """Mean, population standard deviation, least and greatest per-example score."""
    bounds: tuple[float | None, float | None] | None = None
    """Value if every example left out were wrong, and if it were right."""
    coverage: float | None = None
    """Share of the group's answers that were scored; None for n / size."""
    replications: int | None = None
    stddev_within: float | None = None
    stddev_replications: float | None = None
    cluster_sizes: ClusterSizes | None = None


class AggregateScore(NamedTuple):
    """What the scores of the groups of a facet amount to."""

    kind: str
    """`macro:FACET`, `worst:FACET` or `gap:FACET`."""
    tag: str | None
    """The tag whose score it is, of a worst group."""
    value: float | None
    n: int
    n_clusters: int | None
    interval: Interval
    reason: str | None = None
    flag: str | None = None
    p_value: float | None = None
    p_adjusted: float | None = None
    """The p-value adjusted for how many facets are tested."""


class MetricScores(NamedTuple):
    """All that one metric computed."""

    name: str
    metric: BoundMetric
    scores: list[GroupScore]
    per_example: pl.DataFrame | None
    """Columns `position` and `score`, for metrics that have per-example scores."""
    error: str | None = None
    """Why the metric failed: its scores are null then, or, without a `failure`, not of
    all examples."""
    failure: MetricError | None = None
    """The same as an exception, which holds the cause."""
    aggregates: Sequence[AggregateScore] = ()
    statistics: pl.DataFrame | None = None
    """`position`, the keys and the number columns; None for a function of lists."""
    notices: Sequence[str] = ()
    """What a reader of the scores should know."""
    unscored: pl.DataFrame | None = None
    """`position`, `reason` and `failed` of the answers that the metric did not score,
    though it applies to them; None where there are none."""

    def full_name(self, part: str) -> str:
        """Return the full name of one of its scores."""
        return score_name(
            self.metric.component.name,
            self.metric.changed_parameters,
            part or self.metric.part,
        )


def notices_of(scored: Sequence[MetricScores]) -> list[str]:
    """Return the notices of several metrics.

    What all scores of a metric that gives several have in common is said once.
    """
    said = []
    for found in scored:
        origin, part = found.metric.component.origin, found.metric.part
        own = f"{origin}#{part}: " if part else f"{origin}: "
        for text in found.notices:
            is_own = text.startswith(own)
            common = f"{origin}: {text.removeprefix(own)}" if is_own else text
            whole = found.metric.whole or found.metric
            said.append((whole.name, common, text, len(whole.scores)))
    times = Counter((name, common) for name, common, _, _ in said)
    texts = [
        common if times[name, common] == scores > 1 else text
        for name, common, text, scores in said
    ]
    return [*dict.fromkeys(texts)]


def bootstrap_method(clustered: bool) -> str:
    """Name the bootstrap of examples, or of clusters."""
    return "bootstrap-clustered" if clustered else "bootstrap"


def score_flag(
    flag: str | None, sizes: ClusterSizes | None, interval: Interval
) -> str | None:
    """Join a metric's own flag with the flags of an interval."""
    warning = sizes.warning if sizes and interval.low is not None else None
    return "; ".join(filter(None, (flag, warning, *interval.flags))) or None


NO_VALUE = without_interval("there is no value")


def failed_scores(metric: BoundMetric, groups: int, error: MetricError) -> MetricScores:
    """Return the scores of a metric that failed: null for every group."""
    log_failure(error)
    nulls = null_scores(metric, groups, str(error))
    return nulls._replace(error=str(error), failure=error)


def null_scores(metric: BoundMetric, groups: int, reason: str) -> MetricScores:
    """Return a score without a value for every group."""
    scores = [
        GroupScore("", number, None, 0, None, NO_VALUE, reason)
        for number in range(1 if metric.whole_only else groups)
    ]
    return MetricScores(metric.name, metric, scores, None)


def refuse_absent_fields(metric: BoundMetric, table: ScoringTable) -> None:
    """Refuse to score without a field that a metric asks for."""
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
        why = failed[0] if len(failed) else reasons_of(Counter(unsaid["reason"]))
        return f"no example has what it asks for ({why})"
    lacking = table.without_prediction()
    if lacking and not takes_no_prediction(metric):
        return why_unanswered(lacking)
    return None


def why_failed(
    metric: BoundMetric, unsaid: pl.DataFrame, table: ScoringTable
) -> str | None:
    """Say for how many examples no column could be computed that a metric reads."""
    failed = unsaid.filter("failed")["reason"]
    word = "answer" if table.repeats > 1 else "example"
    given = count_of(table.frame.height, word)
    return failure_text(metric, len(failed), given, failed[0]) if len(failed) else None


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


def without_too_few(
    metric: BoundMetric, score: GroupScore, left: int, given: int
) -> GroupScore:
    """Take the value of a group of which too few examples were scored."""
    if score.value is None or left <= most_left(metric, given):
        return score
    reason = (
        f"{metric.component.origin}: did not score {left} of {given}, and its "
        f"most_not_scored is {metric.most_not_scored:g}"
    )
    return score._replace(value=None, interval=NO_VALUE, reason=reason, spread=None)
