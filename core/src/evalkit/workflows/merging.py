"""Puts runs over disjoint examples together, as one run over all of them.

What is merged are the saved statistics of the metrics, so that neither data nor
predictions are needed, and the result is the one that a single run would have had:
clusters may span parts, and a resampled example is drawn equally often in its part and
in the whole.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from evalkit.base.columns import all_named
from evalkit.base.names import is_component_name
from evalkit.base.progress import Progress
from evalkit.base.violations import few, shorten
from evalkit.errors import EvalkitError, MetricError
from evalkit.plugins.bound import BoundMetric
from evalkit.plugins.registry import Registry
from evalkit.plugins.resolver import Resolver
from evalkit.runs import recorded
from evalkit.runs.column_tables import join_details, merged_columns
from evalkit.runs.finding import as_result
from evalkit.runs.recording import recorded_component
from evalkit.runs.remote import check_place
from evalkit.runs.results import Result
from evalkit.runs.scores import bounds_of, headline_name, to_scores
from evalkit.runs.stored import bound_metrics, mixed_clusters
from evalkit.runs.tables import (
    measured_run,
    measured_statistics,
    saved_statistics,
    settings_of,
    with_example_scores,
)
from evalkit.runs.unscored import unscored_answers, unscored_counts, unscored_problems
from evalkit.scoring.baselines import compute_baselines
from evalkit.scoring.measurement import Measured, measure
from evalkit.scoring.metric import failed_scores
from evalkit.scoring.records import MetricScores, notices_of
from evalkit.scoring.unscored import NOTHING_SCORED
from evalkit.workflows.merged_records import (
    join_examples,
    join_problems,
    join_statistics,
    merged_record,
)

SAME = (
    "task",
    "split",
    "labels",
    "headline_aggregate",
    "confidence",
    "seed",
    "policies",
    "by",
    "replications",
)
"""What all parts must have been made with."""


def merge(
    runs: Sequence[Result | str | Path],
    *,
    dataset: str | None = None,
    model: str | None = None,
    folder: str | Path = "runs",
    out: str | Path | None = None,
    registry: Registry | None = None,
    progress: Progress = lambda _text, _share: None,
) -> Result:
    """Merge runs over disjoint examples.

    Args:
        runs: Two or more runs: results, paths of run folders or starts of their ids.
        dataset: Name of the data set of the merged run; needed where the parts' differ.
        model: Name of the model; needed where the parts' differ.
        folder: Folder that runs are looked for in.
        out: Folder to write the merged run to; nothing is written by default.
        registry: Where plugins are found; all that are installed by default.
        progress: Told what is being done.

    Returns:
        The scores of all examples together, as one run over them would give.

    Raises:
        AlignmentError: An example is in two parts.
        EvalkitError: The parts were made in ways that do not go together.
        PluginError: A metric of the parts is not installed any more.
        StorageError: A run cannot be read, or was refused.
    """
    started = time.time()
    check_place(out)
    parts = [as_result(run, folder) for run in runs]
    if len(parts) < 2:
        raise EvalkitError("name two or more runs to merge")
    _refuse_mixture(parts)
    name = _common("dataset", [part.dataset for part in parts], dataset)
    of_model = _common("model", [part.model for part in parts], model)
    if not is_component_name(name):
        raise EvalkitError(f"{name!r} is no legal name of a data set")
    examples = join_examples(parts)
    record = merged_record(parts, name, of_model, examples)
    metrics = bound_metrics(parts[0], Resolver(registry or Registry()))
    warnings = _changed_metrics(metrics, parts[0])
    record = record.changed(warnings=(*record.warnings, *warnings))
    statistics = join_statistics(parts)
    said = (
        {}
        if not record.includes_examples
        else join_details(
            table for part in parts for table in part.column_details.items()
        )
    )
    record = record.changed(
        columns=merged_columns([p.record for p in parts], examples, said)
    )
    problems = join_problems(parts)
    joined = Result(record, (), problems, examples, statistics, column_details=said)
    result = _scored(joined, metrics, progress)
    result.record_time(started, time.time() - started)
    if out is not None:
        result.save(out)
    return result


def _refuse_mixture(parts: Sequence[Result]) -> None:
    first = parts[0].record
    for part in parts:
        record = part.record
        if part.status == "refused":
            raise EvalkitError(f"the run {part.run_id} was refused: it has no scores")
        for key in SAME:
            mine, its = first.to_dict().get(key), record.to_dict().get(key)
            if getattr(first, key) != getattr(record, key):
                raise EvalkitError(
                    f"the runs {parts[0].run_id} and {part.run_id} differ in {key}: "
                    f"{shorten(mine)} and {shorten(its)}"
                )
        for one, other in zip(first.scorers, record.scorers, strict=False):
            if one.identity != other.identity:
                word = one.kind.removesuffix("s")
                raise EvalkitError(
                    f"the runs {parts[0].run_id} and {part.run_id} differ in the "
                    f"{word} {one.id}: {_difference(one.identity, other.identity)}"
                )
        if mixed := mixed_clusters(parts[0], part):
            raise EvalkitError(mixed)
        if len(first.metrics) != len(record.metrics):
            raise EvalkitError(
                f"the runs {parts[0].run_id} and {part.run_id} do not have the same "
                "metrics"
            )


def _difference(mine: Mapping[str, Any], theirs: Mapping[str, Any]) -> str:
    """Say in what two descriptions of a metric differ."""
    differing = [key for key in {**mine, **theirs} if mine.get(key) != theirs.get(key)]
    return "; ".join(
        f"{key} {shorten(mine.get(key))} and {shorten(theirs.get(key))}"
        for key in differing
    )


def _common(key: str, of_parts: Sequence[str | None], given: str | None) -> str:
    names = list(dict.fromkeys(map(str, of_parts)))
    if given is not None:
        return given
    if len(names) > 1:
        raise EvalkitError(
            f"the runs differ in {key}: {few(names)}; name the merged run's with "
            f"{key}=… (--{key} NAME)"
        )
    return names[0]


def _changed_metrics(metrics: Sequence[BoundMetric], part: Result) -> list[str]:
    """Say which metrics are not the code any more that computed the statistics."""
    return [
        f"{metric.name}: its package is not what it was when the parts were scored; "
        "their statistics were finalized by the one that is installed now"
        for metric, before in zip(metrics, part.record.metrics, strict=True)
        if recorded_component(metric).source_sha256 != before.source_sha256
    ]


def _scored(
    joined: Result, metrics: Sequence[BoundMetric], progress: Progress
) -> Result:
    record, includes = joined.record, joined.record.includes_examples
    measured = measured_run(joined) if includes else measured_statistics(joined)
    assert joined.examples is not None
    left = unscored_answers(joined.examples, joined.problems)
    settings = settings_of(record)
    scored = []
    for metric in metrics:
        known = _usable_statistics(metric, joined)
        if not includes and known is None:
            reason = _not_kept(metric)
            scored.append(failed_scores(metric, measured.groups, reason))
            continue
        found = measure([metric], measured, settings, progress, known, left)
        # nobody knows what was left out
        scored += found if includes else map(_without_bounds, found)
    scores = to_scores(scored, measured.groups, record.split)
    failed = [found.error for found in scored if found.error]
    counts = unscored_counts(scored)
    if not joined.counts["scored"]:
        failed.append(NOTHING_SCORED)
    record = record.changed(
        status="partial" if failed or counts else record.status,
        headline=headline_name(scored),
        bounds=bounds_of(metrics),
        baselines=_baselines(scored[0].metric, measured) if includes else None,
        errors=tuple(failed),
        notices=(*record.notices, *notices_of(scored)),
        not_scored=counts,
    )
    names = {found.name for found in scored}
    stored = [name for name in joined.examples.columns if name in names]
    examples = with_example_scores(joined.examples.drop(all_named(stored)), scored)
    statistics = saved_statistics(scored, includes)
    problems = [found for found in joined.problems if found.metric is None]
    problems += unscored_problems(joined.examples, scored)
    said = joined.column_details
    return Result(record, scores, problems, examples, statistics, column_details=said)


def _usable_statistics(
    metric: BoundMetric, joined: Result
) -> Mapping[str, pl.DataFrame] | None:
    """Return the statistics of the parts that are those of the whole; None if none are.

    A metric that looks at all answers first made them of those of each part.
    """
    if metric.has("prepare"):
        return None
    names = [part.name for part in metric.parts()]
    if not all(name in joined.statistics for name in names):
        return None
    return {name: joined.statistics[name] for name in names}


def _without_bounds(found: MetricScores) -> MetricScores:
    scores = [score._replace(bounds=None) for score in found.scores]
    return found._replace(scores=scores)


def _not_kept(metric: BoundMetric) -> MetricError:
    return MetricError(
        f"{metric.name}: the runs were made with --no-examples (include_examples="
        "False) and hold nothing that it can be computed from; evaluate again without "
        "it"
    )


def _baselines(metric: BoundMetric, measured: Measured) -> recorded.Baselines | None:
    try:
        found = compute_baselines(metric, measured.table)
    except MetricError:
        # the metric's own failure is reported with its scores
        return None
    return None if found is None else recorded.Baselines(**found._asdict())
