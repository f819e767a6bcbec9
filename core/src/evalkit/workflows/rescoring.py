"""Computes metrics of a run that was made before, from its folder alone."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evalkit.base.files import WorkingFolder
from evalkit.base.progress import Progress
from evalkit.errors import EvalkitError, MetricError
from evalkit.plugins.bound import BoundMetric
from evalkit.plugins.observers import Observers
from evalkit.plugins.provenance import environment
from evalkit.plugins.registry import Registry
from evalkit.plugins.resolver import Resolver
from evalkit.runs.data_columns import load_metrics
from evalkit.runs.finding import as_result
from evalkit.runs.recording import (
    add_scores,
    fingerprint_of,
    recorded_component,
    recorded_core,
)
from evalkit.runs.remote import check_place
from evalkit.runs.results import Result
from evalkit.runs.score_columns import Score
from evalkit.runs.stored import examples_of
from evalkit.runs.tables import settings_of
from evalkit.scoring.grouping import Groups
from evalkit.scoring.measurement import measure
from evalkit.scoring.records import MetricScores, failed_scores
from evalkit.workflows.evaluation_steps import announce, write


def rescore(
    run: Result | str | Path,
    metrics: Sequence[Any],
    *,
    data: Any = None,
    folder: str | Path = "runs",
    out: str | Path | None = None,
    jobs: int = 1,
    observers: Sequence[Any] = (),
    registry: Registry | None = None,
    progress: Progress = lambda _text, _share: None,
) -> Result:
    """Compute further metrics of a run, from what its folder holds.

    Neither the predictions nor, unless a metric asks for a field of the input, the data
    are read again. Policies, confidence and seed are the run's.

    Args:
        run: A result, the path of a run folder, the start of its id, its model, or
            `latest`.
        metrics: The metrics, by name or as functions, classes or instances.
        data: The file or rows of examples that the run was made from, where these came
            from no installed data set and a metric asks for a field.
        folder: Folder that the run is looked for in.
        out: Folder to write the new run to; nothing is written by default.
        jobs: Processes that metrics written in Python may use.
        observers: Observers to tell what happens: names, classes or instances.
        registry: Where plugins are found; all that are installed by default.
        progress: Told what is being done.

    Returns:
        A new result that names the run as its parent and holds its scores too.

    Raises:
        EvalkitError: The run holds one of the metrics already, or the data that a
            metric asks for is not what it was.
        PluginError: A metric is unknown or broken.
        StorageError: The run cannot be read, or holds no answers and predictions.
    """
    started = time.time()
    registry, here = registry or Registry(), WorkingFolder()
    watchers = Observers(registry, observers)
    with watchers.told_of_failure(run):
        check_place(out)
        parent = as_result(run, folder)
        resolver = Resolver(registry)
        resolver.data = data
        chosen: list[Any] = [metrics] if isinstance(metrics, str) else [*metrics]
        result, new = _rescored(parent, chosen, jobs, resolver, watchers, progress)
        result.responses_of = lambda: parent.responses
        result.record_time(started, time.time() - started)
        if moved := here.restore():
            result.record_warnings([moved])
        announce(result, new, (), watchers)
        if out is not None:
            write(result, out, watchers)
        return result


def _rescored(
    parent: Result,
    metrics: Sequence[Any],
    jobs: int,
    resolver: Resolver,
    watchers: Observers,
    progress: Progress,
) -> tuple[Result, list[Score]]:
    """Compute the metrics; return the new result, and the scores that are new in it."""
    bound = _bind(parent, resolver, metrics)
    watchers.tell(
        "before_scoring",
        dataset=parent.dataset,
        model=parent.model,
        metrics=[metric.name for metric in bound],
    )
    measured, ready, errors = load_metrics(parent, bound, resolver)
    if not ready:
        raise next(iter(errors.values()))
    scored = measure(ready, measured, settings_of(parent.record, jobs), progress)
    for metric in bound:
        if error := errors.get(metric.name):
            failure = MetricError(f"{metric.component.origin}: {error}")
            groups = len(measured.groups.tags)
            scored.append(failed_scores(metric, groups, failure))
    order = {
        part.name: at for at, metric in enumerate(bound) for part in metric.parts()
    }
    order |= {metric.name: at for at, metric in enumerate(bound)}
    scored.sort(key=lambda found: order[found.name])
    result = _extended(parent, bound, scored, measured.groups)
    return result, [*result.scores[len(parent.scores) :]]


def _bind(
    parent: Result, resolver: Resolver, metrics: Sequence[Any]
) -> list[BoundMetric]:
    bound = [
        each if isinstance(each, BoundMetric) else resolver.metric(each)
        for each in metrics
    ]
    if not bound:
        raise EvalkitError("no metric was named (-m NAME)")
    names = [metric.name for metric in bound]
    if len(set(names)) < len(names):
        raise EvalkitError("a metric was named twice")
    known = parent.record.metric_names
    for name in names:
        if name in known:
            raise EvalkitError(
                f"the run {parent.run_id} holds {name} already; `evalkit verify` "
                "computes it again"
            )
    return bound


def _extended(
    parent: Result,
    bound: Sequence[BoundMetric],
    scored: list[MetricScores],
    groups: Groups,
) -> Result:
    before = parent.record
    record = before.changed(
        files={},
        headline_score=None,
        parent=parent.fingerprint,
        components=(*before.components, *map(recorded_component, bound)),
        core=recorded_core(),
        environment=environment(),
        perturbed_runs=(),
    )
    record = record.changed(fingerprint=fingerprint_of(record))
    tables = examples_of(parent), parent.statistics, parent.column_details
    earlier = Result(record, parent.scores, parent.problems, *tables)
    return add_scores(earlier, scored, groups, bound)
