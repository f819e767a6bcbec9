"""Merges runs over disjoint examples: joins their examples, and scores the union."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from evalkit import Registry, Result
from evalkit.base.columns import all_named
from evalkit.base.progress import Progress
from evalkit.base.violations import few
from evalkit.catalog import BoundMetric, Resolver, is_component_name, metric_of
from evalkit.errors import AlignmentError, EvalkitError, MetricError
from evalkit.plugins.provenance import environment, rows_hash
from evalkit.predictions.problems import Problems
from evalkit.runs import (
    RunRecord,
    as_result,
    bound_component,
    find_differences,
    recorded,
)
from evalkit.runs.accounts import cell_notices, unparsed_notice
from evalkit.runs.folders import check_place
from evalkit.runs.record import FORMAT_VERSION
from evalkit.runs.recording import add_scores, fingerprint_of, recorded_core
from evalkit.runs.stored import examples_of
from evalkit.runs.tables import (
    KEPT,
    counts_of,
    join_details,
    kept_extraction,
    measured_run,
    settings_of,
    unscored_answers,
    values_hash,
)
from evalkit.scoring.baselines import compute_baselines
from evalkit.scoring.measurement import measure
from evalkit.scoring.records import NOTHING_SCORED

OF_PARTS = ("dataset", "data", "data-adapters", "selection")
"""Fields in which comparable runs of parts may differ."""

SAME = (
    *("labels", "headline_aggregate", "confidence", "seed", "policies", "by"),
    *("replications", "perturbation"),
)
"""Fields of the record that are equal too, as the merged run has one value of each."""


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

    Neither data nor predictions are read: the runs' examples are joined and scored.

    Args:
        runs: Two or more runs: results, paths of run folders or starts of their ids.
        dataset: Dataset name of the merged run. Required if the runs' differ.
        model: Model name of the merged run. Required if the runs' differ.
        folder: Folder that runs are looked for in.
        out: Folder to write the merged run to. Default: nothing is written.
        registry: Where plugins are found. Default: all that are installed.
        progress: Progress callback.

    Returns:
        The scores that one run over all examples would have.

    Raises:
        AlignmentError: An example is in two runs.
        EvalkitError: The runs were made in different ways, or hold no answers.
        PluginError: A metric of the runs is not installed.
        StorageError: A run cannot be read, or was refused.
    """
    started = time.time()
    check_place(out)
    parts = [as_result(run, folder) for run in runs]
    if len(parts) < 2:
        raise EvalkitError("name two or more runs to merge")
    _refuse_mixture(parts)
    name = _common("dataset", [part.dataset for part in parts], dataset)
    if not is_component_name(name):
        raise EvalkitError(f"{name!r} is no legal name of a dataset")
    of_model = _common("model", [part.model for part in parts], model)
    resolver, used = Resolver(registry or Registry()), parts[0].record.metrics
    metrics = [BoundMetric.of(bound_component(each, resolver)) for each in used]
    examples = _join_examples(parts)
    details = join_details(t for part in parts for t in part.column_details.items())
    record = _merged_record(parts, name, of_model, examples, details)
    problems = Problems([problem for part in parts for problem in part.problems])
    kept = _join_statistics(parts, metrics)
    joined = Result(record, (), problems, examples, kept, column_details=details)
    result = _scored(joined, metrics, progress)
    result.record_time(started, time.time() - started)
    if out is not None:
        result.save(out)
    return result


def _refuse_mixture(parts: Sequence[Result]) -> None:
    first = parts[0].record
    for part in parts:
        record, both = part.record, f"the runs {parts[0].run_id} and {part.run_id}"
        if part.status == "refused":
            raise EvalkitError(f"the run {part.run_id} was refused: it has no scores")
        for key in SAME:
            one, other = getattr(first, key), getattr(record, key)
            if one != other:
                texts = " and ".join(map(_plain, (one, other)))
                raise EvalkitError(f"{both} differ in {key}: {texts}")
        found = [
            str(each)
            for each in find_differences(first, record)
            if each.field not in OF_PARTS
        ]
        if found:
            raise EvalkitError(f"{both} differ in {'; '.join(found)}")
        if {*first.metric_names} != {*record.metric_names}:
            raise EvalkitError(
                f"{both} differ in metrics: {', '.join(first.metric_names)} and "
                f"{', '.join(record.metric_names)}"
            )


def _plain(value: Any) -> str:
    """Show a value of a record as a person would write it."""
    if isinstance(value, recorded.Part):
        value = [f"{key} {_plain(each)}" for key, each in value.to_dict().items()]
    shown = ", ".join(map(str, value)) if isinstance(value, list | tuple) else value
    return "none" if shown in (None, "") else str(shown)


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


def _join_examples(parts: Sequence[Result]) -> pl.DataFrame:
    """Join the examples of runs; columns of the data stay if all runs keep them."""
    frames = [examples_of(part) for part in parts]
    if len({frame["cluster"].null_count() == frame.height for frame in frames}) > 1:
        raise EvalkitError(
            "only some of the runs have clusters: their examples cannot be resampled "
            "in one way"
        )
    common = set.intersection(*({*frame.schema.items()} for frame in frames))
    kept = {name for name, _ in common}
    frames = [
        frame.select(
            all_named(n for n in frame.columns if n in kept or not n.startswith(KEPT))
        )
        for frame in frames
    ]
    try:
        joined = pl.concat(frames, how="diagonal_relaxed")
    except pl.exceptions.PolarsError as error:
        raise EvalkitError(
            "the runs' examples do not go together, as their columns are of different "
            f"types: {str(error).partition(chr(10))[0]}"
        ) from error
    # fields of responses stand behind `pred`, also those of the second run alone
    late = [n for n in joined.columns if n not in frames[0].columns]
    place = joined.columns.index("pred") + 1
    names = [name for name in joined.columns if name not in late]
    joined = joined.select(all_named([*names[:place], *late, *names[place:]]))
    cells = joined.select("id", "replication")
    repeated = cells.filter(cells.is_duplicated())
    if repeated.height:
        ids = list(dict.fromkeys(repr(uid) for uid in repeated["id"]))
        raise AlignmentError(f"examples are in two of the runs: {few(ids)}")
    return joined


def _join_statistics(
    parts: Sequence[Result], metrics: Sequence[BoundMetric]
) -> dict[str, pl.DataFrame]:
    """Join what metrics said of single examples; not what depends on all of them."""
    names = {
        part.name
        for metric in metrics
        if not metric.has("prepare")
        for part in metric.parts()
    }
    names = names.intersection(*(part.statistics for part in parts))
    joined: dict[str, pl.DataFrame] = {}
    for name in sorted(names):
        first, frames = 0, []
        for part in parts:
            moved = pl.col("position").cast(pl.UInt32) + pl.lit(first, dtype=pl.UInt32)
            frames.append(part.statistics[name].with_columns(moved))
            first += examples_of(part).height
        joined[name] = pl.concat(frames, how="vertical_relaxed")
    return joined


def _merged_record(
    parts: Sequence[Result],
    dataset: str,
    model: str,
    examples: pl.DataFrame,
    details: Mapping[str, pl.DataFrame],
) -> RunRecord:
    """Return the record of the merged run, without what scoring gives."""
    records = [part.record for part in parts]
    first = records[0]
    counts: Counter[str] = Counter()
    unparsed: Counter[str] = Counter()
    for each in records:
        counts.update(each.counts.to_dict())
        unparsed.update(each.unparsed)
    counts.pop("unselected", None)  # what one part left out is in another
    if first.counts.replications:
        counts["replications"] = first.counts.replications
    is_whole = all(each.selection.is_whole for each in records)
    components = {repr(c.to_dict()): c for each in records for c in each.components}
    hashes = sorted({str(each.data.sha256) for each in records})
    data = first.data.model_copy(
        update={
            "sha256": hashes[0] if len(hashes) == 1 else rows_hash([{"parts": hashes}]),
            "files": tuple(file for each in records for file in each.data.files),
            **{
                name: _if_equal(getattr(each.data, name) for each in records)
                for name in ("rows_sha256", "attached_sha256", "limit", "source_url")
            },
            "adapters": _if_equal(each.data.adapters for each in records) or (),
        }
    )
    job = _if_equal(each.predictions.job for each in records)
    predictions = recorded.Predictions(
        name=None,
        sha256=None,
        adapters=first.predictions.adapters,
        **({} if job is None else {"job": job}),
    )
    record = first.model_copy(
        update={
            "format": FORMAT_VERSION,
            "status": "complete" if is_whole else "partial",
            "model": model,
            "dataset": dataset,
            "cluster": _union(each.cluster for each in records),
            "counts": recorded.Counts(**counts),
            "unparsed": dict(unparsed.most_common()),
            "notices": (
                *unparsed_notice(counts["unparsed"], unparsed),
                *cell_notices(counts, first.policies),
                *([] if is_whole else [_PARTS]),
                *_left_out(parts),
            ),
            "errors": () if counts["scored"] else (NOTHING_SCORED,),
            "bounds": {},
            "not_scored": {},
            "warnings": _union(each.warnings for each in records),
            "answer_kind": _if_equal(each.answer_kind for each in records) or "any-of",
            "min_n": max(each.min_n for each in records),
            "parent": None,
            "merged": tuple(sorted(each.fingerprint for each in records)),
            "original": _if_equal(each.original for each in records),
            "perturbed_runs": (),
            "selection": recorded.Selection(limit=None, filters={}),
            "kept": tuple(
                name.removeprefix(KEPT)
                for name in examples.columns
                if name.startswith(KEPT)
            ),
            "data": data,
            "predictions": predictions,
            "extraction": _extraction(first, examples),
            "components": tuple(components.values()),
            "columns": _columns(records, examples, details),
            "core": recorded_core(),
            "environment": environment(),
            "files": {},
            "headline_score": None,
        }
    )
    return record.changed(fingerprint=fingerprint_of(record))


_PARTS = "the parts hold only some examples of their data; there may be others"


def _left_out(parts: Sequence[Result]) -> list[str]:
    names = parts[0].record.metric_names
    given = dict.fromkeys(name for part in parts for name in part.metrics)
    return [
        f"{name}: given by a dataset itself, and left out as it cannot be merged"
        for name in given
        if metric_of(name, names) is None
    ]


def _if_equal(values: Iterable[Any]) -> Any:
    """Return the one value of all runs; None if they differ."""
    first, *others = values
    return first if all(other == first for other in others) else None


def _union(several: Iterable[Sequence[str]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text for texts in several for text in texts))


def _extraction(first: RunRecord, examples: pl.DataFrame) -> recorded.Extraction | None:
    kept = kept_extraction(examples)
    if first.extraction is None or kept is None:
        return None
    return first.extraction.model_copy(update=counts_of(kept))


def _columns(
    records: Sequence[RunRecord],
    examples: pl.DataFrame,
    details: Mapping[str, pl.DataFrame],
) -> tuple[recorded.Columns, ...]:
    """Return what the merged run records of computed columns."""
    by_name: dict[str, list[recorded.Columns]] = {}
    for record in records:
        for each in record.columns:
            by_name.setdefault(each.name, []).append(each)
    merged = []
    for name, several in by_name.items():
        reasons: Counter[str] = Counter()
        for each in several:
            reasons.update(each.without_value)
        values = (examples[column] for column in several[0].columns)
        update = {
            "rows": sum(each.rows for each in several),
            "without_value": dict(reasons.most_common()),
            "sha256": values_hash(values, details[name]),
            "details": {},
        }
        merged.append(several[0].model_copy(update=update))
    return tuple(merged)


def _scored(
    joined: Result, metrics: Sequence[BoundMetric], progress: Progress
) -> Result:
    """Score the joined examples."""
    examples, measured = examples_of(joined), measured_run(joined)
    left = unscored_answers(examples, joined.problems)
    settings = settings_of(joined.record)
    scored = measure(metrics, measured, settings, progress, joined.statistics, left)
    try:
        baselines = compute_baselines(scored[0].metric, measured.table)
    except MetricError:  # reported with the metric's scores
        baselines = None
    joined.amend(baselines=baselines and recorded.Baselines(**baselines._asdict()))
    names = {found.name for found in scored}
    stored = [name for name in examples.columns if name in names]
    joined.examples = examples.drop(all_named(stored))
    joined.statistics = {}
    joined.problems = Problems(each for each in joined.problems if each.metric is None)
    return add_scores(joined, scored, measured.groups, metrics)
