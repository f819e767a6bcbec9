"""Buckets: their responses matched and scored by core, and all of it added up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from evalkit.base.ids import RESPONSES_KEY
from evalkit.predictions.alignment import Alignment, align
from evalkit.predictions.alternatives import OF_ALTERNATIVES, alternatives_column
from evalkit.predictions.matching import sorted_replications
from evalkit.predictions.preparation import Prepared
from evalkit.runs import recorded
from evalkit.runs.record import RunRecord
from evalkit.runs.recording import Parts, make_result
from evalkit.runs.results import Result
from evalkit.runs.scores import GroupSizes
from evalkit.runs.tables import texts_of
from evalkit.scoring.grouping import Whole, bin_edges
from evalkit.scoring.records import (
    MetricScores,
    Outcomes,
    takes_no_prediction,
    with_outcomes,
)
from evalkit.scoring.table import ListsGiven
from evalkit.scoring.tally import merge_tallies
from evalkit.workflows import evaluation_steps as steps
from evalkit.workflows.partitions import tally_part
from evalkit_engines_dask.buckets import Pieces
from evalkit_engines_dask.data import LAST, bucket_examples
from evalkit_engines_dask.plan import Inferred, Plan, Task
from evalkit_engines_dask.responses import ResponsePart, bucket_blocks, keep_part
from evalkit_engines_dask.sources import Source, on_this_machine
from evalkit_engines_dask.store import attempt, load, save, written
from evalkit_engines_dask.types import common_type, conformed, type_of


class Scored(NamedTuple):
    """What came of a bucket."""

    record: RunRecord
    """What a run of these examples would record."""
    alignment: Alignment
    """Without rows and problems: what a user should know of the responses."""
    inferred: Inferred
    tallies: str | None
    """File of its tallies; None where the policies refuse its responses."""
    numbers: Mapping[str, pl.DataFrame]
    """How often each number of a column that examples are grouped by is there."""
    texts: NDArray[np.uint64]
    """Hashes of the texts that answers were taken from."""
    lists: ListsGiven | None
    refused: Counter[str]
    """How many responses each adapter refused."""
    problems: str | None
    """File of the problems, each with what they are sorted by in the whole."""
    files: Mapping[str, str]
    """Files in the store by their name in the folder of the part."""
    kept: str | None
    """File of the rows as they came, where the bucket is a file of predictions."""

    @property
    def rows(self) -> int:
        """Number of answers."""
        return self.alignment.counts["examples"]


def score_bucket(
    task: Task,
    bucket: int,
    files: Sequence[tuple[int, str | Path]],
    known: Inferred | None,
) -> Scored:
    """Match and score the responses of a bucket.

    What is inferred from all responses is known once all buckets were scored; until
    then the bucket's own responses say it.
    """
    files = [(start, on_this_machine(file)) for start, file in files]
    plan = task.load()
    asked, survey = plan.asked, plan.survey
    examples = bucket_examples(task, survey, bucket)
    frame, is_whole = examples.frame, asked.options.selection.is_whole
    ids, selected = frame["id"], None if is_whole else frame["selected"]
    reader = plan.reader(examples)
    alignment = align(
        ids,
        bucket_blocks(task, bucket, files, reader),
        reader,
        asked.options.policies.on_duplicate,
        selected,
        replications=known and known.replications,
    )
    columns = {"pred": alignment.predictions, **alignment.fields}
    types = {
        name: dtype for name in columns if (dtype := type_of(columns[name])) != pl.Null
    }
    own = Inferred(alignment.replications, types)
    order = *reader.scored_fields, RESPONSES_KEY
    alignment = _conformed(alignment, (known or own).types, order)
    if selected is not None:
        examples = examples.where(selected)
    if alignment.replications:
        examples = examples.repeated(len(alignment.replications))
    given = {"name": None, "sha256": None}
    stages = asked.stage, asked.answers, plan.job
    prepared = Prepared(examples, alignment, given, ids, *stages)
    refused = alignment.refusal(asked.options.policies)
    is_scored = not (refused or (known and known.is_refused)) and bool(asked.metrics)
    numbers = _numbers(plan, prepared)
    counted = alignment.statuses.is_in(list(asked.options.policies.counted))
    metrics = [part for metric in asked.metrics for part in metric.parts()]
    needs_all = not all(map(takes_no_prediction, metrics))
    own = own._replace(
        edges={name: tuple(bin_edges(numbers[name]).tolist()) for name in numbers},
        is_refused=bool(refused),
        unanswered=needs_all and (counted & alignment.predictions.is_null()).any(),
    )
    whole = known or own
    edges = {name: np.array(each) for name, each in whole.edges.items()}
    crossed = steps.cross_examples(asked, prepared, Whole(survey.facets, edges))
    outcomes: dict[str, Outcomes] = {}
    tallies = None
    if is_scored:
        of_part = prepared, crossed, outcomes, survey.is_clustered
        found = tally_part(plan.partition, *of_part)
        tallies = save(task.store, attempt(f"{task.folder}/tallies"), found)
    scored = [
        with_outcomes(MetricScores(part.name, part, [], None), outcomes[part.name])
        for part in metrics
        if part.name in outcomes and (takes_no_prediction(part) or not whole.unanswered)
    ]
    parts = Parts(asked, prepared, GroupSizes((), []), crossed, scored)
    result = make_result(parts, plan.model, refused)
    folder = attempt(f"{task.folder}/scored/{bucket}")
    texts = pl.Series([], dtype=pl.String)
    if alignment.extracted is not None:
        texts = texts_of(alignment.extracted)
    return Scored(
        result.record,
        alignment._replace(
            statuses=alignment.statuses.clear(),
            predictions=alignment.predictions.clear(),
            fields={},
            problems=(),  # type: ignore[arg-type]
            computed=(),
            lacking={},
            extracted=None,
        ),
        whole,
        tallies,
        numbers,
        np.unique(texts.hash().to_numpy()),
        ListsGiven.among(
            *(alignment.predictions, survey.examples.answer_kind),
            examples.frame["id"],
            show=asked.options.include_examples,
        ),
        reader.adapters.refused,
        _save_problems(task, folder, result, frame, asked.metric_names),
        _write_tables(task, folder, result) if plan.writes else {},
        keep_part(task, bucket, files[0][1]) if task.is_bucketed and files else None,
    )


def _conformed(
    alignment: Alignment, types: Mapping[str, pl.DataType], order: Sequence[str]
) -> Alignment:
    """Bring responses into the types of the whole, with all fields that it has."""
    predictions = alignment.predictions
    predictions = conformed(predictions, types.get("pred", predictions.dtype))
    is_scored = alignment.statuses == "scored"
    nothing = pl.repeat(None, len(predictions), eager=True)
    fields = dict(alignment.fields)
    for name in types.keys() - fields.keys() - {"pred"}:
        fields[name], only = nothing, None
        # a plain response is its only alternative
        if name == RESPONSES_KEY:
            only = [[] if value is None else [value] for value in predictions.to_list()]
        elif name.startswith(OF_ALTERNATIVES):
            own = alignment.fields.get(name.removeprefix(OF_ALTERNATIVES), nothing)
            only = [[value] for value in own.to_list()]
        if only is not None:
            rows = zip(only, is_scored, strict=True)
            fields[name] = alternatives_column([own if s else None for own, s in rows])
    fields = {
        name: conformed(fields[name].alias(name), types.get(name, fields[name].dtype))
        for name in order
        if name in fields
    }
    return alignment._replace(predictions=predictions, fields=fields)


def _numbers(plan: Plan, prepared: Prepared) -> dict[str, pl.DataFrame]:
    """Count the numbers of columns that examples are grouped by."""
    columns = steps.columns_to_cross(*prepared[:2])
    found = {}
    for name in sorted(plan.asked.crossed & columns.keys()):
        column = columns[name].alias("number")
        if column.dtype.is_float():
            column = column.fill_nan(None)
        if column.dtype.is_numeric():
            found[name] = column.value_counts()
    return found


def _save_problems(
    task: Task,
    folder: str,
    result: Result,
    examples: pl.DataFrame,
    metrics: Sequence[str],
) -> str | None:
    """Write the problems with what they are sorted by in the whole."""
    if not len(result.problems):
        return None
    rows: dict[str | None, int] = dict(examples.select("id", "row").iter_rows())
    listed, keys = [*result.problems], []
    for place, problem in enumerate(listed):
        names = [None, *metrics, problem.metric]
        row = rows.get(problem.id or "", 0)
        keys.append((problem.line or LAST, names.index(problem.metric), row, place))
    return save(task.store, f"{folder}/problems", (np.array(keys, np.int64), listed))


def add_tallies(task: Task, files: Sequence[str]) -> str:
    """Add up tallies of the store, and write the sum there."""
    tallies = merge_tallies([load(task.store, file) for file in files])
    return save(task.store, attempt(f"{task.folder}/tallies"), tallies)


def _write_tables(task: Task, folder: str, result: Result) -> dict[str, str]:
    files = {}
    for name, frame in result.tables_by_example().items():
        assert frame is not None
        files[name] = f"{folder}/{name}"
        with written(task.store, files[name]) as path:
            frame.write_parquet(path)
    return files


def merge_pieces(source: Source | None, parts: Sequence[ResponsePart]) -> Pieces:
    """Return the files of parts; lines are numbered through all files."""
    paths = [None] if source is None else source.parts
    last: dict[Path | None, int] = {}
    for path, part in zip(paths, parts, strict=True):
        last[path] = max(last.get(path, 0), part.last)
    starts = dict(zip(last, accumulate(last.values(), initial=0), strict=False))
    return [(starts[p], part.files) for p, part in zip(paths, parts, strict=True)]


def merge_inferred(scored: Sequence[Scored]) -> Inferred:
    """Merge what parts infer of responses."""
    known = [each.inferred for each in scored]
    names = {name for each in known for name in each.types}
    of_numbers = {name for each in scored for name in each.numbers}
    return Inferred(
        sorted_replications({name for each in known for name in each.replications}),
        {
            name: common_type(each.types[name] for each in known if name in each.types)
            for name in sorted(names)
        },
        {
            name: _edges(each.numbers[name] for each in scored if name in each.numbers)
            for name in sorted(of_numbers)
        },
        any(each.is_refused for each in known),
        any(each.unanswered for each in known),
    )


def _edges(numbers: Iterable[pl.DataFrame]) -> tuple[float, ...]:
    counts = pl.concat(numbers, how="vertical_relaxed")
    summed = counts.group_by("number").agg(pl.col("count").sum()).sort("number")
    return tuple(bin_edges(summed).tolist())


def merge_alignments(
    scored: Sequence[Scored], parts: Sequence[ResponsePart]
) -> Alignment:
    """Add up what became of the responses of all buckets."""
    known = [each.alignment for each in scored]
    counts = _total(each.counts for each in known)
    if "replications" in counts:
        counts["replications"] = known[0].counts["replications"]
    undeclared = [each.undeclared for each in known]
    undeclared += (each.undeclared for each in parts)
    absent = [each.absent for each in known if each.counts["predictions"] > 1] or [()]
    return known[0]._replace(
        counts={name: counts[name] for name in known[0].counts},
        undeclared=_total(undeclared),
        unparsed=dict(_total(each.unparsed for each in known).most_common()),
        absent=tuple(n for n in absent[0] if all(n in each for each in absent)),
    )


def merge_records(scored: Sequence[Scored]) -> dict[str, Any]:
    """Add up what the records of buckets say of their examples."""
    known = [each.record for each in scored]
    return {
        "not_scored": dict(_total(each.not_scored for each in known)),
        "extraction": _merge_extractions(scored),
    }


def _merge_extractions(scored: Sequence[Scored]) -> recorded.Extraction | None:
    known = [each.record.extraction for each in scored]
    found = [each for each in known if each is not None]
    if not found:
        return None
    names = ("responses", "ok", "empty", "unparsed", "error")
    sums = {name: sum(getattr(each, name) for each in found) for name in names}
    texts = np.unique(np.concatenate([each.texts for each in scored]))
    return found[0].model_copy(update={**sums, "unique": len(texts)})


def list_notices(scored: Sequence[Scored]) -> list[str]:
    """Say how many lists were predicted where answers are single values."""
    known = [each.lists for each in scored if each.lists is not None]
    number = sum(each.number for each in known)
    return [str(known[0]._replace(number=number))] if known else []


def _total(counts: Iterable[Mapping[str, int]]) -> Counter[str]:
    total: Counter[str] = Counter()
    for each in counts:
        total.update(each)
    return total
