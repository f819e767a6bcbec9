"""The steps of an evaluation, each from one value to the next."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from evalkit.base.copies import COPY_COLUMNS, TAGS
from evalkit.base.ids import RESPONSES_KEY
from evalkit.base.progress import Progress
from evalkit.base.wording import count_of
from evalkit.errors import DataError, EvalkitError, MetricError
from evalkit.examples.clusters import clustered_by
from evalkit.examples.files import bind_dataset
from evalkit.examples.kept import keeping
from evalkit.examples.table import Examples
from evalkit.plugins.bound import BoundDataset, BoundMetric, BoundTask
from evalkit.plugins.importing import find_owner, require_owner
from evalkit.plugins.observers import Observers
from evalkit.plugins.provenance import metric_resources
from evalkit.plugins.registry import Registry
from evalkit.plugins.resolver import Resolver
from evalkit.predictions.alignment import Alignment
from evalkit.predictions.column_stages import BoundColumns, ColumnStage
from evalkit.predictions.preparation import Predictions, Prepared, prepare
from evalkit.predictions.row_sources import bind_rows
from evalkit.predictions.table import prediction_column, scoring_table
from evalkit.runs.options import EvaluationOptions
from evalkit.runs.recording import Asked, Parts
from evalkit.runs.results import Result
from evalkit.runs.score_columns import Score
from evalkit.runs.scores import own_scores
from evalkit.runs.stored import examples_of
from evalkit.runs.tables import replication_column
from evalkit.runs.withholding import names_of_answers, refuse_facets_of_answers
from evalkit.scoring.baselines import Baselines, compute_baselines
from evalkit.scoring.grouping import Groups, Whole, cross, group_by_tag
from evalkit.scoring.measurement import Measured, measure
from evalkit.scoring.records import MetricScores
from evalkit.scoring.table import ScoringTable


def chosen_engine(engine: Any, registry: Registry | None) -> Any:
    """Return an engine that is given, or named with its parameters."""
    if not isinstance(engine, str):
        return engine
    return (registry or Registry()).load("engines", engine).plugin


def bind_data(
    dataset: Any,
    task: Any,
    predictions: Any,
    options: EvaluationOptions,
    resolver: Resolver,
    watchers: Observers,
) -> Asked:
    """Find data and task, with all that rows go through, and no metric."""
    registry = resolver.registry
    bound = bind_dataset(resolver, dataset, task, options.rows)
    bound = clustered_by(bound, options.cluster)
    bound = keeping(bound, options.keep, options.include_examples)
    bound_task = resolver.task(bound)
    bound, stage, answers = bind_rows(
        bound, bound_task, options.rows, predictions, registry
    )
    facets = {} if options.rows is None else options.rows.facets
    return Asked(
        *(bound, bound_task, [], watchers, options, registry),
        stage=stage,
        answers=answers,
        facets=facets,
    )


def bind(
    dataset: Any,
    task: Any,
    predictions: Any,
    options: EvaluationOptions,
    registry: Registry,
    watchers: Observers,
) -> Asked:
    """Find the plugins that are named, and load them."""
    resolver = Resolver(registry)
    asked = bind_data(dataset, task, predictions, options, resolver, watchers)
    named = options.metrics
    stage = _column_stage(asked.task, options)
    of_stage = [] if stage is None else stage.metrics(resolver)
    metrics = resolver.metrics(
        asked.dataset,
        asked.task,
        [named] if isinstance(named, str) else named,
        [*options.extra_metrics, *of_stage],
        options.perf_metric,
    )
    for metric in metrics:
        # before anything is computed: what cannot be named is no surprise at the end
        metric_resources(metric)
    computed = _bind_columns(stage, resolver, asked.task, metrics)
    return replace(asked, metrics=metrics, computed_columns=computed)


def _column_stage(task: BoundTask, options: EvaluationOptions) -> ColumnStage | None:
    """Return the user's column stage, with what the task declares where it is meant."""
    stage = options.columns
    if options.metrics is not None or not task.annotators:  # not the user's own
        return stage
    owner = require_owner(task.component, "annotators")
    found: ColumnStage = owner(task.annotators, stage)
    return found


def _bind_columns(
    stage: ColumnStage | None,
    resolver: Resolver,
    task: BoundTask,
    metrics: Sequence[BoundMetric],
) -> BoundColumns | None:
    """Find what computes the columns that metrics ask for."""
    known = {*task.scored_fields, *task.Input.model_fields, RESPONSES_KEY}
    columns = [name for metric in metrics for name in metric.absent_columns(known)]
    owner = find_owner("metrics", "columns") if columns else None
    if owner is not None:
        stage = owner(columns, stage)
    return None if stage is None else stage.bind(resolver, metrics, known)


def add_columns(
    asked: Asked, prepared: Prepared, progress: Progress, engine: Any = None
) -> Prepared:
    """Add the computed columns to the responses."""
    stage, jobs = asked.computed_columns, asked.options.settings.jobs
    if stage is None:
        return prepared

    def told(text: str) -> None:
        progress(text, 0.38)

    given = prepared.examples, prepared.alignment, jobs, told, engine
    alignment = stage.compute(*given)
    for computed in alignment.computed:
        asked.watchers.warnings += computed.warnings
    return prepared._replace(alignment=alignment)


def match(
    asked: Asked,
    predictions: Predictions,
    model: str,
    progress: Progress,
    *,
    needs_all: bool = False,
    given: Any = None,
) -> Prepared:
    """Load the examples and match the predictions with them.

    With `needs_all` the ids of all examples are there, also of those that are not
    selected, and their tags as they are stored. `given` are examples in place of those
    of the dataset.
    """
    needed = asked.columns
    if needed is not None:
        needed |= {*COPY_COLUMNS, *([TAGS] * needs_all)}
    return prepare(
        asked.dataset,
        asked.task,
        predictions,
        asked.split,
        asked.options.selection,
        asked.options.policies.on_duplicate,
        model,
        asked.watchers,
        progress,
        needed,
        # whoever groups by the answer or the prediction means those that are scored
        asked.fields | (asked.crossed - {"answer", "pred"}),
        needs_all=needs_all,
        answers=asked.answers,
        given=given,
    )


def group(asked: Asked, prepared: Prepared) -> Parts:
    """Group the examples by tags and crossings."""
    crossed = cross_examples(asked, prepared)
    tags = prepared.examples.frame["tags"]
    return Parts(asked, prepared, group_by_tag(tags, crossed), crossed)


def score(parts: Parts, model: str, progress: Progress) -> Parts:
    """Compute all metrics and the baselines."""
    asked, (examples, alignment) = parts.asked, parts.prepared[:2]
    asked.tell("before_scoring", model=model, metrics=asked.metric_names)
    everything = scoring_table(examples, alignment, parts.prepared.job)
    counted = alignment.statuses.is_in(list(asked.options.policies.counted))
    assert isinstance(parts.groups, Groups)
    measured = Measured(everything, counted, parts.groups)
    scored = measure(
        asked.metrics,
        measured,
        asked.options.settings,
        lambda text, share: progress(text, 0.4 + 0.5 * share),
    )
    scored += _own_scores(asked.dataset, examples, alignment, parts.groups)
    baselines = _baselines(scored[0].metric, measured.table)
    return parts._replace(scored=scored, baselines=baselines)


def columns_to_cross(examples: Examples, alignment: Alignment) -> dict[str, pl.Series]:
    """Return the columns of examples and responses that they can be grouped by."""
    columns = {column.name: column for column in examples.inputs.get_columns()}
    columns |= alignment.fields
    columns["answer"] = examples.frame["answer"]
    columns["pred"] = prediction_column(examples, alignment.predictions)
    return columns


def cross_examples(
    asked: Asked, prepared: Prepared, whole: Whole | None = None
) -> dict[str, pl.Series]:
    """Return the crossings of examples; `whole` is known where they are some of all."""
    options, (examples, alignment) = asked.options, prepared[:2]
    if not options.include_examples:
        refuse_facets_of_answers(asked.facets, examples.frame)
    by_answer = asked.crossed & {"pred", *alignment.fields}
    if alignment.replications and by_answer:
        raise EvalkitError(
            f"--by {min(by_answer)}: each example has {len(alignment.replications)} "
            "answers, and is in one group. Group by what the data say"
        )
    columns = columns_to_cross(examples, alignment)
    tags, others = examples.frame["tags"], examples.data_columns
    withheld = () if options.include_examples else names_of_answers(columns, alignment)
    return cross(options.crossings, tags, columns, others, withheld, whole)


def _baselines(metric: BoundMetric, table: ScoringTable) -> Baselines | None:
    try:
        return compute_baselines(metric, table)
    except MetricError:
        # the headline metric's own failure is reported with its scores
        return None


def _own_scores(
    dataset: BoundDataset, examples: Examples, alignment: Alignment, groups: Groups
) -> list[MetricScores]:
    """Ask a data set that scores itself."""
    if not dataset.has("evaluate"):
        return []
    fields: Iterable[pl.Series] = alignment.fields.values()
    frame = examples.frame.drop("cluster").with_columns(
        prediction_column(examples, alignment.predictions).alias("pred"), *fields
    )
    return own_scores(dataset, frame.filter(alignment.statuses == "scored"), groups)


AGAINST = "against"
"""The field that holds the other answer."""


def beside(run: Result | None, prepared: Prepared) -> Prepared:
    """Put the answers of a run of the same data beside the responses, as a field."""
    if run is None:
        return prepared
    examples, alignment = prepared.examples, prepared.alignment
    where = f"--against: the run {run.run_id}"
    if not run.record.includes_examples:
        raise DataError(f"{where} holds no answers, as it was made with --no-examples")
    if AGAINST in {*alignment.fields, *examples.data_columns}:
        raise DataError(
            f"{where}: data or responses have a field {AGAINST!r}; rename it"
        )
    replications = replication_column(alignment, examples.frame.height)
    ours = examples.frame.select("id", "answer").with_columns(replication=replications)
    theirs = examples_of(run).select("id", "replication", "pred", right="answer")
    keys = ["id", "replication"] if run.record.replications else ["id"]
    theirs = theirs.with_columns(pl.lit(True).alias("known"))
    joined = ours.join(theirs, keys, "left", nulls_equal=True, maintain_order="left")
    right = zip(joined["answer"].to_list(), joined["right"].to_list(), strict=True)
    is_same = pl.Series([a == b for a, b in right], dtype=pl.Boolean)
    wrong = joined.filter(~is_same | joined["known"].is_null())
    if wrong.height:
        count = count_of(wrong.height, "answer")
        raise DataError(
            f"{where} is of other data: it lacks {count} of {joined.height}, or "
            f"another one is right, as of {wrong['id'][0]!r}"
        )
    fields = {**alignment.fields, AGAINST: joined["pred"].alias(AGAINST)}
    return prepared._replace(alignment=alignment._replace(fields=fields))


def announce(
    result: Result, scores: Sequence[Score], refused: Sequence[str], watchers: Observers
) -> None:
    """Tell the observers what came of an evaluation."""
    if not watchers:
        return
    record = result.to_dict()
    facts = {"dataset": result.dataset, "model": result.model}
    if refused:
        watchers.tell("after_refusal", reasons=refused, record=record, **facts)
    else:
        told = {
            "scores": [each._asdict() for each in scores],
            "overall": [each._asdict() for each in scores if each.is_whole],
            "groups": [each._asdict() for each in scores if not each.is_whole],
        }
        watchers.tell("after_scoring", **told, **facts)
    watchers.tell("after_result", record=record)
    result.record_warnings(watchers.warnings)


def write(result: Result, out: str | Path, watchers: Observers) -> None:
    """Write the run, and tell the observers."""
    record = result.to_dict() if watchers else {}
    watchers.tell("before_writing", run_id=result.run_id, record=record)
    result.record_warnings(watchers.warnings)
    result.save(out)
    if watchers:
        record = result.to_dict()
    path = str(result.path)
    watchers.tell("after_writing", run_id=result.run_id, path=path, record=record)
    result.record_warnings(watchers.warnings)
