"""Puts together what an evaluation records: inputs, counts, scores, problems."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import polars as pl

from evalkit.base.columns import frame_of
from evalkit.base.wording import count_of
from evalkit.examples.clusters import cluster_names
from evalkit.examples.copy_columns import kept_columns
from evalkit.examples.kept import kept_notices
from evalkit.examples.row_stages import RowStage
from evalkit.plugins.bound import Bound, BoundDataset, BoundMetric, BoundTask
from evalkit.plugins.observers import Observers
from evalkit.plugins.provenance import (
    describe_component,
    describe_core,
    environment,
    run_id_of,
)
from evalkit.plugins.registry import Registry
from evalkit.predictions.answer_readers import AnswerReader
from evalkit.predictions.column_stages import BoundColumns
from evalkit.predictions.preparation import Prepared
from evalkit.predictions.problems import Problems
from evalkit.predictions.table import prediction_column
from evalkit.runs import recorded
from evalkit.runs.accounts import alignment_notices, job_notices
from evalkit.runs.options import EvaluationOptions
from evalkit.runs.record import FORMAT_VERSION, RunRecord
from evalkit.runs.results import Result
from evalkit.runs.scores import GroupSizes, bounds_of, headline_name, to_scores
from evalkit.runs.tables import (
    CHOICES,
    CROSSING,
    KEPT,
    as_kept,
    detail_tables,
    join_details,
    record_columns,
    record_extraction,
    replication_column,
    saved_statistics,
    unscored_counts,
    unscored_problems,
    with_example_scores,
)
from evalkit.runs.withholding import withhold_problem, withhold_reasons, withhold_text
from evalkit.scoring.baselines import Baselines
from evalkit.scoring.grouping import Groups
from evalkit.scoring.records import NOTHING_SCORED, MetricScores, notices_of
from evalkit.scoring.table import ListsGiven


@dataclass(frozen=True)
class Asked:
    """The plugins of an evaluation, and how it is done."""

    dataset: BoundDataset
    task: BoundTask
    metrics: list[BoundMetric]
    watchers: Observers
    options: EvaluationOptions
    registry: Registry
    computed_columns: BoundColumns | None = None
    stage: RowStage | None = None
    """What predictions go through before they are checked."""
    facets: Mapping[str, str] = field(default_factory=dict)
    """The columns that a user made facets of, by the name of the facet."""
    answers: AnswerReader | None = None
    """What takes the answers out of the texts of predictions."""

    @property
    def split(self) -> str:
        """The split that is evaluated."""
        return self.options.split or self.dataset.default_split

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
        """The columns of the data that are read; None for all, as without metrics."""
        if self.dataset.has("evaluate") or not self.metrics:
            return None
        return self.fields | self.crossed

    @property
    def crossed(self) -> set[str]:
        """The facets and columns that a user groups by."""
        return {name for names in self.options.crossings.values() for name in names}

    def tell(self, event: str, **facts: Any) -> None:
        """Tell the observers what happens to the data set."""
        self.watchers.tell(event, dataset=self.dataset.name, **facts)


class Parts(NamedTuple):
    """What the steps of an evaluation gave."""

    asked: Asked
    prepared: Prepared
    groups: Groups | GroupSizes
    crossed: Mapping[str, pl.Series]
    """The groups of each example in every crossing."""
    scored: Sequence[MetricScores] = ()
    baselines: Baselines | None = None
    perturbation: recorded.Perturbation | None = None
    """What made the examples, where they are perturbed."""
    original: str | None = None
    """Id of the run of their originals."""
    further: Sequence[Bound] = ()
    """Plugins that the run depends on beside those of the evaluation."""


def make_result(parts: Parts, model: str, refused: Sequence[str]) -> Result:
    """Put together the result of an evaluation, which may be refused."""
    asked, keeps_all = parts.asked, parts.asked.options.include_examples
    details = _detail_tables(parts)
    result = add_scores(
        Result(
            _record(parts, model, details, is_refused=bool(refused)),
            (),
            parts.prepared.alignment.problems,
            _examples_frame(parts),
            column_details=details if keeps_all else {},
        ),
        parts.scored,
        parts.groups,
        asked.metrics,
    )
    if not keeps_all:
        declared = {"id", *asked.task.Output.model_fields}
        result.problems = result.problems.changed(
            lambda problem: withhold_problem(problem, declared)
        )
    return result


def add_scores(
    result: Result,
    scored: Sequence[MetricScores],
    groups: Groups | GroupSizes,
    metrics: Sequence[BoundMetric],
) -> Result:
    """Return a result with what metrics computed of its examples beside its scores."""
    record, examples = result.record, result.examples
    assert examples is not None
    errors = [found.error for found in scored if found.error]
    notices = notices_of(scored)
    scores = to_scores(scored, groups, record.split)
    if record.perturbation is not None:
        name = record.perturbation.name
        scores = [score._replace(perturbation=name) for score in scores]
    if not record.includes_examples:
        errors = [withhold_text(text) for text in errors]
        notices = [withhold_text(text) for text in notices]
        scores = withhold_reasons(scores)
    left = unscored_counts(scored)
    errors = [*record.errors, *errors]
    is_partial = (errors or left) and record.status == "complete"
    problems = result.problems
    if further := [*unscored_problems(examples, scored)]:
        problems = Problems([*problems, *further])
    return Result(
        record.changed(
            status="partial" if is_partial else record.status,
            headline=record.headline if result.scores else headline_name(scored),
            bounds={**record.bounds, **bounds_of(metrics)},
            errors=tuple(errors),
            notices=(*record.notices, *notices),
            not_scored={**record.not_scored, **left},
        ),
        [*result.scores, *scores],
        problems,
        with_example_scores(examples, scored),
        result.statistics | saved_statistics(scored, record.includes_examples),
        result.column_details,
    )


def _detail_tables(parts: Parts) -> dict[str, pl.DataFrame]:
    """Return the details of computed columns, by the name of what computed them."""
    ids, alignment = parts.prepared.examples.frame["id"], parts.prepared.alignment
    replications = replication_column(alignment, len(ids))
    return join_details(detail_tables(alignment.computed, ids, replications))


def _record(
    parts: Parts, model: str, details: Mapping[str, pl.DataFrame], *, is_refused: bool
) -> RunRecord:
    """Return what is recorded besides what metrics computed."""
    asked, (examples, alignment, given) = parts.asked, parts.prepared[:3]
    dataset, task, options = asked.dataset, asked.task, asked.options
    settings, keeps_all = options.settings, options.include_examples
    is_whole, scored = options.selection.is_whole, alignment.counts["scored"]
    against = options.against
    record = RunRecord(
        format=FORMAT_VERSION,
        status="refused" if is_refused else "complete" if is_whole else "partial",
        model=model,
        dataset=dataset.name,
        task=task.component.name,
        split=asked.split,
        headline_aggregate=dataset.aggregate,
        cluster=tuple(cluster_names(dataset)) if examples.clustered else (),
        baselines=_baselines(parts),
        counts=recorded.Counts(**alignment.counts),
        unparsed=alignment.unparsed if keeps_all else {},
        errors=() if is_refused or scored else (NOTHING_SCORED,),
        notices=tuple(_notices(parts)),
        warnings=tuple(asked.watchers.warnings),
        answer_kind=examples.answer_kind,
        replications=tuple(alignment.replications),
        input_keys=task.sent_keys,
        delta_metrics=tuple(task.delta_metrics),
        labels=examples.labels and tuple(examples.labels),
        confidence=settings.confidence,
        seed=settings.seed,
        min_n=settings.fewest,
        by=tuple(options.crossings),
        parent=None,
        merged=(),
        policies=recorded.Policies(**options.policies._asdict()),
        selection=recorded.Selection(**options.selection.to_dict()),
        includes_examples=keeps_all,
        kept=examples.kept,
        data=_data(parts),
        predictions=recorded.Predictions.model_validate({"adapters": [], **given}),
        extraction=record_extraction(asked.answers, alignment.extracted),
        components=_components(parts),
        columns=record_columns(alignment.computed, details, keeps_all),
        against=None if against is None else against.fingerprint,
        core=recorded_core(),
        environment=environment(),
        perturbation=parts.perturbation,
        original=parts.original,
        perturbed_runs=(),
    )
    return record.changed(fingerprint=fingerprint_of(record))


_DESCRIBED = (
    *("version", "license", "citation", "content_warning", "description"),
    *("languages", "tags", "round_id", "changes"),
)
"""Attributes of a data set that are recorded as they are."""


def _data(parts: Parts) -> recorded.Data:
    dataset, identity = parts.asked.dataset, parts.prepared.examples.identity
    hashes = ("sha256", "files", "rows_sha256", "attached_sha256", "limit")
    stage: RowStage | None = dataset.pipeline
    return recorded.Data.model_validate(
        {
            **{name: getattr(identity, name) for name in hashes},
            **{name: getattr(dataset, name) for name in _DESCRIBED},
            "source_url": dataset.source_url or identity.permanent,
            "adapters": [] if stage is None else stage.specification,
        }
    )


def _baselines(parts: Parts) -> recorded.Baselines | None:
    """Return the baselines, without a label that only the answers tell."""
    if parts.baselines is None:
        return None
    found = parts.baselines
    asked, examples = parts.asked, parts.prepared.examples
    if not asked.options.include_examples and examples.labels is None:
        found = found._replace(majority_label=None)
    return recorded.Baselines(**found._asdict())


def _components(parts: Parts) -> tuple[recorded.Component, ...]:
    asked, prepared = parts.asked, parts.prepared
    computing = [each.component for each in prepared.alignment.computed]
    bound: tuple[Bound, ...] = (asked.dataset, asked.task, *asked.metrics, *computing)
    changing = filter(None, (asked.dataset.pipeline, prepared.stage, prepared.answers))
    others = [component for each in changing for component in each.components]
    return tuple(map(recorded_component, (*bound, *others, *parts.further)))


def _notices(parts: Parts) -> list[str]:
    asked, (examples, alignment, given) = parts.asked, parts.prepared[:3]
    options, counts = asked.options, alignment.counts
    notices = [*examples.notices, *kept_notices(examples.kept, asked.dataset.keep)]
    if not options.selection.is_whole:
        number = count_of(counts["examples"], "example")
        notices.append(f"only {number} evaluated: {options.selection.describe()}")
    lists = ListsGiven.among(
        *(alignment.predictions, examples.answer_kind, examples.frame["id"]),
        show=options.include_examples,
    )
    notices += [str(lists)] if lists else []
    if not options.include_examples:
        alignment = alignment._replace(undeclared=Counter(), unparsed={})
    name = asked.task.component.name
    notices += alignment_notices(alignment, options.policies, name)
    return [*notices, *job_notices(given, counts)]


def _examples_frame(parts: Parts) -> pl.DataFrame:
    examples, alignment = parts.prepared[:2]
    keeps_all = parts.asked.options.include_examples
    columns = [
        examples.frame["id"],
        *kept_columns(examples, alignment.fields, keeps_all),
        replication_column(alignment, examples.frame.height),
    ]
    if keeps_all:
        if examples.choices is not None:
            columns.append(examples.choices.alias(CHOICES))
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
        *(lists.alias(f"{CROSSING}{name}") for name, lists in parts.crossed.items()),
        *(examples.inputs[name].alias(KEPT + name) for name in examples.kept),
    ]
    if keeps_all and alignment.extracted is not None:
        columns += as_kept(alignment.extracted)
    return frame_of(columns)


def recorded_component(bound: Bound) -> recorded.Component:
    """Return what a run records of a component that it uses."""
    return recorded.Component.model_validate(describe_component(bound))


def recorded_core() -> recorded.Core:
    """Return what a run records of what computes its numbers."""
    return recorded.Core.model_validate(describe_core())


_INPUTS = {
    *("format", "model", "dataset", "split", "policies", "selection", "by", "cluster"),
    *("confidence", "seed", "min_n", "includes_examples", "core"),
    *("against", "original", "parent", "merged"),
}
"""Fields that are inputs as they are recorded."""


def fingerprint_of(record: RunRecord) -> str:
    """Return the fingerprint of a run: evaluated, scored again or merged."""
    given, perturbation = record.predictions, record.perturbation
    return run_id_of(
        {
            **record.model_dump(include=_INPUTS),
            "data": [record.data.identity.key, *_dumped(record.data.adapters)],
            "kept": sorted(record.kept),
            "predictions": [given.sha256, *_dumped(given.adapters)],
            # what was asked is the same in any file, whatever it took
            "name": None if given.system else given.name,
            "job": None if given.system or not given.job else given.job.sha256,
            "system": given.system and given.system.sha256,
            "extract": _dumped(record.extraction.stages if record.extraction else ()),
            "components": _dumped(record.components),
            "perturbation": perturbation and perturbation.name,
        }
    )


def _dumped(parts: Iterable[recorded.Part]) -> list[dict[str, Any]]:
    return [part.model_dump(exclude={"read_from"}) for part in parts]
