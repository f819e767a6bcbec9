"""Scores parts of a dataset apart, adds them up, and scores the sum.

For engines that hold data and responses in parts, such as Spark, Ray or Dask.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from evalkit.base.terms import MetricContext
from evalkit.errors import DataError, EvalkitError, MetricError
from evalkit.examples.files import chosen_data
from evalkit.examples.table import load_examples
from evalkit.plugins.observers import Observers
from evalkit.plugins.registry import Registry
from evalkit.predictions.preparation import Prepared, changed_by
from evalkit.predictions.table import scoring_table
from evalkit.reading.given_rows import rows_of
from evalkit.runs.options import EvaluationOptions
from evalkit.runs.record import RunRecord
from evalkit.runs.recording import Asked, add_scores
from evalkit.runs.results import Result
from evalkit.runs.scores import GroupSizes
from evalkit.scoring.final_scores import finalize_metric
from evalkit.scoring.group_intervals import SharedPairs
from evalkit.scoring.measurement import prepared
from evalkit.scoring.records import MetricScores, Outcomes
from evalkit.scoring.table import ScoringTable, comparable
from evalkit.scoring.tally import Tallies
from evalkit.scoring.tallying import tally_table
from evalkit.workflows.evaluation_steps import bind, cross_examples, match


class PartitionPlan(NamedTuple):
    """What all parts of a dataset are scored by."""

    asked: Asked
    """The plugins; metrics with `prepare` have seen all answers."""
    context: MetricContext
    """What metrics know: labels, kind of answers and languages of the whole dataset."""


def plan_partitions(
    dataset: Any = None,
    options: EvaluationOptions | None = None,
    *,
    data: Any = None,
    task: Any = None,
    registry: Registry | None = None,
) -> PartitionPlan:
    """Plan the evaluation of a dataset in parts.

    The answers of the whole dataset are read once: they say which kind of answers it
    has, and some metrics look at all of them. Responses are not read. If the dataset
    is large, give one of its files: a part with another kind of answers is refused.

    Args:
        dataset: As for `evaluate`, like `data` and `task`.
        options: How responses are evaluated. Default: as by `evaluate`.
        data: A file or rows of all examples, in place of a dataset.
        task: The task of a file or rows.
        registry: Where plugins are found. Default: all that are installed.

    Returns:
        The plan, which can be pickled if its plugins can.

    Raises:
        DataError: The data cannot be read.
        EvalkitError: The options select examples, or name observers.
        MetricError: A score cannot be computed in parts.
        PluginError: A plugin is unknown or broken.
    """
    options, registry = options or EvaluationOptions(), registry or Registry()
    if not options.selection.is_whole:
        raise EvalkitError(
            "limit and filters cannot be used with partitions. Choose the examples of "
            "each part"
        )
    if options.observers:
        raise EvalkitError("observers cannot be used with partitions")
    chosen = chosen_data(dataset, data)
    asked = bind(chosen, task, None, options, registry, Observers(registry))
    if reason := why_whole(asked):
        raise MetricError(f"{reason}. Score the whole dataset at once")
    examples = load_examples(asked.dataset, asked.task, asked.split, ())
    context = MetricContext(
        examples.labels, examples.answer_kind, languages=examples.languages
    )
    return prepare_plan(asked, context, examples.frame)


def prepare_plan(
    asked: Asked, context: MetricContext, examples: pl.DataFrame
) -> PartitionPlan:
    """Show all answers (`answer`) to the metrics that want to see them."""
    metrics = asked.metrics
    if any(metric.has("prepare") for metric in metrics):
        answers = examples.select(prediction="answer", target="answer")
        table = comparable(answers, context.answer_kind)
        whole = ScoringTable(table, (), None, context)
        metrics = [prepared(metric, whole) for metric in metrics]
    return PartitionPlan(replace(asked, metrics=metrics), context)


def why_whole(asked: Asked) -> str | None:
    """Say what needs all examples at once; None if nothing does."""
    lists = [metric for metric in asked.metrics if metric.has("compute")]
    if lists:
        return f"{lists[0].component.origin}: functions of lists have no tally"
    if asked.dataset.has("evaluate"):
        return f"{asked.dataset.component.origin}: scores of its own need all examples"
    if asked.computed_columns is not None:
        return f"{asked.task.component.origin}: columns that a stage computes need all"
    return None


def partition_tallies(plan: PartitionPlan, examples: Any, responses: Any) -> Tallies:
    """Score a part of a dataset to tallies.

    Args:
        plan: What all parts are scored by.
        examples: The examples of the part: rows, a table, or a file.
        responses: Their responses, in one of the forms that `evaluate` takes.

    Returns:
        The tallies, which `merge_tallies` adds to those of the other parts.

    Raises:
        DataError: Examples or responses cannot be read, or the policies refuse the
            responses.
    """
    asked = plan.asked
    if not isinstance(examples, Path):
        is_file = isinstance(examples, str)
        examples = Path(examples) if is_file else rows_of(examples, "examples")
    rows = changed_by(rows_of(responses), asked.stage)
    matched = match(asked, rows, "the part", lambda *_: None, given=examples)
    policies = asked.options.policies
    if reasons := matched.alignment.refusal(policies):
        raise DataError(f"the responses of a part were refused: {'; '.join(reasons)}")
    kinds = plan.context.answer_kind, matched.examples.answer_kind
    if kinds == ("one", "any-of"):
        raise DataError(
            "a part has an example with several answers, but the data of the plan has "
            "none. Plan with data that has one"
        )
    if kinds == ("any-of", "one"):
        frame = matched.examples.frame.with_columns(answer=pl.concat_list("answer"))
        widened = matched.examples._replace(frame=frame, answer_kind="any-of")
        matched = matched._replace(examples=widened)
    return tally_part(plan, matched, cross_examples(asked, matched))


def tally_part(
    plan: PartitionPlan,
    matched: Prepared,
    crossed: Mapping[str, pl.Series],
    outcomes: dict[str, Outcomes] | None = None,
    is_clustered: bool = False,
) -> Tallies:
    """Score a part that is matched; `outcomes` is filled as by `tally_table`."""
    examples, statuses = matched.examples.frame, matched.alignment.statuses
    table = scoring_table(*matched[:2])._replace(context=plan.context, is_part=True)
    if is_clustered:
        table = table._replace(clusters=examples["cluster"])
    status = pl.lit(statuses.cast(pl.String))
    is_counted = status.is_in(list(plan.asked.options.policies.counted))
    left_out = pl.select(pl.when(~is_counted).then(status)).to_series()
    metrics = plan.asked.metrics
    return tally_table(metrics, table, left_out, examples["tags"], crossed, outcomes)


def finalize(plan: PartitionPlan, tallies: Tallies) -> Result:
    """Turn the tallies of a whole dataset into scores.

    Args:
        plan: What they were scored by.
        tallies: The sum of the tallies of all parts.

    Returns:
        The scores that `evaluate` gives of the whole, intervals included, without
        examples and without a run to save.
    """
    asked, settings = plan.asked, plan.asked.options.settings
    scored = finalize_all(plan, tallies)
    record = RunRecord(
        status="complete",
        dataset=asked.dataset.name,
        task=asked.task.component.name,
        split=asked.split,
        headline_aggregate=asked.dataset.aggregate,
        answer_kind=plan.context.answer_kind,
        replications=tallies.replications,
        labels=plan.context.labels and tuple(plan.context.labels),
        confidence=settings.confidence,
        seed=settings.seed,
        min_n=settings.fewest,
    )
    nothing = pl.DataFrame(schema={"id": pl.String, "replication": pl.String})
    empty = Result(record, (), (), nothing)
    result = add_scores(empty, scored, group_sizes(tallies), asked.metrics)
    result.examples = None
    return result


def finalize_all(plan: PartitionPlan, tallies: Tallies) -> list[MetricScores]:
    """Turn the tallies of all metrics into scores."""
    shared, settings = SharedPairs(), plan.asked.options.settings
    return [
        finalize_metric(metric, plan.context, tallies, settings, shared=shared)
        for whole in plan.asked.metrics
        for metric in whole.parts()
    ]


def group_sizes(tallies: Tallies) -> GroupSizes:
    """Count the answers of the examples of each group."""
    sets = tallies.tag_sets
    sizes: Sequence[int] = [0] * len(sets.texts)
    known = [own.tally for own in tallies.metrics.values() if own.tally is not None]
    if known:
        entries, groups = known[0].entries, sets.groups
        of_sets = np.bincount(entries.tag_set, entries.times, minlength=len(sets))
        answers = of_sets[groups.owners()] * max(1, len(tallies.replications))
        counted = np.bincount(groups.items, answers, minlength=len(sizes))
        sizes = counted.astype(np.int64).tolist()
    return GroupSizes(sets.texts, sizes)
