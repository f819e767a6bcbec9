"""Buckets: their responses matched and scored by core, and all of it added up."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from evalkit.base.ids import RESPONSES_KEY
from evalkit.examples.table import Examples
from evalkit.predictions.adapting import Adapters
from evalkit.predictions.alignment import Alignment, align
from evalkit.predictions.alternatives import OF_ALTERNATIVES, alternatives_column
from evalkit.predictions.answer_readers import AnswerReader
from evalkit.predictions.matching import sorted_replications
from evalkit.predictions.preparation import Prepared
from evalkit.predictions.problems import Problems
from evalkit.predictions.responses import ResponseReader
from evalkit.reading.rows import Block
from evalkit.runs import recorded
from evalkit.runs.recording import Parts, make_result
from evalkit.runs.results import Result
from evalkit.runs.scores import GroupSizes
from evalkit.runs.tables import counts_of, texts_of
from evalkit.scoring import records
from evalkit.scoring.grouping import Whole, bin_edges
from evalkit.scoring.table import ListsGiven
from evalkit.scoring.tally import merge_tallies
from evalkit.workflows import evaluation_steps as steps
from evalkit.workflows.partitions import tally_part
from evalkit_engines_dask.buckets import Pieces
from evalkit_engines_dask.data import bucket_examples
from evalkit_engines_dask.plan import Inferred, Plan, Task
from evalkit_engines_dask.responses import (
    ResponsePart,
    bucket_blocks,
    keep_part,
    write_table,
)
from evalkit_engines_dask.sources import Source, on_this_machine
from evalkit_engines_dask.store import attempt, load, save
from evalkit_engines_dask.types import common_types, conformed


class Scored(NamedTuple):
    """What came of a bucket."""

    alignment: Alignment
    """Without rows and problems: what a user should know of the responses."""
    inferred: Inferred
    """What it was scored by."""
    tallies: str | None
    """File of its tallies; None where the policies refuse its responses."""
    numbers: Mapping[str, pl.DataFrame]
    """How often each number of a column that examples are grouped by is there."""
    extracted: Mapping[str, int]
    """How many texts answers were taken from, by what became of them."""
    texts: NDArray[np.uint64]
    """Hashes of these texts."""
    lists: ListsGiven | None
    refused: Counter[str]
    """How many responses each adapter refused."""
    problems: str | None
    """File of the problems, each with what they are sorted by in the whole."""
    tables: dict[str, str]
    """Files in the store by their names in the run."""

    def fits(self, whole: Inferred) -> bool:
        """Tell whether it was scored by what is inferred from all responses."""
        return self.inferred == whole

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
    reader = plan.reader(examples := bucket_examples(task, survey, bucket))
    blocks = bucket_blocks(task, bucket, files, reader)
    prepared, own = _match(plan, examples, blocks, reader, known)
    numbers = _count_numbers(plan, prepared)
    whole = known or own._replace(edges={n: _edges([numbers[n]]) for n in numbers})
    edges = {name: np.array(each) for name, each in whole.edges.items()}
    crossed = steps.cross_examples(asked, prepared, Whole(survey.facets, edges))
    tallies, scored = None, list[records.MetricScores]()
    if asked.metrics and not (own.is_refused or whole.is_refused):
        tallies, scored = _tally(task, plan, prepared, crossed, whole)
    parts = Parts(asked, prepared, GroupSizes((), []), crossed, scored)
    alignment = prepared.alignment
    refused = alignment.refusal(asked.options.policies)
    result = make_result(parts, plan.model, refused)
    extracted, texts = dict[str, int](), pl.Series([], dtype=pl.String)
    if alignment.extracted is not None:
        extracted, texts = counts_of(alignment.extracted), texts_of(alignment.extracted)
    tables = dict[str, str]()
    for name, table in result.tables_by_example().items() if plan.writes else ():
        assert table is not None
        tables |= write_table(task, bucket, name, table)
    for _, file in files:
        if isinstance(file, Path):  # it is all of the bucket
            tables |= keep_part(task, bucket, file)
    return Scored(
        alignment._replace(
            statuses=alignment.statuses.clear(),
            predictions=alignment.predictions.clear(),
            fields={},
            problems=(),  # type: ignore[arg-type]
            extracted=None,
        ),
        whole,
        tallies,
        numbers,
        extracted,
        np.unique(texts.hash().to_numpy()),
        ListsGiven.among(
            *(alignment.predictions, survey.examples.answer_kind),
            prepared.examples.frame["id"],
            show=asked.options.include_examples,
        ),
        reader.adapters.refused,
        _save_problems(task, result, examples.frame, asked.metric_names),
        tables,
    )


def _match(
    plan: Plan,
    examples: Examples,
    blocks: Iterable[Block],
    reader: ResponseReader,
    known: Inferred | None,
) -> tuple[Prepared, Inferred]:
    """Match responses with examples; say what they let infer, but for edges."""
    asked, frame = plan.asked, examples.frame
    ids, options = frame["id"], asked.options
    selected = None if options.selection.is_whole else frame["selected"]
    alignment = align(
        *(ids, blocks, reader, options.policies.on_duplicate, selected),
        replications=known and known.replications,
    )
    columns = {"pred": alignment.predictions, **alignment.fields}
    types = {name: column.dtype for name, column in columns.items() if column.count()}
    counted = alignment.statuses.is_in(list(options.policies.counted))
    needs_all = any(not records.takes_no_prediction(part) for part in plan.metrics)
    own = Inferred(
        alignment.replications,
        types,
        is_refused=bool(alignment.refusal(options.policies)),
        unanswered=needs_all and (counted & alignment.predictions.is_null()).any(),
    )
    order = *reader.scored_fields, RESPONSES_KEY
    alignment = _conformed(alignment, (known or own).types, order)
    if selected is not None:
        examples = examples.where(selected)
    if alignment.replications:
        examples = examples.repeated(len(alignment.replications))
    given = {"name": None, "sha256": None}
    stages = asked.stage, asked.answers, plan.job
    return Prepared(examples, alignment, given, ids, *stages), own


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


def _count_numbers(plan: Plan, prepared: Prepared) -> dict[str, pl.DataFrame]:
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


def _edges(numbers: Iterable[pl.DataFrame]) -> tuple[float, ...]:
    counts = pl.concat(numbers, how="vertical_relaxed")
    summed = counts.group_by("number").agg(pl.col("count").sum())
    return tuple(bin_edges(summed).tolist())


def _tally(
    task: Task,
    plan: Plan,
    prepared: Prepared,
    crossed: Mapping[str, pl.Series],
    whole: Inferred,
) -> tuple[str, list[records.MetricScores]]:
    """Score to tallies; return their file, and what metrics made of the examples."""
    outcomes: dict[str, records.Outcomes] = {}
    given = prepared, crossed, outcomes, plan.survey.is_clustered
    tallies = tally_part(plan.partition, *given)
    scored = [
        records.with_outcomes(records.MetricScores(name, part, [], None), found)
        for part in plan.metrics
        if (found := outcomes.get(name := part.name)) is not None
        and (records.takes_no_prediction(part) or not whole.unanswered)
    ]
    return save(task.store, attempt(f"{task.folder}/tallies"), tallies), scored


def _save_problems(
    task: Task, result: Result, examples: pl.DataFrame, metrics: Sequence[str]
) -> str | None:
    """Write the problems with what they are sorted by in the whole."""
    if not len(result.problems):
        return None
    rows: dict[str | None, int] = dict(examples.select("id", "row").iter_rows())
    listed = [
        (([None, *metrics, name].index(name), rows.get(problem.id, 0)), problem)
        for problem in result.problems
        for name in [problem.metric]
    ]
    return save(task.store, attempt(f"{task.folder}/problems"), listed)


def add_tallies(task: Task, files: Sequence[str]) -> str:
    """Add up tallies of the store, and write the sum there."""
    tallies = merge_tallies([load(task.store, file) for file in files])
    return save(task.store, attempt(f"{task.folder}/tallies"), tallies)


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
    names = {name for each in scored for name in each.numbers}
    return Inferred(
        sorted_replications({name for each in known for name in each.replications}),
        common_types(each.types for each in known),
        {
            n: _edges(each.numbers[n] for each in scored if n in each.numbers)
            for n in names
        },
        any(each.is_refused for each in known),
        any(each.unanswered for each in known),
    )


def merge_alignments(
    task: Task,
    scored: Sequence[Scored],
    parts: Sequence[ResponsePart],
    adapters: Adapters,
) -> Alignment:
    """Add up what became of the responses of all buckets, with problems in order."""
    problems, places = Problems(), array("q")
    for each in scored:
        adapters.refused.update(each.refused)
        for place, problem in load(task.store, each.problems) if each.problems else ():
            places.extend(place)
            problems.add(problem)
    known = [each.alignment for each in scored]
    counts = _total(each.counts for each in known)
    if "replications" in counts:
        counts["replications"] = known[0].counts["replications"]
    undeclared = [e.undeclared for e in known] + [e.undeclared for e in parts]
    absent = [each.absent for each in known if each.counts["predictions"] > 1] or [()]
    notices, lists = (
        [*adapters.notices()],
        [each.lists for each in scored if each.lists],
    )
    if lists:
        notices.append(str(lists[0]._replace(number=sum(e.number for e in lists))))
    return known[0]._replace(
        problems=problems.at(np.lexsort(np.array(places).reshape(-1, 2).T[::-1])),
        counts={name: counts[name] for name in known[0].counts},
        undeclared=_total(undeclared),
        notices=tuple(notices),
        unparsed=dict(_total(each.unparsed for each in known).most_common()),
        absent=tuple(n for n in absent[0] if all(n in each for each in absent)),
    )


def merge_extractions(
    scored: Sequence[Scored], answers: AnswerReader | None
) -> recorded.Extraction | None:
    """Add up what became of the texts that answers were taken from."""
    if answers is None:
        return None
    counts = _total(each.extracted for each in scored)
    counts["unique"] = len(np.unique(np.concatenate([each.texts for each in scored])))
    return recorded.Extraction.model_validate({**answers.record, **counts})


def _total(counts: Iterable[Mapping[str, int]]) -> Counter[str]:
    total: Counter[str] = Counter()
    for each in counts:
        total.update(each)
    return total
