"""Records that scoring works with.

A batch is one table, so that it can come from another process: rows with a score, and
rows in whose column `REASON` stands why there is none.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import polars as pl

from evalkit.base.columns import named
from evalkit.base.failures import hook_failures, log_failure
from evalkit.base.names import score_name
from evalkit.base.terms import MetricContext, NotScored
from evalkit.base.violations import shorten
from evalkit.base.wording import absent_field, count_of
from evalkit.errors import MetricError
from evalkit.plugins.bound import BoundMetric
from evalkit.scoring.table import LACKING, ScoringTable
from evalkit.statistics.clusters import ClusterSizes
from evalkit.statistics.intervals import Interval, without_interval

OUTCOME = "__outcome"
"""Column that is empty for a row of statistics, and else says why there is none."""

REASON = "__reason"
"""Column of the reason that a metric gives."""

SCORED = ""
MISSING = "missing"
INVALID = "invalid"
UNANSWERED = "no prediction"
"""Outcome of an answer without a prediction that the metric cannot take."""
NOT_SCORED = "not scored"
FAILED = "failed"
LOST = "no column"
"""Outcome of an answer for which a column that the metric reads was not computed."""
SILENT = "no row"
"""Outcome of an answer for which the metric gave neither a row nor a reason."""

OUTCOMES = pl.Enum(
    [SCORED, MISSING, INVALID, UNANSWERED, NOT_SCORED, FAILED, LOST, SILENT]
)
"""Type of the column of outcomes."""

LEFT_OUT = (MISSING, INVALID)
"""Outcomes of answers that no metric was given."""

UNSCORED = (NOT_SCORED, FAILED, LOST)
"""Outcomes of answers that a metric was given and says why it did not score."""

PART = "__part"
"""Column with the name of the score, of a metric that gives several."""

IS_FAILED = "__failed"
"""Column that tells whether the metric failed, and did not say so on purpose."""


class Left(NamedTuple):
    """An example that a metric did not score."""

    position: int
    reason: str
    failed: bool
    part: str | None = None
    """Name of the score that it does not have; None for all."""


class Outcomes(NamedTuple):
    """What a metric made of the examples of a table."""

    statistics: pl.DataFrame
    """`position`, the metric's keys and its number columns, of those it scored."""
    unscored: pl.DataFrame
    """`position`, `reason` and `failed` of those that it did not score, sorted by
    position; without those to which it says that it does not apply."""


_LEFT = {REASON: pl.String(), IS_FAILED: pl.Boolean(), PART: pl.String()}
EXTRA = frozenset(_LEFT)
"""Columns of a batch that are no statistics."""


def reason_of_group(metric: BoundMetric, outcome: NotScored) -> str:
    """Say why a metric did not score a whole group of examples."""
    return f"{metric.component.origin}: did not score them ({outcome.reason})"


def no_outcomes() -> pl.DataFrame:
    """Return the `unscored` of a metric that scored all."""
    return pl.DataFrame(schema=LACKING)


def with_left(scored: pl.DataFrame, left: Sequence[Left]) -> pl.DataFrame:
    """Add the examples without a score to those of a batch."""
    scored = scored.with_columns(
        pl.lit(None, dtype=kind).alias(name)
        for name, kind in _LEFT.items()
        if name not in scored.columns
    )
    if not left:
        return scored
    schema = {"position": scored.schema["position"], **_LEFT}
    frame = pl.DataFrame(left, schema=schema, orient="row")
    return pl.concat([scored, frame], how="diagonal")


def join_numbers(
    metric: BoundMetric, parts: Sequence[pl.DataFrame], limit: FailureLimit
) -> pl.DataFrame:
    """Join batches, and leave out examples whose numbers are not those of most."""
    names = [frozenset(part.columns) - EXTRA - {"position"} for part in parts]
    rows: Counter[frozenset[str]] = Counter()
    for columns, part in zip(names, parts, strict=True):
        rows[columns] += part[REASON].null_count() if columns else 0
    common = max(rows, key=rows.__getitem__, default=frozenset())
    why = (
        f"{metric.component.origin}: example_statistics must return a dict of the same "
        f"numbers for each example; of most they are {', '.join(sorted(common))}"
    )
    joined = []
    for columns, part in zip(names, parts, strict=True):
        if columns and columns != common:
            part = part.select(
                "position",
                pl.col(REASON).fill_null(why),
                pl.col(IS_FAILED).fill_null(True),
                PART,
            )
            limit.add(part)
        joined.append(part)
    return pl.concat(joined, how="diagonal")


def split_outcomes(frame: pl.DataFrame, part: str | None = None) -> Outcomes:
    """Tell the examples with a score from those without, for one score of several."""
    if part is not None:
        frame = frame.filter((pl.col(PART) == part) | pl.col(PART).is_null())
    is_scored = frame[REASON].is_null()
    unscored = frame.filter(~is_scored).select(
        pl.col("position").cast(pl.UInt32), reason=REASON, failed=IS_FAILED
    )
    if unscored.height:
        frame = frame.filter(is_scored)
    return Outcomes(frame.drop(*EXTRA), unscored.sort("position"))


def keep_cause(metric: BoundMetric, error: BaseException | None) -> None:
    """Keep what a metric raised for an example that is left out, if it is the first."""
    if error is not None:
        metric.computed.setdefault("cause", error)


class FailureLimit:
    """Ends the scoring of a metric that fails for too many examples."""

    def __init__(self, metric: BoundMetric, rows: float) -> None:
        self._metric = metric
        self._most = most_left(metric, rows)
        self._failed = 0
        self._first = ""

    def add(self, part: pl.DataFrame) -> None:
        """Count the failures of a batch."""
        failed = part.filter(pl.col(IS_FAILED))
        if failed.is_empty():
            return
        self._first = self._first or str(failed.sort("position")[REASON][0])
        self._failed += failed["position"].n_unique()
        if self._failed > self._most:
            self._raise()

    def refuse_nothing(self, joined: pl.DataFrame) -> None:
        """Refuse that nothing was scored because of failures."""
        is_limited = self._most < math.inf
        if is_limited and self._failed and joined[REASON].null_count() == 0:
            self._raise()

    def _raise(self) -> None:
        cause = self._metric.computed.pop("cause", None)
        raise MetricError(self._first) from cause


def most_left(metric: BoundMetric, rows: float) -> float:
    """Return of how many examples at most a metric may have scored none."""
    if rows == math.inf:
        return rows
    return max(1.0, metric.most_not_scored * rows)


def count_incomplete(examples: pl.DataFrame, repeats: int) -> int:
    """Count the examples with fewer valid answers than there are replications."""
    valid = examples.group_by("id").agg((pl.col("status") == "scored").sum())
    return int((valid["status"] < repeats).sum())


def outcome_rows(position: pl.Series, outcome: pl.Series | str) -> pl.DataFrame:
    """Return `position`, `OUTCOME` and `REASON` of answers."""
    frame = pl.DataFrame({"position": position.cast(pl.UInt32)})
    return frame.with_columns(
        pl.lit(outcome).cast(OUTCOMES).alias(OUTCOME),
        pl.lit(None, pl.String).alias(REASON),
    )


NOTHING_SCORED = "no example was scored"

_SHOWN_REASONS = 3


def failure_text(metric: BoundMetric, failed: int, given: str, first: str) -> str:
    """Say for how many examples a metric failed that has scores of others."""
    origin = metric.component.origin
    own = first.removeprefix(f"{origin}: ")
    # the reason of a computed column names what computed it
    why = f", as it failed: {own}" if own != first else f": {first}"
    return f"{origin}: {failed} of {given} left out{why}"


def reasons_of(times: Mapping[str, int]) -> str:
    """List the most frequent reasons."""
    ranked = sorted(times.items(), key=lambda each: (-each[1], each[0]))
    shown = [f"{shorten(why, 60)}: {count}" for why, count in ranked[:_SHOWN_REASONS]]
    more = len(ranked) - _SHOWN_REASONS
    return ", ".join([*shown, *([f"{more} more reasons"] if more > 0 else [])])


def silence_of(metric: BoundMetric) -> str:
    """Say how a metric left out an example without a reason."""
    if metric.has("statistics"):
        return "statistics gave no row"
    return f"{metric.example_hook or 'example_statistics'} returned None"


BOUNDS_SLACK = 1e-9
"""How far beyond its bounds rounding may put a value."""


def checked_value(
    metric: BoundMetric, value: Any, step: str = ""
) -> tuple[float | None, str | None]:
    """Check a value that a metric gave."""
    where = f"{metric.component.origin}: " + (f"{step}: " if step else "")
    if value is None:
        return None, f"{where}it is not defined for these examples"
    try:
        if isinstance(value, str | bytes):
            raise TypeError("a text is not taken for a number")
        number = float(value)
    except hook_failures() as error:  # an object's own __float__ may raise anything
        raise MetricError(
            f"{where}its value must be a number, is {shorten(value)}"
        ) from error
    if not math.isfinite(number):
        is_of_one = " for the example " in step
        hint = "; return evalkit.NotScored(reason) where there is no score"
        return None, f"{where}it returned {number}{hint if is_of_one else ''}"
    low, high = metric.bounds or (None, None)
    if (low is not None and number < low - BOUNDS_SLACK) or (
        high is not None and number > high + BOUNDS_SLACK
    ):
        raise MetricError(
            f"{where}its value {number} is outside of its bounds {low} to {high}"
        )
    return number, None


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


def with_outcomes(scored: MetricScores, outcomes: Outcomes) -> MetricScores:
    """Add what a metric made of the examples to its scores."""
    column, statistics = scored.metric.example_column, outcomes.statistics
    if column in statistics.columns:
        per_example = statistics.select("position", score=named(str(column)))
        scored = scored._replace(per_example=per_example)
    return scored._replace(statistics=statistics, unscored=outcomes.unscored)


def notices_of(scored: Sequence[MetricScores]) -> list[str]:
    """Return the notices of several metrics.

    What all scores of a metric that gives several have in common is said once.
    """
    said: dict[str, list[str]] = {}
    scores: dict[str, int] = {}
    for found in scored:
        origin, part = found.metric.component.origin, found.metric.part
        for text in found.notices:
            common = text.replace(f"{origin}#{part}: ", f"{origin}: ", 1)
            said.setdefault(common, []).append(text)
            scores[common] = len((found.metric.whole or found.metric).scores)
    texts = (
        [common] if len(own) == scores[common] else own for common, own in said.items()
    )
    return [*dict.fromkeys(chain.from_iterable(texts))]


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
    if table.without_prediction() and not takes_no_prediction(metric):
        is_joined = metric.has("statistics") and metric.joins_replications
        rows = table.frame.filter(pl.col("prediction").is_null())["position"]
        answers = rows // table.repeats if is_joined else rows
        return why_unanswered(answers.n_unique())
    return None


def why_failed(
    metric: BoundMetric, unsaid: pl.DataFrame, table: ScoringTable
) -> str | None:
    """Say for how many examples no column could be computed that a metric reads."""
    failed = unsaid.filter("failed")["reason"]
    given = count_of(table.frame.height, "answer" if table.repeats > 1 else "example")
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
