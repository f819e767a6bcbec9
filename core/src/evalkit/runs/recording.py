"""Puts together what an evaluation records: inputs, counts, scores, problems."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from evalkit.base.columns import frame_of
from evalkit.base.wording import count_of
from evalkit.examples.clusters import cluster_names
from evalkit.examples.copy_columns import kept_columns
from evalkit.examples.kept import kept_notices
from evalkit.examples.row_stages import RowStage
from evalkit.examples.selection import Selection
from evalkit.examples.table import Examples
from evalkit.plugins.bound import Bound, BoundDataset, BoundMetric, BoundTask
from evalkit.plugins.provenance import describe_component, describe_core, environment
from evalkit.predictions.alignment import Alignment, Policies
from evalkit.predictions.answer_readers import AnswerReader
from evalkit.predictions.problems import Problems
from evalkit.predictions.table import prediction_column
from evalkit.runs import recorded
from evalkit.runs.accounts import alignment_notices
from evalkit.runs.column_tables import detail_tables, join_details, record_columns
from evalkit.runs.extractions import as_kept, record_extraction
from evalkit.runs.identity import evaluation_fingerprint
from evalkit.runs.jobs import job_notices
from evalkit.runs.record import FORMAT_VERSION, RunRecord
from evalkit.runs.results import Result
from evalkit.runs.scores import bounds_of, headline_name, to_scores
from evalkit.runs.tables import (
    CHOICES,
    KEPT,
    replication_column,
    saved_statistics,
    with_example_scores,
)
from evalkit.runs.unscored import unscored_counts, unscored_problems
from evalkit.runs.withholding import withhold_problem, withhold_reasons, withhold_text
from evalkit.scoring.baselines import Baselines
from evalkit.scoring.grouping import Groups
from evalkit.scoring.records import MetricScores, ScoringSettings, notices_of
from evalkit.scoring.table import list_notices
from evalkit.scoring.unscored import NOTHING_SCORED
from evalkit.statistics.intervals import INTERVAL_RULES


class Options(NamedTuple):
    """How an evaluation is done."""

    split: str
    policies: Policies
    settings: ScoringSettings
    include_examples: bool
    selection: Selection = Selection()
    crossings: Mapping[str, Sequence[str]] = {}
    against: str | None = None


class Parts(NamedTuple):
    """What the steps of an evaluation gave."""

    dataset: BoundDataset
    task: BoundTask
    metrics: list[BoundMetric]
    examples: Examples
    alignment: Alignment
    groups: Groups
    scored: list[MetricScores]
    baselines: Baselines | None
    crossed: Mapping[str, pl.Series] = {}
    """The groups of each example in every crossing."""
    perturbation: recorded.Perturbation | None = None
    """What made the examples, where they are perturbed."""
    original: str | None = None
    """Id of the run of their originals."""
    further: Sequence[Bound] = ()
    """Plugins that the run depends on beside those above."""
    stage: RowStage | None = None
    """What the predictions went through before they were checked."""
    answers: AnswerReader | None = None
    """What took the answers out of them after that."""


def make_result(
    parts: Parts,
    options: Options,
    given: Mapping[str, str | None],
    model: str,
    refused: Sequence[str],
    warnings: Sequence[str],
) -> Result:
    """Put together the result of an evaluation.

    Args:
        parts: What its steps gave.
        options: How it was done.
        given: Name and hash of the predictions.
        model: Name of the model.
        refused: Why it was refused; empty if it was not.
        warnings: What went wrong without changing a score.

    Returns:
        The result.
    """
    scores = to_scores(parts.scored, parts.groups, options.split)
    if parts.perturbation is not None:
        name = parts.perturbation.name
        scores = [score._replace(perturbation=name) for score in scores]
    record = _record(parts, options, given, model, bool(refused), warnings)
    problems, examples = parts.alignment.problems, _examples_frame(parts, options)
    if further := [*unscored_problems(examples, parts.scored)]:
        problems = Problems([*problems, *further])
    if not options.include_examples:
        declared = {"id", *parts.task.Output.model_fields}
        problems = problems.changed(lambda found: withhold_problem(found, declared))
        scores = withhold_reasons(scores)
    return Result(
        record,
        scores,
        problems,
        examples,
        saved_statistics(parts.scored, options.include_examples),
        _detail_tables(parts) if options.include_examples else {},
    )


def _detail_tables(parts: Parts) -> dict[str, pl.DataFrame]:
    """Return the details of computed columns, by the name of what computed them."""
    ids, alignment = parts.examples.frame["id"], parts.alignment
    replications = replication_column(alignment, len(ids))
    return join_details([*detail_tables(alignment.computed, ids, replications)])


def _record(
    parts: Parts,
    options: Options,
    given: Mapping[str, str | None],
    model: str,
    is_refused: bool,
    warnings: Sequence[str],
) -> RunRecord:
    components = _components(parts)
    notices = _notices(parts, options)
    notices += job_notices(given, parts.alignment.counts)
    failed = _failures(parts, options, is_refused)
    left = unscored_counts(parts.scored)
    is_partial = failed or left or not options.selection.is_whole
    examples, settings = parts.examples, options.settings
    computed = (parts.alignment.computed, _detail_tables(parts))
    record = RunRecord(
        format=FORMAT_VERSION,
        status="refused" if is_refused else "partial" if is_partial else "complete",
        model=model,
        dataset=parts.dataset.name,
        task=parts.task.component.name,
        split=options.split,
        headline=None if is_refused else headline_name(parts.scored),
        headline_aggregate=parts.dataset.aggregate,
        bounds=bounds_of(parts.metrics),
        cluster=tuple(cluster_names(parts.dataset)) if examples.clustered else (),
        baselines=_baselines(parts, options),
        counts=recorded.Counts(**parts.alignment.counts),
        unparsed=parts.alignment.unparsed if options.include_examples else {},
        errors=tuple(failed),
        notices=tuple(notices),
        warnings=tuple(warnings),
        not_scored=left,
        answer_kind=examples.answer_kind,
        replications=tuple(parts.alignment.replications),
        input_keys=parts.task.sent_keys,
        delta_metrics=tuple(parts.task.delta_metrics),
        labels=examples.labels and tuple(examples.labels),
        confidence=settings.confidence,
        interval_rules=INTERVAL_RULES,
        seed=settings.seed,
        min_n=settings.fewest,
        by=tuple(options.crossings),
        parent=None,
        merged=(),
        policies=recorded.Policies(**options.policies._asdict()),
        selection=recorded.Selection(**options.selection.to_dict()),
        includes_examples=options.include_examples,
        kept=examples.kept,
        data=_data(parts),
        predictions=recorded.Predictions.model_validate({"adapters": [], **given}),
        extraction=record_extraction(parts.answers, parts.alignment.extracted),
        components=components,
        columns=record_columns(*computed, options.include_examples),
        against=options.against,
        core=recorded_core(),
        environment=environment(),
        perturbation=parts.perturbation,
        original=parts.original,
        perturbed_runs=(),
    )
    chosen_cluster = parts.dataset.chosen_cluster
    return record.changed(fingerprint=evaluation_fingerprint(record, chosen_cluster))


def _failures(parts: Parts, options: Options, is_refused: bool) -> list[str]:
    """Say why metrics failed, without texts of the data where none are kept."""
    failed = [scored.error for scored in parts.scored if scored.error]
    if not is_refused and not parts.alignment.counts["scored"]:
        failed.append(NOTHING_SCORED)
    if options.include_examples:
        return failed
    return [str(withhold_text(text)) for text in failed]


def _data(parts: Parts) -> recorded.Data:
    dataset, identity = parts.dataset, parts.examples.identity
    return recorded.Data(
        sha256=identity.sha256,
        files=tuple(map(recorded.File.model_validate, identity.files)),
        rows_sha256=identity.rows_sha256,
        attached_sha256=identity.attached_sha256,
        limit=identity.limit,
        version=dataset.version,
        license=dataset.license,
        source_url=dataset.source_url or identity.permanent,
        citation=dataset.citation,
        content_warning=dataset.content_warning,
        description=dataset.description,
        languages=tuple(dataset.languages),
        tags=tuple(dataset.tags),
        round_id=dataset.round_id,
        changes=dict(dataset.changes),
        adapters=tuple(map(recorded.Adapter.model_validate, _changes_of(dataset))),
    )


def _changes_of(dataset: BoundDataset) -> list[dict[str, Any]]:
    """Return what a run records of the components that changed rows of data."""
    stage: RowStage | None = dataset.pipeline
    return [] if stage is None else stage.specification


def _baselines(parts: Parts, options: Options) -> recorded.Baselines | None:
    """Return the baselines, without a label that only the answers tell."""
    if parts.baselines is None:
        return None
    found = parts.baselines
    if not options.include_examples and parts.examples.labels is None:
        found = found._replace(majority_label=None)
    return recorded.Baselines(**found._asdict())


def _components(parts: Parts) -> tuple[recorded.Component, ...]:
    computing = [each.component for each in parts.alignment.computed]
    bound: tuple[Bound, ...] = (parts.dataset, parts.task, *parts.metrics, *computing)
    changing = filter(None, (parts.dataset.pipeline, parts.stage, parts.answers))
    others = [component for each in changing for component in each.components]
    return tuple(map(recorded_component, (*bound, *others, *parts.further)))


def _notices(parts: Parts, options: Options) -> list[str]:
    alignment = parts.alignment
    notices = [*parts.examples.notices]
    notices += kept_notices(parts.examples.kept, parts.dataset.keep)
    if not options.selection.is_whole:
        examples = count_of(alignment.counts["examples"], "example")
        notices.append(f"only {examples} evaluated: {options.selection.describe()}")
    notices += list_notices(
        alignment.predictions,
        parts.examples.answer_kind,
        parts.examples.frame["id"],
        show=options.include_examples,
    )
    if not options.include_examples:
        alignment = alignment._replace(undeclared=Counter(), unparsed={})
    task = parts.task.component.name
    notices += alignment_notices(alignment, options.policies, task)
    of_metrics = notices_of(parts.scored)
    if not options.include_examples:
        of_metrics = [str(withhold_text(text)) for text in of_metrics]
    notices += of_metrics
    return notices


def _examples_frame(parts: Parts, options: Options) -> pl.DataFrame:
    examples, alignment = parts.examples, parts.alignment
    columns = [
        examples.frame["id"],
        *kept_columns(examples, alignment.fields, options.include_examples),
        replication_column(alignment, examples.frame.height),
    ]
    if examples.choices is not None and options.include_examples:
        columns.append(examples.choices.alias(CHOICES))
    if options.include_examples:
        columns += [
            examples.frame["answer"],
            prediction_column(examples, alignment.predictions).alias("pred"),
            *alignment.fields.values(),
        ]
    else:
        columns += [c for each in alignment.computed for c in each.columns.values()]
    columns += [
        examples.frame["tags"],
        examples.frame["cluster"],
        alignment.statuses,
        *(lists.alias(f"by {name}") for name, lists in parts.crossed.items()),
        *(examples.inputs[name].alias(KEPT + name) for name in examples.kept),
    ]
    if alignment.extracted is not None and options.include_examples:
        columns += as_kept(alignment.extracted)
    return with_example_scores(frame_of(columns), parts.scored)


def recorded_component(bound: Bound) -> recorded.Component:
    """Return what a run records of a component that it uses."""
    return recorded.Component.model_validate(describe_component(bound))


def recorded_core() -> recorded.Core:
    """Return what a run records of what computes its numbers."""
    return recorded.Core.model_validate(describe_core())
