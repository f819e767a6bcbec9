"""The one module that knows the order of an evaluation's steps."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

import polars as pl

from evalkit.base.progress import Progress
from evalkit.errors import AlignmentError, EvalkitError, MetricError
from evalkit.examples.clusters import clustered_by
from evalkit.examples.files import bind_dataset, local_path
from evalkit.examples.selection import Selection
from evalkit.examples.table import Examples
from evalkit.inference.levels import check_confidence
from evalkit.perturbing.columns import COPY_COLUMNS
from evalkit.plugins.observers import Observers
from evalkit.plugins.registry import Bound, Registry
from evalkit.plugins.resolver import Resolver
from evalkit.predictions.alignment import (
    Alignment,
    OnDuplicate,
    OnProblem,
    Policies,
)
from evalkit.predictions.preparation import Predictions, default_model, prepare, rows_of
from evalkit.predictions.table import prediction_column, scoring_table
from evalkit.robustness.copies import TAGS, Originals
from evalkit.robustness.evaluation import (
    Perturbed,
    read_perturbed,
    score_perturbed,
)
from evalkit.robustness.inputs import Given, pair_sources
from evalkit.robustness.pairs import Weight
from evalkit.robustness.records import (
    perturbed_refusals,
    record_perturbed,
    refused_rows,
)
from evalkit.runs.accounts import refusal_message
from evalkit.runs.recording import Options, Parts, make_result
from evalkit.runs.results import Result
from evalkit.runs.scores import own_scores
from evalkit.scoring.baselines import Baselines, compute_baselines
from evalkit.scoring.crossings import cross, read_crossings
from evalkit.scoring.grouping import group_by_tag
from evalkit.scoring.measurement import Measured, measure
from evalkit.scoring.records import MetricScores, ScoringSettings
from evalkit.scoring.table import ScoringTable


def evaluate(
    dataset: Any,
    predictions: Predictions,
    *,
    model: str | None = None,
    metrics: Sequence[Any] | None = None,
    extra_metrics: Sequence[Any] = (),
    task: str | None = None,
    split: str | None = None,
    limit: int | None = None,
    filters: Mapping[str, str | Sequence[str]] | None = None,
    cluster: str | Sequence[str] = (),
    on_missing: OnProblem = "error",
    on_invalid: OnProblem = "error",
    on_duplicate: OnDuplicate = "error",
    by: Sequence[str] = (),
    min_n: int = 10,
    confidence: float = 0.95,
    seed: int = 0,
    resample_lists: bool = False,
    jobs: int = 1,
    perturbed: Given = (),
    perturbed_predictions: Given = (),
    weight: Weight = "original",
    out: str | Path | None = None,
    include_examples: bool = True,
    observers: Sequence[str] = (),
    registry: Registry | None = None,
    progress: Progress = lambda _text, _share: None,
) -> Result:
    """Score a model's predictions on a data set, for the whole set and every tag.

    Args:
        dataset: Name of an installed data set, a `Dataset` class or instance, or a
            file of examples, whose name holds `.` or `/`.
        predictions: A file (JSON lines, CSV, TSV, Parquet, Arrow, or plain lines in
            the data's order; gzip or Zstandard), or the responses themselves: dicts,
            or a polars, pandas or Arrow table.
        model: Name of the model; by default the file's stem.
        metrics: Metrics to compute, by name (`macro-f1:labels=declared`) or as
            functions, classes or instances; by default the data set's or the task's.
        extra_metrics: Metrics to compute beside them.
        task: Name of the task of a file of examples; nothing for a data set.
        split: Split of the data set; its default split by default.
        limit: Evaluate at most so many examples, the first ones.
        filters: Evaluate only examples that have one of these values, by column,
            facet, `tag` or `answer`.
        cluster: Column of the data, or several, whose values say which examples are
            not independent of each other, such as questions about one text; several
            columns stand for the combination of their values. Takes the place of the
            clusters that the data set declares. An example without a value
            (null or NaN) in one of them is a cluster of its own.
        on_missing: What happens when examples have no prediction: `error` refuses,
            `wrong` counts them as wrong, `skip` leaves them out and lowers coverage.
        on_invalid: The same for invalid predictions.
        on_duplicate: `error` refuses repeated ids, else the `first` or `last` counts.
        by: What examples are grouped by beside their tags: facets or columns of the
            data, `answer` or `pred`; several, joined by commas, are crossed.
        min_n: Examples below which a tag takes no part in a worst group, a gap or a
            ranking. Its scores are in the result all the same.
        confidence: Probability of the confidence intervals, between 0 and 1.
        seed: Seed of the bootstrap.
        resample_lists: Whether functions of lists get an interval however many
            examples there are.
        jobs: Processes that metrics written in Python may use; those that are given as
            objects, and quick ones, use only this process.
        perturbed: Files of perturbed copies of the examples, as `evalkit perturb`
            writes them, or tables of such rows; or runs of them (a result, a path, or
            the start of an id, a model or `latest`, which are looked for in `out`, or
            else in `runs`). Their effect on the scores is reported too
            (`docs/perturbations.md`).
        perturbed_predictions: The same model's predictions for each of the files, in
            their order; a run holds its own.
        weight: Whether each `original` counts the same under perturbation, or each
            `copy`.
        out: Folder to write the run to; nothing is written by default.
        include_examples: Whether the run folder holds answers, predictions and the
            values of rejected rows.
        observers: Names of observers to load.
        registry: Where plugins are found; all that are installed by default.
        progress: Told what is being done.

    Returns:
        The result; its status is `partial` where a metric failed or only some
        examples were evaluated.

    Raises:
        AlignmentError: The policies refuse the predictions; `error.result` holds
            counts and problems, and is written to `out` too. Or perturbed copies are
            not of this data.
        DataError: Data or predictions cannot be read.
        PluginError: A plugin is unknown or broken.
        StorageError: The run cannot be written.
    """
    check_confidence(confidence)
    crossings = read_crossings([by] if isinstance(by, str) else by)
    policies = Policies(on_missing, on_invalid, on_duplicate)
    policies.check()
    selection = Selection.of(limit, filters)
    predictions = rows_of(predictions)
    out = None if out is None else local_path(out)
    sources = pair_sources(perturbed, perturbed_predictions, out or "runs")
    if weight not in get_args(Weight):
        raise EvalkitError(f"weight must be original or copy, is {weight!r}")
    if isinstance(metrics, str):
        metrics = [metrics]
    started = time.time()
    resolver = Resolver(registry or Registry())
    bound = clustered_by(bind_dataset(resolver, dataset, task), cluster)
    bound_task = resolver.task(bound)
    options = Options(
        split or bound.attributes["default_split"],
        policies,
        ScoringSettings(confidence, seed, jobs, min_n, resample_lists),
        include_examples,
        selection,
        crossings,
    )
    chosen = resolver.metrics(bound, bound_task, metrics, extra_metrics)
    watchers = Observers(resolver.registry, observers)
    name = bound.component.name
    model = model or default_model(predictions)
    needed = None if bound.has("evaluate") else _columns(chosen, crossings)
    prepared = prepare(
        bound,
        bound_task,
        predictions,
        options.split,
        selection,
        on_duplicate,
        model,
        watchers,
        progress,
        None if needed is None else {*needed, *COPY_COLUMNS, *([TAGS] * bool(sources))},
    )
    examples, alignment, given, ids = prepared
    refused = alignment.refusal(options.policies)
    originals = Originals(bound, bound_task, options.split, ids, examples, model)
    copies = None
    if sources:
        progress("reading the perturbed copies", 0.35)
        copies = read_perturbed(
            sources,
            originals,
            alignment,
            on_duplicate,
            needed,
            weight,
            resolver.registry,
        )
        refused += perturbed_refusals(copies, policies)
    crossed = _crossed(crossings, examples, alignment)
    groups = group_by_tag(examples.frame["tags"], crossed)
    parts = Parts(
        bound, bound_task, chosen, examples, alignment, groups, [], None, crossed
    )
    if not refused:
        names = [metric.name for metric in chosen]
        watchers.tell("before_scoring", dataset=name, model=model, metrics=names)
        parts = _with_scores(parts, options, progress)
    if copies is not None:
        parts = _with_perturbed(parts, copies, options, progress, not refused)
    result = make_result(parts, options, given, model, refused, watchers)
    result.record_time(started, time.time() - started)
    if out is not None:
        progress("writing the run", 0.95)
        _save(result, out, watchers)
    if refused:
        further = refused_rows(copies) if copies is not None else []
        message = refusal_message(result, refused, alignment, further)
        raise AlignmentError(message, result)
    return result


def _save(result: Result, out: Path, watchers: Observers) -> None:
    """Write the run, and tell observers before and after."""
    watchers.tell("before_writing", run_id=result.run_id)
    result.record_warnings(watchers.warnings)
    result.save(out)
    watchers.tell("after_writing", run_id=result.run_id, path=str(result.path))
    result.record_warnings(watchers.warnings)


def _columns(
    metrics: Sequence[Bound], crossings: Mapping[str, Sequence[str]]
) -> set[str]:
    """Name the columns of the data that are needed beside answers and tags."""
    of_metrics = (
        column for metric in metrics for column in metric.attributes["columns"]
    )
    return {*of_metrics, *(name for names in crossings.values() for name in names)}


def _crossed(
    crossings: Mapping[str, Sequence[str]], examples: Examples, alignment: Alignment
) -> dict[str, pl.Series]:
    columns = {column.name: column for column in examples.inputs.get_columns()}
    columns |= alignment.fields
    columns["answer"] = examples.frame["answer"]
    columns["pred"] = prediction_column(examples, alignment.predictions)
    tags = examples.frame["tags"]
    return cross(crossings, tags, columns, examples.data_columns)


def _with_scores(parts: Parts, options: Options, progress: Progress) -> Parts:
    """Compute all metrics and the baselines."""
    examples, alignment = parts.examples, parts.alignment
    everything = scoring_table(examples, alignment)
    counted = alignment.statuses.is_in(list(options.policies.counted))
    measured = Measured(everything, counted, parts.groups)
    scored = measure(
        parts.metrics,
        measured,
        options.settings,
        lambda text, share: progress(text, 0.4 + 0.5 * share),
    )
    scored += _own_scores(parts.dataset, examples, alignment)
    baselines = _baselines(parts.metrics[0], measured.table)
    return parts._replace(scored=scored, baselines=baselines)


def _with_perturbed(
    parts: Parts,
    copies: Perturbed,
    options: Options,
    progress: Progress,
    is_scored: bool,
) -> Parts:
    """Score perturbed copies, and record them."""
    found = None
    policies = options.policies
    if is_scored:
        progress("scoring the perturbed copies", 0.9)
        found = score_perturbed(copies, parts.scored, policies, options.settings)
    record = record_perturbed(copies, found, policies, options.include_examples)
    return parts._replace(perturbed=record)


def _baselines(metric: Bound, table: ScoringTable) -> Baselines | None:
    try:
        return compute_baselines(metric, table)
    except MetricError:
        # the headline metric's own failure is reported with its scores
        return None


def _own_scores(
    dataset: Bound, examples: Examples, alignment: Alignment
) -> list[MetricScores]:
    """Ask a data set that scores itself."""
    if not dataset.has("evaluate"):
        return []
    fields: Iterable[pl.Series] = alignment.fields.values()
    frame = examples.frame.drop("cluster").with_columns(
        prediction_column(examples, alignment.predictions).alias("pred"), *fields
    )
    scored = alignment.statuses == "scored"
    return own_scores(dataset, frame.filter(scored))
