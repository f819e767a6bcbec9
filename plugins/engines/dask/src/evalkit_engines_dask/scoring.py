"""A bucket: its responses matched and scored by core, and what comes of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from evalkit.base.columns import all_named
from evalkit.base.ids import RESPONSES_KEY
from evalkit.plugins.bound import BoundMetric
from evalkit.predictions.alignment import Alignment, align
from evalkit.predictions.alternatives import OF_ALTERNATIVES
from evalkit.predictions.preparation import Prepared
from evalkit.predictions.problems import Problem
from evalkit.predictions.table import scoring_table
from evalkit.runs import recorded
from evalkit.runs.folders import statistics_file
from evalkit.runs.recording import Parts, make_result
from evalkit.runs.results import Result
from evalkit.runs.scores import GroupSizes
from evalkit.scoring.grouping import bin_edges
from evalkit.scoring.records import MetricScores, Outcomes, takes_no_prediction
from evalkit.scoring.table import ListsGiven
from evalkit.scoring.tally import Tallies
from evalkit.scoring.tallying import tally_table
from evalkit.workflows.evaluation_steps import columns_to_cross, cross_examples
from evalkit_engines_dask.columns import with_columns
from evalkit_engines_dask.data import BucketExamples, bucket_examples
from evalkit_engines_dask.plan import Inferred, Plan, Task
from evalkit_engines_dask.responses import (
    bucket_blocks,
    bucketed_blocks,
    keep_part,
    reader_of,
)
from evalkit_engines_dask.sources import on_this_machine
from evalkit_engines_dask.store import attempt, load, save, written
from evalkit_engines_dask.types import conformed, type_of

Key = tuple[int, int, int, int]
"""Places of a problem: its line, and for those without one what it is of."""

_LAST = int(np.iinfo(np.int64).max)


class Scored(NamedTuple):
    """What came of a bucket."""

    tallies: Tallies | None
    """None where the policies refuse its responses."""
    inferred: Inferred
    numbers: Mapping[str, pl.DataFrame]
    """How often each number of a column that examples are grouped by is there."""
    counts: Mapping[str, int]
    alignment: Alignment
    """Without rows and problems: what a user should know of the responses."""
    problems: str | None
    """File of the problems, each with its key."""
    files: Mapping[str, str]
    """Files in the store by their name in the folder of the part."""
    rows: int
    """Number of examples."""
    not_scored: Mapping[str, int]
    extraction: recorded.Extraction | None
    texts: np.ndarray[Any, np.dtype[np.uint64]]
    """Hashes of the texts that answers were taken from."""
    warnings: Sequence[str]
    lists: ListsGiven | None
    refused: Counter[str]
    """How many responses each adapter refused."""
    kept: str | None
    """File of the rows as they came, where the bucket is a file of predictions."""


def score_bucket(
    task: Task,
    bucket: int,
    files: Sequence[tuple[int, str | Path]],
    inferred: Inferred | None = None,
    columns: str | None = None,
) -> Scored:
    """Match and score the responses of a bucket.

    Args:
        task: What the task needs.
        bucket: Number of the bucket.
        files: Files of its responses in the store, or the file of predictions that
            holds the bucket, and what is added to the lines of each.
        inferred: What is known of all responses. Default: what this bucket says.
        columns: File of its computed columns; nothing is scored until they are there.

    Returns:
        What came of it.
    """
    plan = task.load()
    survey = plan.survey
    assert survey is not None
    found = bucket_examples(task, survey, bucket)
    reader = reader_of(plan, found.examples)
    options = plan.asked.options
    kept, blocks = None, bucket_blocks(task, files)
    if task.is_bucketed and files:
        ((offset, file),) = files
        assert isinstance(file, Path)
        here = on_this_machine(file)
        kept = keep_part(task, bucket, here)
        read = bucketed_blocks(task, bucket, here, reader)
        blocks = (block.moved(offset) for block in read)
    alignment = align(
        found.examples.frame["id"],
        blocks,
        reader,
        options.policies.on_duplicate,
        found.selected,
        replications=inferred and inferred.replications,
    )
    own = _inferred(alignment)
    if inferred is not None:
        alignment = _conformed(alignment, inferred)
    prepared = _prepared(plan, found, alignment)
    refused = alignment.refusal(options.policies)
    is_refused = bool(refused) or (inferred is not None and inferred.is_refused)
    has_stage = plan.asked.computed_columns is not None
    is_refused = is_refused or not plan.asked.metrics or (has_stage and columns is None)
    if columns is not None:
        alignment = with_columns(alignment, load(task.store, columns))
        prepared = prepared._replace(alignment=alignment)
    numbers = numbers_of(plan, prepared)
    own = own._replace(edges=edges_of(numbers), is_refused=bool(refused))
    own = own._replace(unanswered=_has_unanswered(plan, prepared.alignment))
    whole = (inferred or own).whole(survey.facets)
    crossed = {}
    if inferred is not None or not has_stage:  # else columns may be missing
        crossed = cross_examples(plan.asked, prepared, whole)
    grouped = Parts(plan.asked, prepared, GroupSizes((), []), crossed)
    outcomes: dict[str, Outcomes] = {}
    tallies = None if is_refused else _tallies(plan, grouped, outcomes)
    is_unanswered = (inferred or own).unanswered
    scored = [
        each
        for each in _scored(plan.asked.metrics, outcomes)
        if takes_no_prediction(each.metric) or not is_unanswered
    ]
    result = make_result(grouped._replace(scored=scored), plan.model, refused)
    folder = attempt(f"{task.folder}/scored/{bucket}")
    return Scored(
        tallies,
        inferred or own,
        numbers,
        alignment.counts,
        _without_rows(alignment),
        _save_problems(task, folder, result, found, plan.asked.metric_names),
        _write_tables(task, folder, result) if plan.writes else {},
        _count(found),
        result.record.not_scored,
        result.record.extraction,
        _texts(alignment),
        plan.asked.watchers.warnings,
        ListsGiven.among(
            *(alignment.predictions, survey.examples.answer_kind),
            prepared.examples.frame["id"],
            show=options.include_examples,
        ),
        reader.adapters.refused,
        kept,
    )


def _inferred(alignment: Alignment) -> Inferred:
    columns = {"pred": alignment.predictions, **alignment.fields}
    types = {n: each for n, c in columns.items() if (each := type_of(c)) is not None}
    return Inferred(alignment.replications, types, {})


def _conformed(alignment: Alignment, known: Inferred) -> Alignment:
    """Bring responses into the types of the whole, with all fields that it has."""
    predictions = conformed(alignment.predictions, known.types.get("pred"))
    nothing = pl.Series([None]).new_from_index(0, len(predictions))
    is_scored = pl.lit(alignment.statuses == "scored")
    fields = {}
    for name in known.types.keys() - {"pred"}:
        only = None  # a plain response is its only alternative
        if name == RESPONSES_KEY:
            only = pl.concat_list(pl.lit(predictions)).list.drop_nulls()
        elif name.startswith(OF_ALTERNATIVES):
            own = alignment.fields.get(name.removeprefix(OF_ALTERNATIVES), nothing)
            only = pl.concat_list(pl.lit(own))
        filled = pl.when(is_scored).then(only)
        fields[name] = nothing if only is None else pl.select(filled).to_series()
    fields |= alignment.fields
    fields = {
        name: conformed(column.alias(name), known.types.get(name))
        for name, column in fields.items()
    }
    return alignment._replace(predictions=predictions, fields=fields)


def _prepared(plan: Plan, found: BucketExamples, alignment: Alignment) -> Prepared:
    examples = found.examples
    if found.selected is not None:
        examples = examples.where(found.selected)
    if alignment.replications:
        examples = examples.repeated(len(alignment.replications))
    asked = plan.asked
    given = {"name": None, "sha256": None}
    ids = found.examples.frame["id"]
    return Prepared(
        examples, alignment, given, ids, asked.stage, asked.answers, plan.job
    )


def _has_unanswered(plan: Plan, alignment: Alignment) -> bool:
    """Tell whether some metric refuses an answer without a prediction."""
    metrics = (part for whole in plan.asked.metrics for part in whole.parts())
    if all(map(takes_no_prediction, metrics)):
        return False
    counted = alignment.statuses.is_in(list(plan.asked.options.policies.counted))
    return bool((counted & alignment.predictions.is_null()).any())


def edges_of(numbers: Mapping[str, pl.DataFrame]) -> dict[str, tuple[float, ...]]:
    """Cut counted numbers of columns that examples are grouped by."""
    return {name: tuple(bin_edges(each).tolist()) for name, each in numbers.items()}


def _count(found: BucketExamples) -> int:
    """Count the examples that are evaluated."""
    return len(found.rows) if found.selected is None else int(found.selected.sum())


def numbers_of(plan: Plan, prepared: Prepared) -> dict[str, pl.DataFrame]:
    """Count the numbers of columns that examples are grouped by."""
    columns = columns_to_cross(*prepared[:2])
    found = {}
    for name in sorted(plan.asked.crossed & columns.keys()):
        column = columns[name].alias("number")
        if column.dtype.is_float():
            column = column.fill_nan(None)
        if column.dtype.is_numeric():
            found[name] = column.value_counts()
    return found


def _tallies(plan: Plan, parts: Parts, outcomes: dict[str, Outcomes]) -> Tallies:
    assert plan.survey is not None
    examples, alignment = parts.prepared[:2]
    context = plan.survey.context._replace(job=plan.job)
    table = scoring_table(examples, alignment, plan.job)
    table = table._replace(context=context, is_part=True)
    if plan.survey.is_clustered:
        table = table._replace(clusters=examples.frame["cluster"])
    status = pl.lit(alignment.statuses.cast(pl.String))
    counted = list(plan.asked.options.policies.counted)
    left_out = pl.select(pl.when(~status.is_in(counted)).then(status)).to_series()
    tags = examples.frame["tags"]
    return tally_table(
        plan.asked.metrics, table, left_out, tags, parts.crossed, outcomes
    )


def _scored(
    metrics: Sequence[BoundMetric], outcomes: Mapping[str, Outcomes]
) -> list[MetricScores]:
    """Return what metrics made of the examples, without scores."""
    found = []
    for metric in (part for whole in metrics for part in whole.parts()):
        if metric.name not in outcomes:
            continue
        statistics, unscored = outcomes[metric.name]
        column, per_example = metric.example_column, None
        if column in statistics.columns:
            per_example = statistics.select(
                "position", score=all_named([str(column)]).as_expr()
            )
        found.append(
            MetricScores(metric.name, metric, [], None, None)._replace(
                per_example=per_example, statistics=statistics, unscored=unscored
            )
        )
    return found


def _without_rows(alignment: Alignment) -> Alignment:
    return alignment._replace(
        statuses=alignment.statuses.clear(),
        predictions=alignment.predictions.clear(),
        fields={},
        problems=(),  # type: ignore[arg-type]
        computed=(),
        lacking={},
        extracted=None,
    )


def _texts(alignment: Alignment) -> np.ndarray[Any, np.dtype[np.uint64]]:
    extracted = alignment.extracted
    if extracted is None:
        return np.empty(0, np.uint64)
    scored = extracted.filter(pl.col("extraction").is_not_null())
    texts = scored["response"]
    if "responses" in scored.columns:
        several = scored["responses"].drop_nulls().explode()
        own = scored.filter(pl.col("responses").is_null())["response"]
        texts = pl.concat([own, several])
    return np.unique(texts.drop_nulls().hash().to_numpy())


def _save_problems(
    task: Task,
    folder: str,
    result: Result,
    found: BucketExamples,
    metrics: Sequence[str],
) -> str | None:
    """Write the problems with what they are sorted by in the whole."""
    if not len(result.problems):
        return None
    places = dict(zip(found.examples.frame["id"], found.rows.tolist(), strict=True))
    numbered: list[tuple[Key, Problem]] = []
    for place, problem in enumerate(result.problems):
        key: Key = (problem.line or _LAST, 0, 0, place)
        if problem.line is None:
            of_metric = 0
            if problem.metric is not None:
                names = [*metrics, problem.metric]
                of_metric = 1 + names.index(problem.metric)
            key = (_LAST, of_metric, places.get(problem.id or "", 0), place)
        numbered.append((key, problem))
    name = f"{folder}/problems"
    save(task.store, name, numbered)
    return name


def _write_tables(task: Task, folder: str, result: Result) -> dict[str, str]:
    tables = {"examples.parquet": result.examples}
    for below, own in (
        ("statistics", result.statistics),
        ("columns", result.column_details),
    ):
        tables |= {f"{below}/{statistics_file(name)}": own[name] for name in own}
    files = {}
    for name, frame in tables.items():
        assert frame is not None
        files[name] = f"{folder}/{name}"
        with written(task.store, files[name]) as path:
            frame.write_parquet(path)
    return files
