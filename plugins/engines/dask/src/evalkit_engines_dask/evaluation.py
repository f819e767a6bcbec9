"""Evaluates in parts on an engine: the order of the steps."""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from evalkit.base.progress import Progress, cancelling
from evalkit.diagnosis import Diagnosis
from evalkit.errors import AlignmentError, EvalkitError, MetricError
from evalkit.examples.fingerprints import DataIdentity
from evalkit.examples.table import Examples
from evalkit.places import is_remote, join
from evalkit.plugins.observers import Observers
from evalkit.plugins.provenance import describe_component, describe_core
from evalkit.plugins.registry import Registry
from evalkit.predictions.alignment import Alignment
from evalkit.predictions.beside import read_job, read_system
from evalkit.predictions.matching import sorted_replications
from evalkit.predictions.preparation import Predictions, Prepared, changed_by
from evalkit.predictions.preparation import identify as identify_predictions
from evalkit.predictions.problems import Problem, Problems
from evalkit.predictions.row_sources import diagnose
from evalkit.reading.data_places import loaded_path
from evalkit.reading.file_parts import FilePart
from evalkit.reading.steady_files import joined_digest
from evalkit.runs import recorded
from evalkit.runs.accounts import refusal_message
from evalkit.runs.folders import check_place
from evalkit.runs.options import EvaluationOptions
from evalkit.runs.recording import Asked, Parts, fingerprint_of, make_result
from evalkit.runs.results import Result
from evalkit.runs.scores import GroupSizes
from evalkit.scoring.baselines import baselines_of
from evalkit.scoring.grouping import bin_edges
from evalkit.scoring.tally import merge_tallies
from evalkit.workflows.evaluation import GivenPredictions, is_zero, open_predictions
from evalkit.workflows.evaluation_steps import announce, bind, write
from evalkit.workflows.partitions import (
    PartitionPlan,
    finalize_all,
    group_sizes,
    prepare_plan,
    refuse_wholes,
)
from evalkit_engines_dask.buckets import HASH
from evalkit_engines_dask.data import (
    DataPart,
    answers_of,
    files_by_bucket,
    load_part,
    merge_parts,
)
from evalkit_engines_dask.plan import Inferred, Plan, Survey, Task
from evalkit_engines_dask.responses import ResponsePart, read_part, reader_of
from evalkit_engines_dask.scoring import Key, Scored, score_bucket
from evalkit_engines_dask.sources import (
    PART_BYTES,
    Source,
    bucketed_files,
    count_bucketed,
    identify,
    read_sources,
)
from evalkit_engines_dask.store import attempt, load, save
from evalkit_engines_dask.tasks import Tasks
from evalkit_engines_dask.types import common_type

_Files = Sequence[Sequence[tuple[int, str | Path]]]
"""By bucket, the file of each part, and what is added to its lines."""

MOST_ON_DRIVER = 2_000_000
"""Examples up to which the driver looks at all answers, for metrics with `prepare`."""


def evaluate_on(
    engine: Tasks,
    dataset: Any,
    predictions: Predictions | Result,
    options: EvaluationOptions,
    *,
    model: str | None = None,
    task: Any = None,
    out: str | Path | None = None,
    registry: Registry | None = None,
    progress: Progress = lambda _text, _share: None,
    cancelled: Callable[[], bool] = lambda: False,
) -> Result:
    """Do what `evalkit.evaluate_with` does, in parts on an engine.

    Args:
        engine: The engine, which was entered.
        dataset: As for `evaluate_with`, like all arguments below.
        predictions: A model's responses.
        options: How they are evaluated.
        model: Name of the model.
        task: The task of a file of examples.
        out: Folder to write the run to.
        registry: Where plugins are found.
        progress: Told what is being done.
        cancelled: Asked whether to stop.

    Returns:
        The result. Its examples lie in the run folder only.

    Raises:
        EvalkitError: For the reasons for which `evaluate_with` raises.
        LostWorkerError: A part killed its workers.
        MetricError: A score cannot be computed in parts.
    """
    started = time.time()
    registry, progress = registry or Registry(), cancelling(progress, cancelled)
    if options.against is not None:
        raise EvalkitError("against cannot be used with an engine")
    check_place(out)
    with open_predictions(predictions, options, progress) as source:
        watchers = Observers(registry, options.observers)
        asked = bind(
            *(dataset, task, source.predictions, source.options, registry),
            Observers(registry),
        )
        refuse_wholes(asked)
        name = model or source.model
        run = _Run(engine, asked, source, name, out is not None, progress)
        try:
            result, refused = run.evaluate()
            result.record_time(started, time.time() - started)
            if not refused and is_zero(result.headline):
                result.record_warnings(run.diagnose(registry).notices)
            announce(result, result.scores, refused, watchers)
            if out is not None:
                progress("writing the run", 0.95)
                write(result, out, watchers)
            if refused:
                raise run.refusal(result, refused, registry)
            return result
        finally:
            run.end()


class _Run:
    """One evaluation."""

    def __init__(
        self,
        engine: Tasks,
        asked: Asked,
        source: GivenPredictions,
        model: str,
        writes: bool,
        progress: Progress,
    ) -> None:
        self._engine, self._asked, self._given = engine, asked, source
        self._progress = progress
        rows = changed_by(source.predictions, asked.stage)
        job = read_job(rows)
        self._predictions = rows
        self._task = Task(engine.store, attempt("evaluation"), 0)
        self._plan = Plan(asked, model, None, job and job.job, writes)
        self._recorded: dict[str, Any] = {} if job is None else dict(job.recorded)

    def evaluate(self) -> tuple[Result, Sequence[str]]:
        """Do all steps; return the result, and why it is refused."""
        data = self._data_path()
        given = self._given.predictions
        path = given if isinstance(given, Path) else None
        self._progress("hashing the files", 0.0)
        of_data, of_responses = read_sources(self._engine, [data, path])
        self._task = self._task._replace(
            buckets=self._count(of_data, of_responses),
            is_bucketed=self._engine.bucketed,
        )
        self._share(self._plan)
        survey = self._load(of_data)
        plan = self._plan._replace(survey=survey)
        context = survey.context._replace(job=plan.job)
        partition = PartitionPlan(self._asked, context)
        if any(metric.has("prepare") for metric in self._asked.metrics):
            if survey.rows > MOST_ON_DRIVER:
                raise MetricError(
                    f"metrics that look at all answers first take at most "
                    f"{MOST_ON_DRIVER:,} examples with an engine, got {survey.rows:,}"
                )
            answers = answers_of(self._task, survey)
            partition = prepare_plan(self._asked, context, answers)
        self._plan = plan._replace(asked=partition.asked)
        self._share(self._plan)
        parts = self._read(of_responses)
        scored = self._score(self._files_to_score(of_responses, parts))
        return self._merge(partition, parts, scored, of_responses)

    def _share(self, plan: Plan) -> None:
        name = save(self._task.store, attempt(f"{self._task.folder}/plan"), plan)
        self._task = self._task._replace(plan=name)

    def _count(self, *sources: Source | None) -> int:
        """Return the number of buckets: some for each worker, and none too large."""
        if self._engine.bucketed:
            return count_bucketed(*sources)
        size = sum(source.bytes for source in sources if source is not None)
        least = max(2 * self._engine.workers, -(-size // PART_BYTES))
        return self._engine.parts or least

    def end(self) -> None:
        """Remove what only this evaluation needed from a store that is a folder."""
        if not is_remote(self._task.store):
            folder = Path(self._task.store, self._task.folder)
            shutil.rmtree(folder, ignore_errors=True)

    def _data_path(self) -> Path | None:
        """Return the file that the dataset loads; None where it loads rows."""
        dataset, split = self._asked.dataset, self._asked.split
        stage = dataset.pipeline
        if split not in dataset.splits or (stage is not None and stage.reads_files):
            return None
        with dataset.guard_of_load(split):
            arguments = {"columns": None, "limit": None}
            loaded = dataset.row_function("load")(split=split, **arguments)
            return loaded_path(loaded)

    def _load(self, source: Source | None) -> Survey:
        limit = self._asked.options.selection.limit
        if source is None:
            parts: Sequence[Path | None] = [None]
            if self._asked.options.selection.filters:
                limit = None
        else:
            parts = source.parts
        identity = None if source is None else identify(self._asked.dataset, source)
        cached = self._cached(identity)
        if cached is not None:
            return cached
        tasks = [
            self._engine.submit(
                load_part, (self._task, number, path, limit), _name("data", path), {}
            )
            for number, path in enumerate(parts)
        ]
        found: list[DataPart] = self._gather(tasks, "reading the data", 0.05, 0.25)
        survey = merge_parts(self._task, found, identity)
        save(self._task.store, f"{self._task.data}/survey", survey)
        return survey

    def _cached(self, identity: DataIdentity | None) -> Survey | None:
        """Return what an earlier evaluation left of the same data; None for nothing."""
        if identity is None:  # what rows hold is known once they were read
            self._task = self._task._replace(data=f"{self._task.folder}/data")
            return None
        asked, columns = self._asked, self._plan.columns
        facts = {
            "hash": HASH,
            "buckets": self._task.buckets,
            "core": describe_core(),
            "data": [identity.key, asked.split, asked.options.selection.to_dict()],
            "columns": None if columns is None else sorted(columns),
            "cluster": [asked.dataset.chosen_cluster, asked.dataset.keep],
            "plugins": [describe_component(e) for e in (asked.dataset, asked.task)],
            "stage": asked.dataset.pipeline and asked.dataset.pipeline.specification,
        }
        text = json.dumps(facts, sort_keys=True, default=str)
        key = hashlib.sha256(text.encode()).hexdigest()[:16]
        self._task = self._task._replace(data=f"data/{key}")
        name = f"{self._task.data}/survey"
        found: Survey | None = load(self._task.store, name, is_there=False)
        return found

    def _read(self, source: Source | None) -> list[ResponsePart]:
        if self._task.is_bucketed:
            return []
        given: Sequence[Any] = [self._given.predictions]
        if source is not None:
            given = source.parts
        tasks = [
            self._engine.submit(
                read_part,
                (self._task, number, each),
                _name("predictions", each if isinstance(each, Path) else None),
                {},
            )
            for number, each in enumerate(given)
        ]
        return self._gather(tasks, "reading the predictions", 0.25, 0.5)

    def _files_to_score(
        self, source: Source | None, parts: Sequence[ResponsePart]
    ) -> _Files:
        if self._task.is_bucketed and source is not None:
            return [[each] for each in bucketed_files(source)]
        offsets, files = _offsets(source, parts), [part.files for part in parts]
        return files_by_bucket(offsets, files, self._task.buckets)

    def _score(self, files: _Files) -> list[Scored]:
        """Score all buckets; those that infer something else than all, once more."""
        buckets = range(self._task.buckets)
        scored = self._score_buckets(files, buckets, None)
        whole = _merge_inferred(scored)
        others = [n for n in buckets if scored[n].inferred != whole]
        again = self._score_buckets(files, others, whole)
        for number, each in zip(others, again, strict=True):
            scored[number] = each
        return scored

    def _score_buckets(
        self, files: _Files, buckets: Sequence[int], inferred: Inferred | None
    ) -> list[Scored]:
        tasks = [
            self._engine.submit(
                score_bucket,
                (self._task, bucket, files[bucket], inferred),
                f"part {bucket + 1} of {self._task.buckets}",
                self._engine.resources,
            )
            for bucket in buckets
        ]
        return self._gather(tasks, "scoring", 0.5, 0.9)

    def _gather(
        self, tasks: Sequence[Any], text: str, first: float, last: float
    ) -> list[Any]:
        started, done, rows = time.monotonic(), 0, 0

        def told(_place: int, value: Any) -> None:
            nonlocal done, rows
            done, rows = done + 1, rows + getattr(value, "rows", 0)
            seconds = max(time.monotonic() - started, 1e-3)
            rate = f", {rows / seconds:,.0f} rows/s" if rows else ""
            lost = self._engine.lost
            missing = f", {lost} workers lost" if lost else ""
            share = first + (last - first) * done / len(tasks)
            self._progress(
                f"{text}: {done} of {len(tasks)} parts{rate}{missing}", share
            )

        return self._engine.gather(tasks, told)

    def _merge(
        self,
        partition: PartitionPlan,
        parts: Sequence[ResponsePart],
        scored: Sequence[Scored],
        source: Source | None,
    ) -> tuple[Result, Sequence[str]]:
        asked, survey = partition.asked, self._plan.survey
        assert survey is not None
        alignment = _merge_alignments(scored, parts)
        problems = Problems()
        for _, problem in sorted(self._problems(scored), key=lambda each: each[0]):
            problems.add(problem)
        adapters = reader_of(self._plan, survey.examples).adapters
        for each in scored:
            adapters.refused.update(each.refused)
        alignment = alignment._replace(problems=problems, notices=adapters.notices())
        self._alignment = alignment
        refused = alignment.refusal(asked.options.policies)
        examples = survey.examples
        if survey.is_clustered:
            examples = _Clustered(*examples)
        given = {**self._identify(source), **self._recorded}
        prepared = Prepared(
            *(examples, alignment, given, examples.frame["id"]),
            *(asked.stage, asked.answers, self._plan.job),
        )
        found = Parts(asked, prepared, GroupSizes((), []), {})
        if not refused:
            tallies = merge_tallies([each.tallies for each in scored if each.tallies])
            finals = finalize_all(partition, tallies)
            baselines = None
            with suppress(MetricError):  # its failure is reported with its scores
                baselines = baselines_of(
                    finals[0].metric, partition.context, tallies.answers
                )
            found = found._replace(
                scored=finals, baselines=baselines, groups=group_sizes(tallies)
            )
        result = make_result(found, self._plan.model, refused)
        result.examples = None
        result.problems = problems
        self._complete(result, scored)
        if self._plan.writes:
            result.part_files = self._files(scored, parts)
        return result, refused

    def _problems(self, scored: Sequence[Scored]) -> list[tuple[Key, Problem]]:
        found: list[tuple[Key, Problem]] = []
        for each in scored:
            if each.problems is not None:
                found += load(self._task.store, each.problems)
        return found

    def _identify(self, source: Source | None) -> dict[str, Any]:
        """Return name and digest of the predictions, and what made them."""
        rows = self._predictions
        system = read_system(rows)
        made = {} if system is None else {"system": system.recorded}
        if source is None or not source.hashes:
            return {**identify_predictions(rows), **made}
        digests = [each["sha256"] for each in source.hashes]
        adapters = self._asked.stage
        changes = {} if adapters is None else {"adapters": adapters.specification}
        return {
            "name": source.path.name,
            "sha256": digests[0] if len(digests) == 1 else joined_digest(digests),
            **changes,
            **made,
        }

    def _complete(self, result: Result, scored: Sequence[Scored]) -> None:
        """Add what parts said of their examples to the record."""
        record = result.record
        left: Counter[str] = Counter()
        for each in scored:
            left.update(each.not_scored)
        is_partial = left and record.status == "complete"
        extraction = _merge_extractions(scored)
        result.amend(
            not_scored=dict(left),
            status="partial" if is_partial else record.status,
            columns=_merge_columns(scored),
            extraction=extraction,
            notices=(*record.notices, *_list_notices(scored)),
            fingerprint=fingerprint_of(record.changed(extraction=extraction)),
        )
        for each in scored:
            result.record_warnings(each.warnings)

    def _files(
        self, scored: Sequence[Scored], parts: Sequence[ResponsePart]
    ) -> dict[str, str | Path]:
        """Return the tables by example by their names in the run folder."""
        files = {
            f"parts/{number:05}/{name}": file
            for number, each in enumerate(scored)
            for name, file in each.files.items()
        }
        kept = [each.kept for each in (parts or scored)]
        if all(kept):
            names = (f"parts/{n:05}/responses.parquet" for n in range(len(kept)))
            files |= dict(zip(names, map(str, kept), strict=True))
        store = self._task.store
        return {
            name: join(store, file) if is_remote(store) else Path(store, file)
            for name, file in files.items()
        }

    def refusal(
        self, result: Result, refused: Sequence[str], registry: Registry
    ) -> AlignmentError:
        """Return the error of predictions that the policies refuse."""
        diagnosis = self.diagnose(registry)
        message = refusal_message(result, refused, self._alignment, diagnosis)
        return AlignmentError(message, result, diagnosis.mapping)

    def diagnose(self, registry: Registry) -> Diagnosis:
        """Say why responses were refused, or what is wrong if all scores are 0."""
        survey, asked = self._plan.survey, self._asked
        assert survey is not None
        examples = survey.examples
        if survey.rows <= MOST_ON_DRIVER:
            examples = examples._replace(frame=answers_of(self._task, survey))
        bound = asked.dataset, asked.task, examples, self._alignment
        return diagnose(*bound, registry)


class _Clustered(Examples):
    """Examples without a row, of a whole that has clusters."""

    clustered = True


def _name(what: str, path: Path | None) -> str:
    if path is None:
        return what
    if isinstance(path, FilePart):
        word = "line" if path.groups is None else "row"
        return f"{path} from {word} {path.first:,}"
    return str(path)


def _offsets(source: Source | None, parts: Sequence[ResponsePart]) -> list[int]:
    """Return what is added to the numbers of lines of each part."""
    if source is None:
        return [0] * len(parts)
    starts: list[int] = [0]
    for file in range(max(source.files, default=0) + 1):
        of_file = zip(source.files, parts, strict=True)
        last = max((part.last for n, part in of_file if n == file), default=0)
        starts.append(starts[-1] + last)
    return [starts[file] for file in source.files]


def _merge_inferred(scored: Sequence[Scored]) -> Inferred:
    known = [each.inferred for each in scored]
    names = {name for each in known for name in each.replications}
    types = {}
    for name in sorted({name for each in known for name in each.types}):
        found = common_type(each.types.get(name) for each in known)
        if found is not None:
            types[name] = found
    edges = {}
    for name in sorted({name for each in scored for name in each.numbers}):
        numbers = [s.numbers[name] for s in scored if name in s.numbers]
        counts = pl.concat(numbers, how="vertical_relaxed")
        summed = counts.group_by("number").agg(pl.col("count").sum()).sort("number")
        edges[name] = tuple(bin_edges(summed).tolist())
    is_refused = any(each.is_refused for each in known)
    unanswered = any(each.unanswered for each in known)
    return Inferred(sorted_replications(names), types, edges, is_refused, unanswered)


def _merge_alignments(
    scored: Sequence[Scored], parts: Sequence[ResponsePart]
) -> Alignment:
    """Add up what became of the responses of all buckets."""
    counts: Counter[str] = Counter()
    undeclared: Counter[str] = Counter()
    unparsed: Counter[str] = Counter()
    for each in scored:
        counts.update(each.counts)
        undeclared.update(each.alignment.undeclared)
        unparsed.update(each.alignment.unparsed)
    for part in parts:
        undeclared.update(part.undeclared)
    first = scored[0].alignment
    if "replications" in first.counts:
        counts["replications"] = first.counts["replications"]
    several = [
        each.alignment.absent for each in scored if each.counts["predictions"] > 1
    ]
    absent = [n for n in (several or [()])[0] if all(n in each for each in several)]
    ordered = {name: counts[name] for name in first.counts}
    return first._replace(
        counts=ordered,
        undeclared=undeclared,
        unparsed=dict(unparsed.most_common()),
        absent=tuple(absent),
    )


def _merge_columns(scored: Sequence[Scored]) -> tuple[recorded.Columns, ...]:
    """Add up what buckets recorded of computed columns."""
    merged = []
    for several in zip(*(each.columns for each in scored), strict=True):
        without: Counter[str] = Counter()
        for each in several:
            without.update(each.without_value)
        merged.append(
            several[0].model_copy(
                update={
                    "rows": sum(each.rows for each in several),
                    "without_value": dict(without.most_common()),
                    "sha256": joined_digest([each.sha256 for each in several]),
                }
            )
        )
    return tuple(merged)


def _merge_extractions(scored: Sequence[Scored]) -> recorded.Extraction | None:
    known = [each.extraction for each in scored if each.extraction is not None]
    if not known:
        return None
    names = ("responses", "ok", "empty", "unparsed", "error")
    sums = {name: sum(getattr(each, name) for each in known) for name in names}
    texts = np.unique(np.concatenate([each.texts for each in scored]))
    return known[0].model_copy(update={**sums, "unique": len(texts)})


def _list_notices(scored: Sequence[Scored]) -> list[str]:
    """Say how many lists were predicted where answers are single values."""
    known = [each.lists for each in scored if each.lists is not None]
    number = sum(each.number for each in known)
    return [str(known[0]._replace(number=number))] if known else []
