"""The one module that knows the order of an evaluation's steps."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from evalkit.alignment import (
    Alignment,
    OnDuplicate,
    OnProblem,
    Policies,
    align,
)
from evalkit.baselines import Baselines, compute_baselines
from evalkit.calls import ScoringTable
from evalkit.columns import to_series
from evalkit.errors import AlignmentError, DataError, EvalkitError, MetricError
from evalkit.examples import Examples, load_examples
from evalkit.grouping import group_by_tag
from evalkit.metrics import MetricContext
from evalkit.objects import Resolver
from evalkit.observation import Observers
from evalkit.possible_range import with_possible_range
from evalkit.prediction_files import (
    Row,
    holds_json_lines,
    model_name,
    read_json_lines,
    read_objects,
    read_plain_lines,
)
from evalkit.registry import Bound, Registry
from evalkit.responses import ResponseReader
from evalkit.results import Result
from evalkit.run_record import (
    Options,
    Parts,
    Predictions,
    identify,
    make_result,
    prediction_column,
    refusal_message,
)
from evalkit.score_records import own_scores
from evalkit.scores import MetricScores, ScoringSettings
from evalkit.scoring import score_metric

Progress = Callable[[str, float], None]
"""Told what is being done, and which share of the whole is behind, 0 to 1."""


def evaluate(
    dataset: Any,
    predictions: Predictions,
    *,
    model: str | None = None,
    metrics: Sequence[Any] | None = None,
    extra_metrics: Sequence[Any] = (),
    split: str | None = None,
    on_missing: OnProblem = "error",
    on_invalid: OnProblem = "error",
    on_duplicate: OnDuplicate = "error",
    confidence: float = 0.95,
    seed: int = 0,
    out: str | Path | None = None,
    include_examples: bool = True,
    observers: Sequence[str] = (),
    registry: Registry | None = None,
    progress: Progress = lambda _text, _share: None,
) -> Result:
    """Score a model's predictions on a data set, for the whole set and every tag.

    Args:
        dataset: Name of an installed data set, or a `Dataset` class or instance.
        predictions: A file of JSON lines, or of plain lines in the data's order, or
            the responses themselves: dicts, or a polars, pandas or Arrow table.
        model: Name of the model; by default the file's stem.
        metrics: Metrics to compute, by name (`macro-f1:labels=declared`) or as
            functions, classes or instances; by default the data set's or the task's.
        extra_metrics: Metrics to compute beside them.
        split: Split of the data set; its default split by default.
        on_missing: What happens when examples have no prediction: `error` refuses,
            `wrong` counts them as wrong, `skip` leaves them out and lowers coverage.
        on_invalid: The same for invalid predictions.
        on_duplicate: `error` refuses repeated ids, else the `first` or `last` counts.
        confidence: Probability of the confidence intervals, between 0 and 1.
        seed: Seed of the bootstrap.
        out: Folder to write the run to; nothing is written by default.
        include_examples: Whether the run folder holds answers, predictions and the
            values of rejected rows.
        observers: Names of observers to load.
        registry: Where plugins are found; all that are installed by default.
        progress: Told what is being done.

    Returns:
        The result; its status is `partial` where a metric failed.

    Raises:
        AlignmentError: The policies refuse the predictions; `error.result` holds
            counts and problems, and is written to `out` too.
        DataError: Data or predictions cannot be read.
        PluginError: A plugin is unknown or broken.
        StorageError: The run cannot be written.
    """
    if not 0 < confidence < 1:
        raise EvalkitError(f"confidence must be between 0 and 1, is {confidence}")
    policies = Policies(on_missing, on_invalid, on_duplicate)
    policies.check()
    predictions = _rows_of(predictions)
    if isinstance(metrics, str):
        metrics = [metrics]
    started = time.time()
    resolver = Resolver(registry or Registry())
    bound = resolver.dataset(dataset)
    task = resolver.task(bound)
    options = Options(
        split or bound.attributes["default_split"],
        policies,
        ScoringSettings(confidence, seed),
        include_examples,
    )
    chosen = resolver.metrics(bound, task, metrics, extra_metrics)
    watchers = Observers(resolver.registry, observers)
    name = bound.component.name
    model = model or _default_model(predictions)
    progress(f"loading {name}", 0.0)
    watchers.tell("before_load", dataset=name, split=options.split)
    examples = load_examples(bound, task, options.split)
    watchers.tell(
        "after_load",
        dataset=name,
        split=options.split,
        n_examples=examples.frame.height,
    )
    progress(f"reading the predictions of {model}", 0.2)
    reader = ResponseReader(task, bound, examples)
    rows = _prediction_rows(predictions, examples, task)
    given = identify(predictions)
    ids = examples.frame["id"].to_list()
    alignment = align(ids, rows, reader, on_duplicate)
    refused = alignment.refusal(options.policies)
    groups = group_by_tag(examples.frame["tags"])
    parts = Parts(bound, task, chosen, examples, alignment, groups, [], None)
    if not refused:
        names = [metric.name for metric in chosen]
        watchers.tell("before_scoring", dataset=name, model=model, metrics=names)
        parts = _with_scores(parts, options, progress)
    result = make_result(parts, options, given, model, refused, watchers)
    result.record_time(started, time.time() - started)
    if out is not None:
        progress("writing the run", 0.95)
        watchers.tell("before_writing", run_id=result.run_id)
        result.save(out)
        watchers.tell("after_writing", run_id=result.run_id, path=str(result.path))
    if refused:
        raise AlignmentError(refusal_message(result, refused, alignment), result)
    return result


def _with_scores(parts: Parts, options: Options, progress: Progress) -> Parts:
    """Compute all metrics and the baselines."""
    examples, alignment, groups = parts.examples, parts.alignment, parts.groups
    everything = _scoring_table(examples, alignment)
    statuses = pl.Series("status", alignment.statuses, dtype=pl.String)
    counted = statuses.is_in(list(_counted_statuses(options.policies)))
    table = everything._replace(frame=everything.frame.filter(counted))
    scored: list[MetricScores] = []
    for number, metric in enumerate(parts.metrics):
        share = 0.4 + 0.5 * number / len(parts.metrics)
        advance = partial(_advance, progress, share)
        advance(f"computing {metric.name}")
        found = score_metric(metric, table, groups, options.settings, advance)
        if not counted.all():
            found = with_possible_range(found, everything, ~counted, groups)
        scored.append(found)
    scored += _own_scores(parts.dataset, examples, alignment)
    return parts._replace(scored=scored, baselines=_baselines(parts.metrics[0], table))


def _advance(progress: Progress, share: float, text: str) -> None:
    progress(text, share)


def _rows_of(predictions: Any) -> Predictions:
    """Give predictions that are no file as a list of rows."""
    if isinstance(predictions, str | Path):
        return predictions
    if hasattr(predictions, "__arrow_c_stream__"):
        return pl.DataFrame(predictions).to_dicts()
    return list(predictions)  # an iterator could be read only once


def _default_model(predictions: Predictions) -> str:
    if isinstance(predictions, str | Path):
        return model_name(Path(predictions))
    return "model"


def _prediction_rows(
    predictions: Predictions, examples: Examples, task: Bound
) -> Iterable[Row]:
    if not isinstance(predictions, str | Path):
        return read_objects(predictions)
    path = Path(predictions)
    if path.is_dir():
        raise DataError(f"{path}: is a folder, not a file of predictions")
    if not path.exists():
        raise DataError(f"{path}: there is no such file")
    if not path.is_file():
        raise DataError(
            f"{path}: is a pipe or a device, which can be read only once; write the "
            "predictions to a file first"
        )
    if holds_json_lines(path):
        return read_json_lines(path)
    answer_field = task.attributes["answer_field"]
    if answer_field is None:
        raise DataError(
            f"{path}: plain lines need a task that names its `answer_field`; "
            f"{task.component.origin} does not. Give JSON lines"
        )
    return read_plain_lines(
        path,
        examples.frame["id"].to_list(),
        lambda uid, line: {"id": uid, answer_field: line},
    )


def _counted_statuses(policies: Policies) -> set[str]:
    counted = {"scored"}
    if policies.on_missing == "wrong":
        counted.add("missing")
    if policies.on_invalid == "wrong":
        counted.add("invalid")
    return counted


def _scoring_table(examples: Examples, alignment: Alignment) -> ScoringTable:
    """Make the table of all examples, counted or not."""
    columns = [
        pl.Series("position", range(examples.frame.height), dtype=pl.UInt32),
        prediction_column(examples, alignment.predictions),
        examples.frame["answer"].alias("target"),
    ]
    taken = {"prediction", "target", "position"}
    for name, values in alignment.fields.items():
        columns.append(to_series(name, values))
        taken.add(name)
    columns += [c for c in examples.inputs.get_columns() if c.name not in taken]
    frame = pl.DataFrame(columns)
    context = MetricContext(examples.labels, examples.answer_kind)
    clusters = examples.frame["cluster"] if examples.clustered else None
    return ScoringTable(frame, examples.frame["id"].to_list(), clusters, context)


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
    frame = examples.frame.drop("cluster").with_columns(
        prediction_column(examples, alignment.predictions).alias("pred"),
        *[to_series(name, values) for name, values in alignment.fields.items()],
    )
    scored = pl.Series(alignment.statuses) == "scored"
    return own_scores(dataset, frame.filter(scored))
