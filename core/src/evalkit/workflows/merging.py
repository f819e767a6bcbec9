"""Puts runs over disjoint examples together, as one run over all of them.

What is merged are the saved statistics of the metrics, so that neither data nor
predictions are needed, and the result is the one that a single run would have had:
clusters may span parts, and a resampled example is drawn equally often in its part and
in the whole.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from evalkit.base.columns import all_named
from evalkit.base.names import is_component_name, metric_of
from evalkit.base.progress import Progress
from evalkit.base.terms import AnswerKind
from evalkit.base.violations import few, shorten
from evalkit.errors import AlignmentError, EvalkitError, MetricError
from evalkit.examples.files import local_path
from evalkit.examples.selection import Selection
from evalkit.inference.intervals import INTERVAL_RULES
from evalkit.plugins.bound import BoundMetric
from evalkit.plugins.libraries import (
    differing_libraries,
    joined_components,
    without_libraries,
)
from evalkit.plugins.provenance import (
    describe_component,
    describe_core,
    environment,
    rows_hash,
    run_id_of,
)
from evalkit.plugins.registry import Registry
from evalkit.plugins.resolver import Resolver
from evalkit.predictions.label_forms import is_about_gold_forms, merged_form_notices
from evalkit.predictions.number_forms import is_about_numbers, number_notices
from evalkit.predictions.problems import Problem, Problems
from evalkit.runs.listing import as_result
from evalkit.runs.record import NO_PERTURBATION
from evalkit.runs.results import FORMAT_VERSION, Result
from evalkit.runs.saved_tables import saved_statistics, with_example_scores
from evalkit.runs.scores import bounds_of, headline_name, to_scores
from evalkit.runs.stored import (
    bound_metrics,
    metric_names,
    mixed_clusters,
    scored_fields,
)
from evalkit.runs.stored_tables import measured_run, measured_statistics, settings_of
from evalkit.scoring.baselines import compute_baselines
from evalkit.scoring.measurement import Measured, measure
from evalkit.scoring.metric import failed_scores
from evalkit.scoring.records import MetricScores, notices_of
from evalkit.scoring.unscored import NOTHING_SCORED, is_unscored_notice

_ONLY = re.compile(r"only [\d ]+ examples? evaluated: ")
"""Start of the notice of a part that it is of some examples only."""

SAME = (
    "task",
    "split",
    "labels",
    "headline_aggregate",
    "confidence",
    "seed",
    "policies",
    "by",
    "resample_lists",
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
    out = None if out is None else local_path(out)
    parts = [as_result(run, folder) for run in runs]
    if len(parts) < 2:
        raise EvalkitError("name two or more runs to merge")
    _refuse_mixture(parts)
    names = {
        "dataset": _common(parts, "dataset", dataset),
        "model": _common(parts, "model", model),
    }
    if not is_component_name(names["dataset"]):
        raise EvalkitError(f"{names['dataset']!r} is no legal name of a data set")
    examples = _join_examples(parts)
    record = _record(parts, names, examples)
    metrics = bound_metrics(parts[0], Resolver(registry or Registry()))
    # how its parts were shown does not matter for the whole
    record["min_n"] = max(part.to_dict().get("min_n", 1) for part in parts)
    record["warnings"] += _changed_metrics(metrics, parts[0])
    joined = Result(record, (), _problems(parts), examples, _statistics(parts))
    result = _scored(joined, metrics, progress)
    result.record_time(started, time.time() - started)
    if out is not None:
        result.save(out)
    return result


def _refuse_mixture(parts: Sequence[Result]) -> None:
    first = parts[0].to_dict()
    for part in parts:
        record = part.to_dict()
        if part.status == "refused":
            raise EvalkitError(f"the run {part.run_id} was refused: it has no scores")
        for key in SAME:
            if record.get(key) != first.get(key):
                raise EvalkitError(
                    f"the runs {parts[0].run_id} and {part.run_id} differ in {key}: "
                    f"{shorten(first.get(key))} and {shorten(record.get(key))}"
                )
        for mine, theirs in zip(_metrics(first), _metrics(record), strict=False):
            if mine != theirs:
                raise EvalkitError(
                    f"the runs {parts[0].run_id} and {part.run_id} differ in the "
                    f"metric {mine['id']}: {_difference(mine, theirs)}"
                )
        if mixed := mixed_clusters(parts[0], part):
            raise EvalkitError(mixed)
        if len(_metrics(first)) != len(_metrics(record)):
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


def _metrics(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [
        without_libraries(component)
        for component in record["components"]
        if component["id"].startswith("metrics/")
    ]


def _common(parts: Sequence[Result], key: str, given: str | None) -> str:
    names = list(dict.fromkeys(str(part.to_dict()[key]) for part in parts))
    if given is not None:
        return given
    if len(names) > 1:
        raise EvalkitError(
            f"the runs differ in {key}: {few(names)}; name the merged run's with "
            f"{key}=… (--{key} NAME)"
        )
    return names[0]


def _join_examples(parts: Sequence[Result]) -> pl.DataFrame:
    frames = []
    for part in parts:
        frame = part.examples
        if frame is None:
            raise EvalkitError(f"the run {part.run_id} has no examples")
        frames.append(frame)
    if len({frame["cluster"].null_count() == frame.height for frame in frames}) > 1:
        raise EvalkitError(
            "only some of the runs have clusters: their examples cannot be resampled "
            "in one way"
        )
    fields: list[str] = []
    if all(part.to_dict()["includes_examples"] for part in parts):
        fields = [name for frame in frames for name in scored_fields(frame)]
        frames = _with_lists(frames)
    else:
        # what one part withholds, the whole does not hold either
        frames = [_without_answers(frame) for frame in frames]
    try:
        joined = _ordered(pl.concat(frames, how="diagonal_relaxed"), fields)
    except pl.exceptions.PolarsError as error:
        raise EvalkitError(
            "the runs' examples do not go together, as their columns are of different "
            f"types: {str(error).partition(chr(10))[0]}"
        ) from error
    cells = joined.select("id", "replication")
    repeated = cells.filter(cells.is_duplicated())
    if repeated.height:
        ids = list(dict.fromkeys(repr(uid) for uid in repeated["id"]))
        raise AlignmentError(f"examples are in two of the runs: {few(ids)}")
    return joined


def _with_lists(frames: Sequence[pl.DataFrame]) -> list[pl.DataFrame]:
    """Make lists of single answers where other parts have several."""
    if not any(isinstance(frame["answer"].dtype, pl.List) for frame in frames):
        return list(frames)
    return [
        frame
        if isinstance(frame["answer"].dtype, pl.List)
        else frame.with_columns(pl.concat_list("answer"))
        for frame in frames
    ]


def _without_answers(frame: pl.DataFrame) -> pl.DataFrame:
    if "pred" not in frame.columns:
        return frame
    return frame.drop(all_named(["answer", "pred", *scored_fields(frame)]))


def _ordered(joined: pl.DataFrame, fields: Sequence[str]) -> pl.DataFrame:
    """Put the fields of all parts where those of a run stand."""
    if not fields:
        return joined
    others = [name for name in joined.columns if name not in fields]
    place = others.index("pred") + 1
    return joined.select(
        all_named([*others[:place], *dict.fromkeys(fields), *others[place:]])
    )


def _statistics(parts: Sequence[Result]) -> dict[str, pl.DataFrame]:
    """Join the statistics of metrics that all parts have, with their new positions."""
    names = set.intersection(*(set(part.statistics) for part in parts))
    joined: dict[str, pl.DataFrame] = {}
    for name in sorted(names):
        first, frames = 0, []
        for part in parts:
            moved = pl.col("position").cast(pl.UInt32) + pl.lit(first, dtype=pl.UInt32)
            frames.append(part.statistics[name].with_columns(moved))
            assert part.examples is not None
            first += part.examples.height
        joined[name] = pl.concat(frames, how="vertical_relaxed")
    return joined


def _problems(parts: Sequence[Result]) -> Problems:
    def all_of_them() -> list[Problem]:
        return [problem for part in parts for problem in part.problems]

    return Problems(all_of_them())


def _record(
    parts: Sequence[Result], names: Mapping[str, str], examples: pl.DataFrame
) -> dict[str, Any]:
    records = [part.to_dict() for part in parts]
    first = records[0]
    counts: Counter[str] = Counter()
    for record in records:
        counts.update(record["counts"])
    counts.pop("unselected", None)  # what one part left out is in another
    if "replications" in first["counts"]:
        counts["replications"] = first["counts"]["replications"]
    ids = sorted(record["run_id"] for record in records)
    inputs = {"format": FORMAT_VERSION, "merged": ids, **names, "core": describe_core()}
    hashes = sorted({record["data"]["sha256"] for record in records})
    kinds = {record.get("answer_kind", "one") for record in records}
    kind: AnswerKind = "any-of" if kinds == {"one", "any-of"} else first["answer_kind"]
    notices = _union(records, "notices")
    record = {key: value for key, value in first.items() if key != "scores"}
    return record | {
        "format": FORMAT_VERSION,
        "interval_rules": INTERVAL_RULES,
        "run_id": run_id_of(inputs),
        **names,
        "status": "partial" if _are_selected(records) else "complete",
        "selection": Selection().to_dict(),
        "parent": None,
        "merged": ids,
        "repeat_of": None,
        "answer_kind": kind,
        "counts": dict(counts),
        "errors": [],
        "notices": [
            *(text for text in notices if not _is_of_a_part(text)),
            *_number_notices(examples, notices),
            *merged_form_notices(examples, first.get("labels"), kind, notices),
            *_selections(records),
            *_left_out(parts),
            *_without_perturbations(records),
        ],
        "warnings": [*_union(records, "warnings"), *differing_libraries(records)],
        "cluster": _union(records, "cluster"),
        "includes_examples": "answer" in examples.columns
        and all(record["includes_examples"] for record in records),
        "data": first["data"]
        | {
            "sha256": hashes[0] if len(hashes) == 1 else rows_hash([{"parts": hashes}]),
            "files": [file for record in records for file in record["data"]["files"]],
        },
        "predictions": {"name": None, "sha256": None},
        "components": joined_components(records),
        "core": describe_core(),
        "environment": environment(),
        **NO_PERTURBATION,
    }


def _is_of_a_part(notice: str) -> bool:
    """Tell whether a notice counts examples of one part; the whole has its own."""
    is_own = is_unscored_notice(notice) or is_about_gold_forms(notice)
    return is_own or is_about_numbers(notice) or bool(_ONLY.match(notice))


def _number_notices(examples: pl.DataFrame, of_parts: Sequence[str]) -> list[str]:
    """Count anew what the parts counted; keep theirs where answers are not known."""
    if {"answer", "pred"} <= {*examples.columns}:
        return number_notices(examples["answer"], examples["pred"])
    return [text for text in of_parts if is_about_numbers(text)]


def _without_perturbations(records: Sequence[Mapping[str, Any]]) -> list[str]:
    if not any(record.get("perturbed") for record in records):
        return []
    return ["the parts' scores under perturbation are not merged"]


def _are_selected(records: Sequence[Mapping[str, Any]]) -> bool:
    """Tell whether a part is of some examples of its data only."""
    whole = Selection().to_dict()
    return any(record["selection"] != whole for record in records)


def _selections(records: Sequence[Mapping[str, Any]]) -> list[str]:
    if not _are_selected(records):
        return []
    return ["the parts are of some examples of their data; there may be others"]


def _changed_metrics(metrics: Sequence[BoundMetric], part: Result) -> list[str]:
    """Say which metrics are not the code any more that computed the statistics."""
    then = [c["source_sha256"] for c in _metrics(part.to_dict())]
    return [
        f"{metric.name}: its package is not what it was when the parts were scored; "
        "their statistics were finalized by the one that is installed now"
        for metric, before in zip(metrics, then, strict=True)
        if describe_component(metric)["source_sha256"] != before
    ]


def _left_out(parts: Sequence[Result]) -> list[str]:
    """Say which scores are of no metric, but given by a data set itself."""
    names = metric_names(parts[0].to_dict())
    given = dict.fromkeys(name for part in parts for name in part.metrics)
    return [
        f"{name}: given by a data set itself, and left out as it cannot be merged"
        for name in given
        if metric_of(name, names) is None
    ]


def _union(records: Sequence[Mapping[str, Any]], key: str) -> list[str]:
    texts = (text for record in records for text in record.get(key, ()))
    return list(dict.fromkeys(texts))


def _scored(joined: Result, metrics: list[BoundMetric], progress: Progress) -> Result:
    record = joined.to_dict()
    includes = bool(record["includes_examples"])
    measured = measured_run(joined) if includes else measured_statistics(joined)
    usable = [m for m in metrics if includes or m.name in joined.statistics]
    settings = settings_of(record)
    measures = measure(usable, measured, settings, progress, joined.statistics)
    if not includes:
        # nobody knows what was left out
        measures = [_without_bounds(found) for found in measures]
    by_name = {found.name: found for found in measures}
    scored = [
        by_name[metric.name]
        if metric.name in by_name
        else failed_scores(metric, measured.groups, _not_kept(metric))
        for metric in metrics
    ]
    scores = to_scores(scored, measured.groups, str(record["split"]))
    failed = [found.error for found in scored if found.error]
    if not joined.counts["scored"]:
        failed.append(NOTHING_SCORED)
    record["errors"] = failed
    record["notices"] = [*record["notices"], *notices_of(scored)]
    is_partial = bool(failed) or record["status"] == "partial"
    record["status"] = "partial" if is_partial else "complete"
    record["headline"] = headline_name(scored)
    record["bounds"] = bounds_of(metrics)
    record["baselines"] = _baselines(metrics[0], measured) if includes else None
    del record["scores"]
    assert joined.examples is not None
    names = {metric.name for metric in metrics}
    known = [name for name in joined.examples.columns if name in names]
    examples = with_example_scores(joined.examples.drop(all_named(known)), scored)
    statistics = saved_statistics(scored, includes)
    return Result(record, scores, joined.problems, examples, statistics)


def _without_bounds(found: MetricScores) -> MetricScores:
    scores = [score._replace(bounds=None) for score in found.scores]
    return found._replace(scores=scores)


def _not_kept(metric: BoundMetric) -> MetricError:
    return MetricError(
        f"{metric.name}: the runs were made with --no-examples (include_examples="
        "False) and hold nothing that it can be computed from; evaluate again without "
        "it"
    )


def _baselines(metric: BoundMetric, measured: Measured) -> dict[str, Any] | None:
    try:
        found = compute_baselines(metric, measured.table)
    except MetricError:
        # the metric's own failure is reported with its scores
        return None
    return found and found._asdict()
