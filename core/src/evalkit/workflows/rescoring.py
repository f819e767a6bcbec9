"""Computes metrics of a run again: further ones, or by other groups."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from evalkit.base.files import WorkingFolder
from evalkit.base.progress import Progress
from evalkit.errors import EvalkitError, MetricError, PluginError
from evalkit.plugins.bound import BoundMetric
from evalkit.plugins.observers import Observers
from evalkit.plugins.provenance import environment
from evalkit.plugins.registry import Registry
from evalkit.plugins.resolver import Resolver
from evalkit.runs.finding import as_result
from evalkit.runs.folders import check_place
from evalkit.runs.record import RunRecord
from evalkit.runs.recording import (
    add_scores,
    fingerprint_of,
    recorded_component,
    recorded_core,
)
from evalkit.runs.results import Result
from evalkit.runs.score_columns import Score
from evalkit.runs.scores import to_scores
from evalkit.runs.stored import examples_of, scored_fields
from evalkit.runs.tables import CROSSING, KEPT, load_metrics, settings_of
from evalkit.scoring.grouping import Groups, cross, group_by_tag, read_crossings
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
        kept = result.record.predictions.tables
        result.tables |= {name: parent.tables[name] for name in kept}
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
            scored.append(failed_scores(metric, len(measured.groups.tags), failure))
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


_AGGREGATES = ("macro", "worst", "gap")


def score_crossings(
    run: Result | str | Path,
    by: Sequence[str],
    *,
    folder: str | Path = "runs",
    jobs: int = 1,
    registry: Registry | None = None,
    progress: Progress = lambda _text, _share: None,
) -> Result:
    """Score the groups that facets and columns of a run's examples make.

    What is scored is what the run folder holds: its examples, and the statistics of
    its metrics where they were saved. Policies, confidence, seed and the least size of
    a group are the run's. The run folder stays as it is.

    Args:
        run: A result, the path of a run folder, the start of its id, its model, or
            `latest`.
        by: Facets of the tags, columns of the data that the run keeps, `answer`,
            `pred`, `status` or fields of the responses; several, joined by commas, are
            crossed.
        folder: Folder that the run is looked for in.
        jobs: Processes that metrics written in Python may use.
        registry: Where plugins are found; all that are installed by default.
        progress: Told what is being done.

    Returns:
        The run with its scores of the whole set, those of the groups of each crossing,
        and what they amount to (mean, worst group and gap); scores of other tags are
        left out. A metric that cannot be computed any more is named in its warnings.

    Raises:
        EvalkitError: A name is no facet and no column, or there are too many groups.
        PluginError: No metric of the run can be loaded any more.
        StorageError: The run cannot be read, was refused, or holds no answers and
            predictions.
    """
    parent = as_result(run, folder)
    crossings = read_crossings([by] if isinstance(by, str) else by)
    resolver = Resolver(registry or Registry())
    measured, ready, errors = load_metrics(parent, parent.record.metrics, resolver)
    groups = group_by_tag(examples_of(parent)["tags"], _crossed(parent, crossings))
    lost = [f"{name} was not computed by group: {errors[name]}" for name in errors]
    if not ready:
        raise PluginError(
            f"no metric of the run {parent.run_id} can be computed again: "
            f"{'; '.join(lost)}"
        )
    scored = measure(
        ready,
        measured._replace(groups=groups),
        settings_of(parent.record, jobs),
        progress,
        parent.statistics,
    )
    return _grouped(parent, crossings, groups, scored, lost)


def _crossed(
    parent: Result, crossings: Mapping[str, Sequence[str]]
) -> dict[str, pl.Series]:
    """Return the groups of each crossing; those that the run has stored as they are."""
    examples = examples_of(parent)
    stored = {
        name: examples[CROSSING + name]
        for name in crossings
        if CROSSING + name in examples.columns
    }
    others = {name: parts for name, parts in crossings.items() if name not in stored}
    # as in an evaluation, where `status` is a column of the data
    columns = {"status": examples["status"]}
    columns |= {
        name.removeprefix(KEPT): examples[name]
        for name in examples.columns
        if name.startswith(KEPT)
    }
    names = ["answer", "pred", *scored_fields(examples)]
    columns |= {name: examples[name] for name in names}
    return stored | cross(others, examples["tags"], columns)


def _grouped(
    parent: Result,
    crossings: Mapping[str, Sequence[str]],
    groups: Groups,
    scored: list[MetricScores],
    lost: Sequence[str],
) -> Result:
    record = parent.record.changed(
        by=tuple(crossings), warnings=(*parent.warnings, *lost)
    )
    computed = to_scores(scored, groups, record.split)
    wanted = {groups.tags[n] for name in crossings for n in groups.facets[name]}
    kinds = {f"{kind}:{name}" for kind in _AGGREGATES for name in crossings}
    kinds -= {str(record.headline_aggregate)}
    kept = [
        score
        for score in computed
        if (score.aggregate in kinds if score.aggregate else score.tag in wanted)
    ]
    whole = [score for score in parent.scores if _is_of_whole(score, record)]
    result = Result(
        record, [*whole, *kept], parent.problems, parent.examples, parent.statistics
    )
    result.path = parent.path
    return result


def _is_of_whole(score: Score, record: RunRecord) -> bool:
    headline = record.headline_aggregate
    return score.is_whole or (headline is not None and score.aggregate == headline)
