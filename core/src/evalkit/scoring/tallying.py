"""Scores the examples of a table, or of a part of it, to tallies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from evalkit.errors import MetricError
from evalkit.plugins.bound import BoundMetric
from evalkit.scoring.grouping import number_tag_sets
from evalkit.scoring.numbering import Codes
from evalkit.scoring.passes import metric_outcomes
from evalkit.scoring.records import (
    FAILED,
    LOST,
    NOT_SCORED,
    OUTCOME,
    OUTCOMES,
    REASON,
    SCORED,
    SILENT,
    UNANSWERED,
    Outcomes,
    outcome_rows,
    refuse_absent_fields,
    takes_no_prediction,
    why_not_applicable,
)
from evalkit.scoring.table import ScoringTable, joined_replications
from evalkit.scoring.tally import (
    MOST_LABELS,
    REPLICATION,
    MetricTally,
    Tallies,
    Tally,
    count_answers,
    count_examples,
    number_clusters,
    number_patterns,
)


@dataclass(frozen=True)
class Labeled:
    """The examples of a table, and what they are counted by."""

    table: ScoringTable
    left_out: pl.Series
    """By position, the outcome of an answer that no metric gets; else null."""
    tag_set: Codes
    cluster: Codes | None

    @cached_property
    def counted(self) -> ScoringTable:
        """The answers that metrics get."""
        return self._only(self.left_out.is_null())

    def _only(self, is_chosen: pl.Series) -> ScoringTable:
        if is_chosen.all():
            return self.table
        frame = self.table.frame
        frame = frame.filter(is_chosen.gather(frame["position"]))
        return self.table._replace(frame=frame)

    @cached_property
    def uncounted(self) -> ScoringTable:
        """The answers that no metric gets."""
        return self._only(self.left_out.is_not_null())

    @property
    def examples(self) -> int:
        """How many examples there are, however many answers they have."""
        return len(self.tag_set)


def tally_table(
    metrics: Sequence[BoundMetric],
    table: ScoringTable,
    left_out: pl.Series,
    tags: pl.Series,
    crossings: Mapping[str, pl.Series] | None = None,
    kept: dict[str, Outcomes] | None = None,
) -> Tallies:
    """Score a table to tallies.

    Args:
        metrics: Metrics that have seen the answers that they want to see; none of them
            a function of lists.
        table: All answers, counted or not.
        left_out: By position `missing` or `invalid` for an answer that metrics do not
            get, null for the others.
        tags: The list of tags of each answer.
        crossings: Further lists of texts of each answer, by what they cross.
        kept: Filled with what each metric made of the answers, by its name.

    Returns:
        The tallies.
    """
    repeats = table.repeats
    of_examples = {
        by: lists.gather_every(repeats) for by, lists in (crossings or {}).items()
    }
    tag_sets, tag_set = number_tag_sets(tags.gather_every(repeats), of_examples)
    keys, cluster = number_clusters(table)
    labeled = Labeled(table, left_out, tag_set, cluster)
    by_name = {
        metric.name: tally_metric(metric, labeled, kept)
        for whole in metrics
        for metric in whole.parts()
    }
    return Tallies(tag_sets, keys, table.replications, by_name, count_targets(labeled))


def tally_metric(
    metric: BoundMetric, labeled: Labeled, kept: dict[str, Outcomes] | None = None
) -> MetricTally:
    """Score a table with one metric."""
    refusal = why_not_applicable(metric, labeled.table.context)
    if refusal is not None:
        return MetricTally(None, refusal)
    try:
        rows = _rows(metric, labeled.counted, kept)
    except MetricError as error:
        return MetricTally(None, error=str(error))
    return tally_rows(metric, labeled, rows)


def tally_rows(
    metric: BoundMetric, labeled: Labeled, rows: pl.DataFrame
) -> MetricTally:
    """Count the patterns of the answers that a metric was given, and of the others."""
    tally = count_rows(metric, labeled, [rows, left_out_rows(metric, labeled)])
    try:
        filled = [
            count_rows(metric, labeled, parts)
            for parts in _bound_rows(metric, labeled, rows)
        ]
    except (MetricError, pl.exceptions.PolarsError):
        # the metric cannot score answers without a prediction, or of another type
        return MetricTally(tally, is_unbounded=True)
    wrong, right = filled or (None, None)
    return MetricTally(tally, as_wrong=wrong, as_right=right)


def count_rows(
    metric: BoundMetric, labeled: Labeled, parts: Sequence[pl.DataFrame]
) -> Tally:
    """Count the patterns that the rows of all answers make."""
    present = [part for part in parts if part.height] or [parts[0]]
    rows = present[0] if len(present) == 1 else pl.concat(present, how="diagonal")
    position = rows["position"].to_numpy().astype(np.int64)
    repeats = labeled.table.repeats
    replication = np.zeros_like(position)
    if not joins_answers(metric, repeats):
        replication = position % repeats
    rows = rows.with_columns(pl.Series(REPLICATION, replication))
    patterns, pattern = number_patterns(
        rows.drop("position"), position // repeats, labeled.examples, metric.keys
    )
    return count_examples(patterns, pattern, labeled.tag_set, labeled.cluster)


def joins_answers(metric: BoundMetric, repeats: int) -> bool:
    """Whether all answers to an example are one row of the metric."""
    return repeats > 1 and metric.has("statistics") and metric.joins_replications


def _rows(
    metric: BoundMetric, table: ScoringTable, kept: dict[str, Outcomes] | None = None
) -> pl.DataFrame:
    """Return the rows of the answers that a metric is given."""
    refuse_absent_fields(metric, table)
    position, is_null = table.frame["position"], table.frame["prediction"].is_null()
    without = outcome_rows(position.filter(is_null), UNANSWERED)
    if takes_no_prediction(metric):
        without = without.clear()
    elif metric.is_costly and without.height:
        return without
    elif without.height:
        table = table._replace(frame=table.frame.filter(~is_null))
    if table.frame.is_empty():
        return without
    try:
        outcomes = metric_outcomes(metric, table)
    except MetricError:
        if without.height:  # the metric is refused for these
            others = outcome_rows(position.filter(~is_null), SILENT)
            return pl.concat([others, without], how="diagonal")
        raise
    if kept is not None:
        kept[metric.name] = outcomes
    rows = rows_of(metric, table, outcomes)
    return pl.concat([rows, without], how="diagonal") if without.height else rows


def rows_of(metric: BoundMetric, table: ScoringTable, found: Outcomes) -> pl.DataFrame:
    """Return the rows of answers."""
    lost = table.lacking_for(metric)["position"].implode()
    failed = pl.when(pl.col("position").is_in(lost)).then(pl.lit(LOST))
    outcome = pl.when("failed").then(failed.otherwise(pl.lit(FAILED)))
    unscored = found.unscored.select(
        "position",
        outcome.otherwise(pl.lit(NOT_SCORED)).cast(OUTCOMES).alias(OUTCOME),
        pl.col("reason").alias(REASON),
    )
    scored = found.statistics.with_columns(
        pl.col("position").cast(pl.UInt32),
        pl.lit(SCORED, OUTCOMES).alias(OUTCOME),
        pl.lit(None, pl.String).alias(REASON),
    )
    if joins_answers(metric, table.repeats):
        table = joined_replications(table, metric.columns)
    is_known = np.zeros(len(table.ids), dtype=bool)
    for part in (scored, unscored):
        is_known[part["position"].to_numpy()] = True
    position = table.frame["position"]
    silent = position.filter(~is_known[position.to_numpy()])
    others = [part for part in (unscored, outcome_rows(silent, SILENT)) if part.height]
    present = [scored, *others]
    return present[0] if len(present) == 1 else pl.concat(present, how="diagonal")


def left_out_rows(metric: BoundMetric, labeled: Labeled) -> pl.DataFrame:
    """Return a row for each answer that no metric gets."""
    outcome = labeled.left_out
    is_out, repeats = outcome.is_not_null(), labeled.table.repeats
    position = pl.Series("position", np.arange(len(outcome)), dtype=pl.UInt32)
    if joins_answers(metric, repeats):
        # an example is left out where all of its answers are
        counted = is_out.to_numpy().reshape(-1, repeats).all(axis=1)
        is_out = pl.Series(np.repeat(counted, repeats)) & (position % repeats == 0)
    return outcome_rows(position.filter(is_out), outcome.filter(is_out))


def has_bounds(metric: BoundMetric, labeled: Labeled) -> bool:
    """Whether a metric has bounds of answers that were left out."""
    return (
        metric.has_possible_range
        and not metric.is_costly
        and labeled.table.context.answer_kind != "none"
        and not labeled.left_out.is_null().all()
    )


def _bound_rows(
    metric: BoundMetric, labeled: Labeled, rows: pl.DataFrame
) -> Iterator[list[pl.DataFrame]]:
    """Return the rows if all left-out answers were wrong, and if they were right."""
    left_out = labeled.uncounted
    if left_out.frame.is_empty() or not has_bounds(metric, labeled):
        return
    is_out = pl.repeat(True, left_out.frame.height, eager=True)
    for frame in (left_out.frame, all_right(left_out, is_out).frame):
        if joins_answers(metric, labeled.table.repeats):
            both = pl.concat([labeled.counted.frame, frame]).sort("position")
            yield [_rows(metric, labeled.table._replace(frame=both))]
        else:
            yield [rows, _rows(metric, labeled.table._replace(frame=frame))]


def all_right(table: ScoringTable, left_out: pl.Series) -> ScoringTable:
    """Fill in an answer that is right where one was left out."""
    target = pl.col("target")
    if table.context.answer_kind == "any-of":
        target = target.list.first()
    given = pl.col("prediction")
    if table.without_prediction() == table.frame.height:
        # a column without values may not be of the answers' type
        given = pl.lit(None)
    filled = pl.when(left_out).then(target).otherwise(given)
    return table._replace(frame=table.frame.with_columns(prediction=filled))


def count_targets(labeled: Labeled) -> pl.DataFrame | None:
    """Count the answers of the examples that count; None where they are no labels."""
    table, repeats = labeled.counted, labeled.table.repeats
    position, target = table.frame["position"], table.frame["target"]
    if repeats > 1:
        is_first = (position // repeats).is_first_distinct()
        position, target = position.filter(is_first), target.filter(is_first)
    inner = target.dtype.inner if isinstance(target.dtype, pl.List) else target.dtype
    if inner != pl.String or table.context.answer_kind == "none":
        return None
    if table.choices is not None:
        choices = table.choices.gather(position // repeats * repeats)
        return count_answers(pl.DataFrame([target, choices.alias("choices")]))
    answers = count_answers(target.to_frame())
    is_open = table.context.labels is None and answers.height > MOST_LABELS
    return None if is_open else answers
