"""The steps of an evaluation, each from one value to the next."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from evalkit.base.copies import COPY_COLUMNS, TAGS
from evalkit.base.ids import RESPONSES_KEY
from evalkit.base.jobs import Job
from evalkit.base.progress import Progress
from evalkit.errors import MetricError
from evalkit.examples.row_stages import RowStage
from evalkit.examples.table import Examples
from evalkit.plugins.bound import BoundDataset, BoundMetric, BoundTask
from evalkit.plugins.importing import find_owner, require_owner
from evalkit.plugins.observers import Observers
from evalkit.plugins.provenance import metric_resources
from evalkit.plugins.registry import Registry
from evalkit.plugins.resolver import Resolver
from evalkit.predictions.alignment import Alignment
from evalkit.predictions.answer_readers import AnswerReader
from evalkit.predictions.column_stages import BoundColumns, ColumnStage
from evalkit.predictions.preparation import (
    Predictions,
    Prepared,
    prepare,
)
from evalkit.predictions.table import prediction_column, scoring_table
from evalkit.runs.own_scores import own_scores
from evalkit.runs.recording import Options, Parts
from evalkit.runs.withholding import names_of_answers, refuse_facets_of_answers
from evalkit.scoring.baselines import Baselines, compute_baselines
from evalkit.scoring.crossings import cross
from evalkit.scoring.grouping import Groups, group_by_tag
from evalkit.scoring.measurement import Measured, measure
from evalkit.scoring.records import MetricScores
from evalkit.scoring.table import ScoringTable
from evalkit.workflows.binding import bind_data
from evalkit.workflows.options import EvaluationOptions


@dataclass(frozen=True)
class Asked:
    """The plugins of an evaluation, and how it is done."""

    dataset: BoundDataset
    task: BoundTask
    metrics: list[BoundMetric]
    watchers: Observers
    options: Options
    registry: Registry
    computed_columns: BoundColumns | None = None
    stage: RowStage | None = None
    """What predictions go through before they are checked."""
    facets: Mapping[str, str] = field(default_factory=dict)
    """The columns that a user made facets of, by the name of the facet."""
    answers: AnswerReader | None = None
    """What takes the answers out of the texts of predictions."""

    @property
    def metric_names(self) -> list[str]:
        """The metrics, as they are named in scores."""
        return [metric.name for metric in self.metrics]

    @property
    def fields(self) -> set[str]:
        """What metrics and the column stage read beside prediction and answer."""
        of_metrics = {name for each in self.metrics for name in each.columns}
        stage = self.computed_columns
        return of_metrics if stage is None else of_metrics | {*stage.reads}

    @property
    def columns(self) -> set[str] | None:
        """The columns of the data that scoring reads; None for all."""
        if self.dataset.has("evaluate"):
            return None
        return self.fields | self.crossed

    @property
    def crossed(self) -> set[str]:
        """The facets and columns that a user groups by."""
        crossings = self.options.crossings.values()
        return {name for names in crossings for name in names}

    def tell(self, event: str, **facts: Any) -> None:
        """Tell the observers what happens to the data set."""
        self.watchers.tell(event, dataset=self.dataset.name, **facts)


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
    data = bind_data(resolver, dataset, task, options, predictions)
    bound, bound_task, row_stage, answers = data
    named = options.metrics
    stage = _column_stage(bound_task, options)
    of_stage = [] if stage is None else stage.metrics(resolver)
    metrics = resolver.metrics(
        bound,
        bound_task,
        [named] if isinstance(named, str) else named,
        [*options.extra_metrics, *of_stage],
    )
    for metric in metrics:
        # before anything is computed: what cannot be named is no surprise at the end
        metric_resources(metric)
    return Asked(
        bound,
        bound_task,
        metrics,
        watchers,
        options.for_split(bound.default_split),
        registry,
        _bind_columns(stage, resolver, bound_task, metrics),
        row_stage,
        {} if options.rows is None else options.rows.facets,
        answers,
    )


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


def add_columns(asked: Asked, prepared: Prepared, progress: Progress) -> Prepared:
    """Add the computed columns to the responses."""
    stage, jobs = asked.computed_columns, asked.options.settings.jobs
    if stage is None:
        return prepared

    def told(text: str) -> None:
        progress(text, 0.38)

    alignment = stage.compute(prepared.examples, prepared.alignment, jobs, told)
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
) -> Prepared:
    """Load the examples and match the predictions with them.

    Args:
        asked: The plugins and options.
        predictions: A model's responses.
        model: Name of the model.
        progress: Told what is being done.
        needs_all: Whether later steps need the ids of all examples, also of those that
            are not selected, and their tags as they are stored.
    """
    needed = asked.columns
    if needed is not None:
        needed |= {*COPY_COLUMNS, *([TAGS] * needs_all)}
    return prepare(
        asked.dataset,
        asked.task,
        predictions,
        asked.options.split,
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
    )


def group(asked: Asked, prepared: Prepared) -> Parts:
    """Group the examples by tags and crossings."""
    examples, alignment = prepared.examples, prepared.alignment
    crossed = _crossed(asked.options, examples, alignment)
    if not asked.options.include_examples:
        refuse_facets_of_answers(asked.facets, examples.frame)
    return Parts(
        asked.dataset,
        asked.task,
        asked.metrics,
        examples,
        alignment,
        group_by_tag(examples.frame["tags"], crossed),
        [],
        None,
        crossed,
        stage=prepared.stage,
        answers=prepared.answers,
    )


def score(
    parts: Parts, options: Options, progress: Progress, job: Job | None = None
) -> Parts:
    """Compute all metrics and the baselines."""
    examples, alignment = parts.examples, parts.alignment
    everything = scoring_table(examples, alignment, job)
    counted = alignment.statuses.is_in(list(options.policies.counted))
    measured = Measured(everything, counted, parts.groups)
    scored = measure(
        parts.metrics,
        measured,
        options.settings,
        lambda text, share: progress(text, 0.4 + 0.5 * share),
    )
    scored += _own_scores(parts.dataset, examples, alignment, parts.groups)
    baselines = _baselines(scored[0].metric, measured.table)
    return parts._replace(scored=scored, baselines=baselines)


def _crossed(
    options: Options, examples: Examples, alignment: Alignment
) -> dict[str, pl.Series]:
    columns = {column.name: column for column in examples.inputs.get_columns()}
    columns |= alignment.fields
    columns["answer"] = examples.frame["answer"]
    columns["pred"] = prediction_column(examples, alignment.predictions)
    tags, others = examples.frame["tags"], examples.data_columns
    withheld = () if options.include_examples else names_of_answers(columns, alignment)
    return cross(options.crossings, tags, columns, others, withheld)


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
    scored = alignment.statuses == "scored"
    return own_scores(dataset, frame.filter(scored), groups)
