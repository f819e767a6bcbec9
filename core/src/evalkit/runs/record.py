"""Puts together what a run records: inputs, counts, scores, problems."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from evalkit.base.columns import frame_of
from evalkit.base.wording import count_of
from evalkit.examples.clusters import cluster_names
from evalkit.examples.selection import Selection
from evalkit.examples.table import Examples
from evalkit.inference.intervals import INTERVAL_RULES
from evalkit.perturbing.columns import kept_columns
from evalkit.plugins.bound import BoundDataset, BoundMetric, BoundTask
from evalkit.plugins.libraries import without_libraries
from evalkit.plugins.observers import Observers
from evalkit.plugins.provenance import (
    describe_component,
    describe_core,
    environment,
    run_id_of,
)
from evalkit.predictions.alignment import Alignment, Policies
from evalkit.predictions.label_forms import label_notices
from evalkit.predictions.number_forms import number_notices
from evalkit.predictions.problems import Problem, Problems
from evalkit.predictions.table import prediction_column
from evalkit.runs.accounts import alignment_notices
from evalkit.runs.results import FORMAT_VERSION, Result, Score
from evalkit.runs.saved_tables import (
    replication_column,
    saved_statistics,
    with_example_scores,
)
from evalkit.runs.scores import bounds_of, headline_name, to_scores
from evalkit.runs.withholding import withhold_problem, withhold_reasons, withhold_text
from evalkit.scoring.baselines import Baselines
from evalkit.scoring.comparable_values import list_notices
from evalkit.scoring.grouping import Groups
from evalkit.scoring.records import MetricScores, ScoringSettings, notices_of
from evalkit.scoring.unscored import NOTHING_SCORED

NO_PERTURBATION: Mapping[str, Any] = {
    "weight": None,
    "perturbed": [],
    "perturbations": [],
}
"""What `run.json` holds of perturbed copies where there are none."""


class Options(NamedTuple):
    """How an evaluation is done."""

    split: str
    policies: Policies
    settings: ScoringSettings
    include_examples: bool
    selection: Selection = Selection()
    crossings: Mapping[str, Sequence[str]] = {}


class PerturbedRecord(NamedTuple):
    """What a run records of perturbed copies."""

    scores: Sequence[Score]
    errors: Sequence[str]
    """Why metrics failed on the copies."""
    inputs: Mapping[str, Any]
    """What the run's id is made of beside the rest."""
    record: Mapping[str, Any]
    """Further keys of `run.json`."""
    components: Sequence[Mapping[str, Any]]
    """The plugins of the perturbations."""
    notices: Sequence[str]
    problems: Sequence[Problem]
    """Rows and copies that were not scored; they name their file."""
    examples: pl.DataFrame
    """One row for each copy."""


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
    perturbed: PerturbedRecord | None = None


def make_result(
    parts: Parts,
    options: Options,
    given: Mapping[str, str | None],
    model: str,
    refused: Sequence[str],
    watchers: Observers,
) -> Result:
    """Put together the result of an evaluation.

    Args:
        parts: What its steps gave.
        options: How it was done.
        given: Name and hash of the predictions.
        model: Name of the model.
        refused: Why it was refused; empty if it was not.
        watchers: Told the scores.

    Returns:
        The result.
    """
    scores = to_scores(parts.scored, parts.groups, options.split)
    failed = [scored.error for scored in parts.scored if scored.error]
    perturbed = parts.perturbed
    if perturbed is not None:
        scores += perturbed.scores
        failed += perturbed.errors
    if not refused and not parts.alignment.counts["scored"]:
        failed.append(NOTHING_SCORED)
    if not options.include_examples:
        failed = [str(withhold_text(text)) for text in failed]
    is_partial = bool(failed) or not options.selection.is_whole
    status = "refused" if refused else "partial" if is_partial else "complete"
    watchers.tell(
        "after_scoring",
        dataset=parts.dataset.component.name,
        model=model,
        scores=[score._asdict() for score in scores],
    )
    components = _components(parts)
    inputs = _inputs(parts, options, given, model, components)
    record = {
        "format": FORMAT_VERSION,
        "run_id": run_id_of(inputs),
        "status": status,
        "model": model,
        "dataset": parts.dataset.component.name,
        "task": parts.task.component.name,
        "split": options.split,
        "headline": None if refused else headline_name(parts.scored),
        "headline_aggregate": parts.dataset.aggregate,
        "bounds": bounds_of(parts.metrics),
        "cluster": cluster_names(parts.dataset) if parts.examples.clustered else [],
        "baselines": _baselines(parts, options),
        "counts": parts.alignment.counts,
        "errors": failed,
        "notices": [
            *parts.examples.notices,
            *_notices(parts, options),
            *notices_of(parts.scored),
        ],
        "warnings": watchers.warnings,
        "answer_kind": parts.examples.answer_kind,
        "replications": list(parts.alignment.replications),
        "labels": parts.examples.labels and list(parts.examples.labels),
        "confidence": options.settings.confidence,
        "interval_rules": INTERVAL_RULES,
        "seed": options.settings.seed,
        "min_n": options.settings.fewest,
        "resample_lists": options.settings.resample_lists,
        "by": list(options.crossings),
        "parent": None,
        "merged": [],
        "repeat_of": None,
        "policies": options.policies._asdict(),
        "selection": options.selection.to_dict(),
        "includes_examples": options.include_examples,
        "data": {
            "sha256": parts.examples.fingerprint,
            "files": list(parts.examples.files),
            "version": parts.dataset.version,
            "license": parts.dataset.license,
            "source_url": parts.dataset.source_url,
            "citation": parts.dataset.citation,
            "content_warning": parts.dataset.content_warning,
        },
        "predictions": inputs["predictions"],
        "components": components,
        "core": inputs["core"],
        "environment": environment(),
        **NO_PERTURBATION,
    }
    problems = parts.alignment.problems
    if perturbed is not None:
        record |= perturbed.record
        record["notices"] = [*record["notices"], *perturbed.notices]
        if perturbed.problems:
            problems = Problems([*problems, *perturbed.problems])
    examples = _examples_frame(parts, options)
    if not options.include_examples:
        declared = {"id", *parts.task.Output.model_fields}
        problems = problems.changed(lambda found: withhold_problem(found, declared))
        scores = withhold_reasons(scores)
    statistics = saved_statistics(parts.scored, options.include_examples)
    copies = None if perturbed is None else perturbed.examples
    return Result(record, scores, problems, examples, statistics, copies)


def _inputs(
    parts: Parts,
    options: Options,
    given: Mapping[str, str | None],
    model: str,
    components: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:
    perturbed = parts.perturbed
    chosen = parts.dataset.chosen_cluster
    return {
        "format": FORMAT_VERSION,
        "data": parts.examples.fingerprint,
        "predictions": given,
        "split": options.split,
        "policies": options.policies._asdict(),
        "selection": options.selection.to_dict(),
        "confidence": options.settings.confidence,
        "seed": options.settings.seed,
        "min_n": options.settings.fewest,
        "resample_lists": options.settings.resample_lists,
        "by": list(options.crossings),
        "include_examples": options.include_examples,
        **({"cluster": chosen} if chosen else {}),
        "model": model,
        "metrics": [metric.name for metric in parts.metrics],
        "core": describe_core(),
        "components": [without_libraries(each) for each in components],
        **({} if perturbed is None else perturbed.inputs),
    }


def _baselines(parts: Parts, options: Options) -> dict[str, Any] | None:
    """Give the baselines, without a label that only the answers tell."""
    if parts.baselines is None:
        return None
    found = parts.baselines
    if not options.include_examples and parts.examples.labels is None:
        found = found._replace(majority_label=None)
    return found._asdict()


def _components(parts: Parts) -> list[Mapping[str, Any]]:
    bound = (parts.dataset, parts.task, *parts.metrics)
    of_copies = () if parts.perturbed is None else parts.perturbed.components
    return [*map(describe_component, bound), *of_copies]


def _notices(parts: Parts, options: Options) -> list[str]:
    alignment = parts.alignment
    notices = []
    if not options.selection.is_whole:
        examples = count_of(alignment.counts["examples"], "example")
        notices.append(f"only {examples} evaluated: {options.selection.describe()}")
    notices += label_notices(parts.examples, alignment, show=options.include_examples)
    notices += number_notices(
        parts.examples.frame["answer"],
        alignment.predictions,
        show=options.include_examples,
    )
    notices += list_notices(
        alignment.predictions,
        parts.examples.answer_kind,
        parts.examples.frame["id"],
        show=options.include_examples,
    )
    if not options.include_examples:
        alignment = alignment._replace(undeclared=Counter())
    task = parts.task.component.name
    return notices + alignment_notices(alignment, options.policies, task)


def _examples_frame(parts: Parts, options: Options) -> pl.DataFrame:
    examples, alignment = parts.examples, parts.alignment
    columns = [
        examples.frame["id"],
        *kept_columns(examples, alignment.fields, options.include_examples),
        replication_column(alignment, examples.frame.height),
    ]
    if options.include_examples:
        columns += [
            examples.frame["answer"],
            prediction_column(examples, alignment.predictions).alias("pred"),
            *alignment.fields.values(),
        ]
    columns += [
        examples.frame["tags"],
        examples.frame["cluster"],
        alignment.statuses,
        *(lists.alias(f"by {name}") for name, lists in parts.crossed.items()),
    ]
    return with_example_scores(frame_of(columns), parts.scored)
