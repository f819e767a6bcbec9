"""Evaluates predictions: the one module that knows the order of the steps.

Predictions are a file, rows, or the responses of a run.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import polars as pl

from evalkit.base.files import WorkingFolder
from evalkit.base.progress import Progress, cancelling
from evalkit.errors import AlignmentError, EvalkitError, StorageError
from evalkit.examples.files import chosen_data
from evalkit.examples.table import Examples
from evalkit.places.names import FetchedPath, is_remote
from evalkit.plugins.importing import find_owner, name_owner
from evalkit.plugins.observers import Observers
from evalkit.plugins.registry import Registry
from evalkit.predictions.alignment import Alignment, OnDuplicate, OnProblem
from evalkit.predictions.beside import file_of, tables_beside
from evalkit.predictions.column_stages import ColumnStage
from evalkit.predictions.kept_responses import keep_responses, restore_responses
from evalkit.predictions.preparation import (
    Predictions,
    Prepared,
    changed_by,
    default_model,
)
from evalkit.predictions.row_sources import RowSource, diagnose
from evalkit.reading.data_places import shards_named
from evalkit.reading.given_rows import rows_of
from evalkit.runs.accounts import known_job, refusal_message
from evalkit.runs.comparability import find_differences
from evalkit.runs.folders import check_place, is_run
from evalkit.runs.options import EvaluationOptions
from evalkit.runs.recording import Asked, make_result
from evalkit.runs.results import Result
from evalkit.runs.stored import read_run
from evalkit.workflows.evaluation_steps import (
    add_columns,
    announce,
    beside,
    bind,
    chosen_engine,
    group,
    match,
    score,
    write,
)


def evaluate(
    dataset: Any = None,
    predictions: Predictions | Result | None = None,
    *,
    data: Any = None,
    model: str | None = None,
    metrics: Sequence[Any] | None = None,
    extra_metrics: Sequence[Any] = (),
    perf_metric: str | None = None,
    task: Any = None,
    split: str | None = None,
    limit: int | None = None,
    filters: Mapping[str, str | Sequence[str]] | None = None,
    cluster: str | Sequence[str] = (),
    on_missing: OnProblem = "error",
    on_invalid: OnProblem = "error",
    on_duplicate: OnDuplicate = "error",
    by: str | Sequence[str] = (),
    min_n: int = 10,
    confidence: float = 0.95,
    seed: int = 0,
    jobs: int = 1,
    out: str | Path | None = None,
    include_examples: bool = True,
    keep: Sequence[str] | str | None = None,
    observers: Sequence[Any] = (),
    rows: RowSource | None = None,
    columns: ColumnStage | None = None,
    against: Result | None = None,
    engine: Any = None,
    registry: Registry | None = None,
    progress: Progress = lambda _text, _share: None,
    cancelled: Callable[[], bool] = lambda: False,
) -> Result:
    """Score a model's predictions on a data set, for the whole set and every tag.

    Args:
        dataset: Name of an installed data set, a `Dataset` class or instance, or a
            file of examples, whose name holds `.` or `/`.
        predictions: A file (JSON lines, CSV, TSV, Parquet, Arrow, or plain lines in
            the data's order; gzip or Zstandard), or the responses themselves: dicts,
            or a polars, pandas or Arrow table. A run (a result or the path of its
            folder) stands for the responses that it holds.
        data: In place of a data set: a file of examples, or the examples themselves, as
            dicts or a polars, pandas or Arrow table; needs `task`.
        model: Name of the model; by default the file's stem.
        metrics: Metrics to compute, by name (`macro-f1:labels=declared`) or as
            functions, classes or instances; by default the data set's or the task's.
        extra_metrics: Metrics to compute beside them.
        perf_metric: The metric that comes first, in place of the data set's or task's.
        task: The task of a file or rows of examples, by name or as a class or instance;
            nothing for a data set.
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
        jobs: Processes that metrics written in Python may use; those that are given as
            objects, and quick ones, use only this process.
        out: Folder to write the run to; nothing is written by default.
        include_examples: Whether the run folder holds answers, predictions and the
            values of rejected rows.
        keep: Columns of the data that the run keeps, so that it can be shown by them
            later, or `none`; by default those of at most 50 values of at most 64
            characters each, but for what a model is sent. Nothing is kept without
            `include_examples`.
        observers: Observers to tell what happens: names, classes or instances.
        rows: What changes rows of data and predictions before they are checked:
            adapters, columns taken as fields, extractors.
        columns: What computes columns of responses before metrics read them, such as
            declared annotators.
        against: A run of the same data, whose answers judges of pairs compare with.
        engine: What evaluates in parts, on several processes or machines: the name of
            an installed engine with its parameters (`dask:workers=4`), or an engine.
            The scores are the same.
        registry: Where plugins are found; all that are installed by default.
        progress: Told what is being done.
        cancelled: Asked between steps, blocks of responses and batches of examples
            whether to stop; once it returns true, `CancelledError` is raised and
            nothing is written.

    Returns:
        The result; its status is `partial` where a metric failed or only some
        examples were evaluated.

    Raises:
        AlignmentError: The policies refuse the predictions; `error.result` holds
            counts and problems, and is written to `out` too.
        CancelledError: `cancelled` returned true.
        DataError: Data or predictions cannot be read.
        PluginError: A plugin is unknown or broken.
        StorageError: The run cannot be written.
    """
    options = EvaluationOptions(
        metrics=metrics,
        extra_metrics=extra_metrics,
        perf_metric=perf_metric,
        split=split,
        limit=limit,
        filters=filters,
        cluster=cluster,
        on_missing=on_missing,
        on_invalid=on_invalid,
        on_duplicate=on_duplicate,
        by=by,
        min_n=min_n,
        confidence=confidence,
        seed=seed,
        jobs=jobs,
        include_examples=include_examples,
        observers=observers,
        rows=rows,
        keep=keep,
        columns=columns,
        against=against,
    )
    if predictions is None:
        raise EvalkitError("evaluate needs predictions=")
    return evaluate_with(
        chosen_data(dataset, data),
        predictions,
        options,
        model=model,
        task=task,
        out=out,
        engine=engine,
        registry=registry,
        progress=progress,
        cancelled=cancelled,
    )


def evaluate_with(
    dataset: Any,
    predictions: Predictions | Result,
    options: EvaluationOptions,
    *,
    model: str | None = None,
    task: Any = None,
    out: str | Path | None = None,
    engine: Any = None,
    registry: Registry | None = None,
    progress: Progress = lambda _text, _share: None,
    cancelled: Callable[[], bool] = lambda: False,
) -> Result:
    """Do what `evaluate` does, with options that were put together before.

    Args:
        dataset: As for `evaluate`, like all arguments but the options.
        predictions: A model's responses.
        options: All that says how they are evaluated.
        model: Name of the model.
        task: The task of a file of examples, by name or as an object.
        out: Folder to write the run to.
        engine: What evaluates in parts.
        registry: Where plugins are found.
        progress: Told what is being done.
        cancelled: Asked whether to stop.

    Returns:
        The result, as `evaluate` does.

    Raises:
        EvalkitError: For the reasons for which `evaluate` raises.
    """
    started, here = time.time(), WorkingFolder()
    registry, progress = registry or Registry(), cancelling(progress, cancelled)
    watchers = Observers(registry, options.observers)
    with (
        watchers.told_of_failure(dataset),
        open_predictions(predictions, options, progress) as source,
        ExitStack() as stack,
    ):
        check_place(out)
        rows, options = source.predictions, source.options
        asked = bind(dataset, task, rows, options, registry, watchers)
        model = model or source.model
        if engine is None:
            result, refused, hints = evaluate_bound(asked, source, model, progress)
        else:
            run = chosen_engine(engine, registry).evaluation(
                *(asked, rows, model, progress, out is not None)
            )
            result, refused, hints = stack.enter_context(run).evaluate(source)
        result.record_time(started, time.time() - started)
        if moved := here.restore():
            result.record_warnings([moved])
        conclude(result, refused, asked, hints, watchers, progress, out)
    if not result.part_files or result.path is None:
        return result
    stored = read_run(result.path)  # which reads the tables that lie in parts
    stored.perturbed = result.perturbed
    stored.record_warnings(result.warnings)
    return stored


def evaluate_bound(
    asked: Asked,
    source: GivenPredictions,
    model: str,
    progress: Progress,
    engine: Any = None,
) -> tuple[Result, Sequence[str], Callable[[], tuple[Examples, Alignment]]]:
    """Evaluate in this process; workers of an engine help to compute columns."""
    predictions = changed_by(source.predictions, asked.stage)
    prepared = source.told(match(asked, predictions, model, progress))
    refused = prepared.alignment.refusal(asked.options.policies)
    if not refused:
        prepared = beside(asked.options.against, prepared)
        prepared = add_columns(asked, prepared, progress, engine)
    parts = group(asked, prepared)
    if not refused:
        parts = score(parts, model, progress)
    result = make_result(parts, model, refused)
    source.keep_in(result)
    return result, refused, lambda: prepared[:2]


def conclude(
    result: Result,
    refused: Sequence[str],
    asked: Asked,
    matched: Callable[[], tuple[Examples, Alignment]],
    watchers: Observers,
    progress: Progress,
    out: str | Path | None,
) -> None:
    """Tell the observers what came of an evaluation, and write it.

    Raises:
        AlignmentError: The responses are refused.
    """
    head = result.headline
    is_zero = head is not None and head.value == 0 and bool(head.higher_is_better)
    if refused or is_zero:
        examples, alignment = matched()
        bound = asked.dataset, asked.task, examples, alignment, asked.registry
        diagnosis = diagnose(*bound)
        if not refused:
            result.record_warnings(diagnosis.notices)
    announce(result, result.scores, refused, watchers)
    if out is not None:
        progress("writing the run", 0.95)
        write(result, out, watchers)
    if refused:
        message = refusal_message(result, refused, alignment, diagnosis)
        raise AlignmentError(message, result, diagnosis.mapping)


_DATA = ("task", "dataset", "version", "data", "split")


class GivenPredictions(NamedTuple):
    """Predictions that can be read, and where they came from."""

    predictions: Predictions
    responses: Callable[[], pl.DataFrame | None]
    """Returns them in the form in which a run keeps them."""
    options: EvaluationOptions
    """Options with what the earlier run recorded of its responses."""
    run: Result | None = None
    """The earlier run."""

    @property
    def model(self) -> str:
        """The default name of the model."""
        of_run = None if self.run is None else self.run.model
        return of_run or default_model(self.predictions)

    def keep_in(self, result: Result) -> None:
        """Let a result hold the responses, unless it was made without examples."""
        if result.record.includes_examples:
            result.responses_of = self.responses
            tables = result.record.predictions.tables
            if self.run is None:
                result.tables |= tables_beside(file_of(self.predictions), tables)
            else:
                result.tables |= {name: self.run.tables[name] for name in tables}
        if self.run is None:
            return
        differences = find_differences(self.run.record, result.record)
        if text := "; ".join(str(each) for each in differences if each.field in _DATA):
            notice = f"the predictions come from a run that differs in {text}"
            result.amend(notices=(*result.notices, notice))

    def told(self, prepared: Prepared) -> Prepared:
        """Return what was prepared with the source that the earlier run recorded."""
        if self.run is None:
            return prepared
        recorded = self.run.record.predictions
        source = recorded.model_dump(include={"name", "sha256"})
        source |= recorded.model_dump(include={"job", "system"}, exclude_none=True)
        job = known_job(recorded.name, recorded.job)
        given = {**prepared.predictions, **source}
        return prepared._replace(predictions=given, job=job or prepared.job)


@contextmanager
def open_predictions(
    predictions: Any, options: EvaluationOptions, progress: Progress
) -> Iterator[GivenPredictions]:
    """Yield predictions in a form that can be read.

    The responses of a run go through the adapters and extractors that the run recorded
    for them where the options name none.
    """
    run = _run_of(predictions)
    if run is None:
        may_be_folder = options.rows is not None and options.rows.reads_folders
        named = shards_named(predictions)
        rows = rows_of(named, progress=progress, may_be_folder=may_be_folder)
        yield GivenPredictions(rows, partial(keep_responses, rows), options)
        return
    kept = run.responses
    if kept is None:
        raise StorageError(
            f"{run.path or run.run_id}: the run holds no responses: it is of perturbed "
            "examples or of other runs, was made with --no-examples, or of a line that "
            "is too long or a value that JSON lacks. Give the file of predictions"
        )
    with TemporaryDirectory(prefix="evalkit-responses-") as folder:
        rows = restore_responses(kept, run.record.predictions.name, Path(folder))
        yield GivenPredictions(rows, lambda: kept, _with_recorded(options, run), run)


def _run_of(predictions: Any) -> Result | None:
    if isinstance(predictions, Result):
        return predictions
    if not isinstance(predictions, str | Path):
        return None
    if is_remote(str(predictions)) and not isinstance(predictions, FetchedPath):
        return None
    return read_run(predictions) if is_run(Path(predictions)) else None


def _with_recorded(options: EvaluationOptions, run: Result) -> EvaluationOptions:
    stages = [adapter.stage for adapter in run.record.predictions.adapters]
    extraction = run.record.extraction
    extract: list[dict[str, Any]] | None = []
    if extraction is not None:
        is_own = extraction.chosen_by == "user"
        extract = [each.stage for each in extraction.stages] if is_own else None
    owner = find_owner("datasets", "adapters")
    if owner is None:
        if stages or extract:
            raise StorageError(
                f"{run.path or run.run_id}: its responses went through adapters or "
                f"extractors. Install {name_owner('datasets', 'adapters')}"
            )
        return options
    source: RowSource = owner((), options.rows)
    return replace(options, rows=source.with_recorded(stages, extract))
