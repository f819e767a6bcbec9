"""What a run records and holds that was merged of others.

Examples, statistics and problems of their folders are joined.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

import polars as pl

from evalkit.base.columns import all_named
from evalkit.base.names import metric_of
from evalkit.base.terms import AnswerKind
from evalkit.base.violations import few
from evalkit.errors import AlignmentError, EvalkitError
from evalkit.inference.intervals import INTERVAL_RULES
from evalkit.plugins.provenance import environment, rows_hash
from evalkit.predictions.embedded_answers import embedded_notices, is_about_embedded
from evalkit.predictions.problems import Problems
from evalkit.predictions.written_forms import (
    is_about_gold_forms,
    is_about_numbers,
    merged_form_notices,
    number_notices,
)
from evalkit.runs import recorded
from evalkit.runs.accounts import cell_notices, is_about_cells, unparsed_notice
from evalkit.runs.extractions import merged_extraction, without_kept
from evalkit.runs.identity import merged_fingerprint
from evalkit.runs.jobs import is_about_job, job_notices
from evalkit.runs.merged_jobs import merged_job, merged_job_notices
from evalkit.runs.record import FORMAT_VERSION, RunRecord
from evalkit.runs.recording import recorded_core
from evalkit.runs.results import Result
from evalkit.runs.stored import scored_fields
from evalkit.runs.tables import KEPT
from evalkit.scoring.unscored import is_unscored_notice

_ONLY = re.compile(r"only [\d ]+ examples? evaluated: ")
"""Start of the notice of a part that it is of some examples only."""


def merged_record(
    parts: Sequence[Result], dataset: str, model: str, examples: pl.DataFrame
) -> RunRecord:
    """Put together what a run over all examples of several runs records.

    Args:
        parts: The runs, which were made in one way.
        dataset: Name of the data set of the merged run.
        model: Name of its model.
        examples: The examples of all parts.

    Returns:
        The record, without what is known only when the examples are scored: headline,
        bounds, baselines, errors, and what the metrics have to say.
    """
    records = [part.record for part in parts]
    first, core = records[0], recorded_core()
    ids = sorted(record.fingerprint for record in records)
    holds_answers = "answer" in examples.columns
    record = RunRecord(
        format=FORMAT_VERSION,
        status="partial" if _are_selected(records) else "complete",
        model=model,
        dataset=dataset,
        task=first.task,
        split=first.split,
        headline=None,
        headline_aggregate=first.headline_aggregate,
        bounds={},
        cluster=_union(record.cluster for record in records),
        baselines=None,
        counts=_counts(records),
        unparsed=_reasons(records),
        errors=(),
        notices=_notices(parts, examples),
        warnings=(
            *_union(record.warnings for record in records),
            *_differing_libraries(records),
        ),
        answer_kind=_answer_kind(records),
        replications=first.replications,
        input_keys=first.input_keys,
        delta_metrics=first.delta_metrics,
        labels=first.labels,
        confidence=first.confidence,
        interval_rules=INTERVAL_RULES,
        seed=first.seed,
        # how its parts were shown does not matter for the whole
        min_n=max(record.min_n for record in records),
        by=first.by,
        parent=None,
        merged=tuple(ids),
        policies=first.policies,
        selection=recorded.Selection(limit=None, filters={}),
        includes_examples=holds_answers
        and all(record.includes_examples for record in records),
        kept=tuple(
            name.removeprefix(KEPT)
            for name in examples.columns
            if name.startswith(KEPT)
        ),
        data=_data(records),
        predictions=_predictions(records),
        extraction=merged_extraction(records, examples),
        components=_components(records),
        against=first.against if len({r.against for r in records}) == 1 else None,
        core=core,
        environment=environment(),
    )
    return record.changed(fingerprint=merged_fingerprint(record))


def _union(several: Iterable[Sequence[str]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text for texts in several for text in texts))


def _counts(records: Sequence[RunRecord]) -> recorded.Counts:
    counts: Counter[str] = Counter()
    for record in records:
        counts.update(record.counts.to_dict())
    counts.pop("unselected", None)  # what one part left out is in another
    if records[0].counts.replications:
        counts["replications"] = records[0].counts.replications
    return recorded.Counts(**counts)


def _reasons(records: Sequence[RunRecord]) -> dict[str, int]:
    found: Counter[str] = Counter()
    for record in records:
        found.update(record.unparsed)
    return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))


def _answer_kind(records: Sequence[RunRecord]) -> AnswerKind | None:
    kinds = {record.answer_kind or "one" for record in records}
    return "any-of" if kinds == {"one", "any-of"} else records[0].answer_kind


def _data(records: Sequence[RunRecord]) -> recorded.Data:
    hashes = sorted({str(record.data.sha256) for record in records})
    sha256 = hashes[0] if len(hashes) == 1 else rows_hash([{"parts": hashes}])
    files = tuple(file for record in records for file in record.data.files)
    own = {
        name: values.pop() if len(values) == 1 else None
        for name in ("rows_sha256", "attached_sha256", "limit", "source_url")
        if (values := {getattr(record.data, name) for record in records})
    }
    adapters = _common_adapters([record.data for record in records])
    update = {"sha256": sha256, "files": files, "adapters": adapters, **own}
    return records[0].data.model_copy(update=update)


def _predictions(records: Sequence[RunRecord]) -> recorded.Predictions:
    """Return what the parts' predictions have in common: adapters, and their jobs."""
    given = [record.predictions for record in records]
    adapters, job = _common_adapters(given), merged_job(given)
    of_all = recorded.Predictions(name=None, sha256=None, adapters=adapters)
    return of_all if job is None else of_all.model_copy(update={"job": job})


def _common_adapters(
    parts: Sequence[recorded.Data | recorded.Predictions],
) -> tuple[recorded.Adapter, ...]:
    """Return the adapters of all parts, where these are the same."""
    first = parts[0].adapters
    return first if all(each.adapters == first for each in parts) else ()


def _components(records: Sequence[RunRecord]) -> tuple[recorded.Component, ...]:
    """Return each component once, as it was first recorded.

    One that differs in its libraries only is the same.
    """
    found: dict[str, recorded.Component] = {}
    for record in records:
        for component in record.components:
            found.setdefault(repr(component.identity), component)
    return tuple(found.values())


def _differing_libraries(records: Sequence[RunRecord]) -> list[str]:
    """Say which libraries had several versions when the parts were made."""
    versions: dict[str, dict[str, None]] = {}
    for record in records:
        for component in record.components:
            for name, version in (component.libraries or {}).items():
                versions.setdefault(name, {})[version] = None
    return [
        f"{name}: the parts were scored with different versions: {', '.join(several)}"
        for name, several in sorted(versions.items())
        if len(several) > 1
    ]


def _notices(parts: Sequence[Result], examples: pl.DataFrame) -> tuple[str, ...]:
    records = [part.record for part in parts]
    of_parts = _union(record.notices for record in records)
    given = [record.predictions for record in records]
    job, counts = merged_job(given), _counts(records).to_dict()
    kind = _answer_kind(records) or "one"
    return (
        *(text for text in of_parts if not _is_of_a_part(text)),
        *unparsed_notice(counts["unparsed"], _reasons(records)),
        *cell_notices(counts, records[0].policies),
        *_number_notices(examples, of_parts),
        *_embedded_notices(examples, of_parts, records[0]),
        *merged_form_notices(examples, records[0].labels, kind, of_parts),
        *_selections(records),
        *_left_out(parts),
        *merged_job_notices(given),
        *job_notices({"name": None, "job": job and job.to_dict()}, counts),
    )


def _is_of_a_part(notice: str) -> bool:
    """Tell whether a notice counts examples of one part; the whole has its own."""
    is_own = is_unscored_notice(notice) or is_about_gold_forms(notice)
    is_own |= is_about_job(notice) or is_about_cells(notice)
    is_counted = is_about_numbers(notice) or is_about_embedded(notice)
    return is_own or is_counted or bool(_ONLY.match(notice))


def _number_notices(examples: pl.DataFrame, of_parts: Sequence[str]) -> list[str]:
    """Count anew what the parts counted; keep theirs where answers are not known."""
    if {"answer", "pred"} <= {*examples.columns}:
        return number_notices(examples["answer"], examples["pred"])
    return [text for text in of_parts if is_about_numbers(text)]


def _embedded_notices(
    examples: pl.DataFrame, of_parts: Sequence[str], first: RunRecord
) -> list[str]:
    """Count anew what the parts counted; keep theirs where scores are not known."""
    score, told = first.headline, any(map(is_about_embedded, of_parts))
    if told and score is not None and {"answer", "pred", score} <= {*examples.columns}:
        return embedded_notices(
            examples["answer"], examples["pred"], examples[score], first.labels
        )
    return [text for text in of_parts if is_about_embedded(text)]


def _are_selected(records: Sequence[RunRecord]) -> bool:
    """Tell whether a part is of some examples of its data only."""
    return not all(record.selection.is_whole for record in records)


def _selections(records: Sequence[RunRecord]) -> list[str]:
    if not _are_selected(records):
        return []
    return ["the parts hold only some examples of their data; there may be others"]


def _left_out(parts: Sequence[Result]) -> list[str]:
    """Say which scores are of no metric, but given by a data set itself."""
    names = parts[0].record.metric_names
    given = dict.fromkeys(name for part in parts for name in part.metrics)
    return [
        f"{name}: given by a data set itself, and left out as it cannot be merged"
        for name in given
        if metric_of(name, names) is None
    ]


def _with_common_kept(frames: Sequence[pl.DataFrame]) -> list[pl.DataFrame]:
    """Leave out the columns of the data that not all runs keep, in one type."""
    common = set.intersection(*({*frame.schema.items()} for frame in frames))
    names = {name for name, _ in common}
    return [
        frame.select(
            all_named(n for n in frame.columns if n in names or not n.startswith(KEPT))
        )
        for frame in frames
    ]


def join_examples(parts: Sequence[Result]) -> pl.DataFrame:
    """Join the examples of runs, in their order.

    Args:
        parts: The runs.

    Returns:
        All examples, without answers and predictions where one of the runs holds none.

    Raises:
        AlignmentError: An example is in two of the runs.
        EvalkitError: A run has no examples, only some have clusters, or their columns
            do not go together.
    """
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
    if all(part.record.includes_examples for part in parts):
        fields = [name for frame in frames for name in scored_fields(frame)]
        frames = _with_lists(frames)
    else:
        # what one part withholds, the whole does not hold either
        frames = [_without_answers(frame) for frame in frames]
    frames = _with_common_kept(frames)
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
    kept = [name for name in frame.columns if name.startswith(KEPT)]
    dropped = ["answer", "pred", *scored_fields(frame), *kept]
    return without_kept(frame.drop(all_named(dropped)))


def _ordered(joined: pl.DataFrame, fields: Sequence[str]) -> pl.DataFrame:
    """Put the fields of all parts where those of a run stand."""
    if not fields:
        return joined
    others = [name for name in joined.columns if name not in fields]
    place = others.index("pred") + 1
    return joined.select(
        all_named([*others[:place], *dict.fromkeys(fields), *others[place:]])
    )


def join_statistics(parts: Sequence[Result]) -> dict[str, pl.DataFrame]:
    """Join the statistics of the metrics of which all runs have them.

    Args:
        parts: The runs, each with examples.

    Returns:
        The statistics by name of the metric, with positions in the joined examples.
    """
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


def join_problems(parts: Sequence[Result]) -> Problems:
    """Return the problems of all runs, in their order."""
    return Problems([problem for part in parts for problem in part.problems])
