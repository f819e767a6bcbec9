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

from evalkit.base.progress import Progress, cancelling
from evalkit.diagnosis import Diagnosis
from evalkit.errors import AlignmentError, DataError, EvalkitError, MetricError
from evalkit.examples.fingerprints import DataIdentity
from evalkit.examples.table import Examples, load_examples
from evalkit.places import is_remote, join
from evalkit.plugins.observers import Observers
from evalkit.plugins.provenance import describe_component, describe_core
from evalkit.plugins.registry import Registry
from evalkit.predictions.alignment import Alignment
from evalkit.predictions.beside import read_job, read_system
from evalkit.predictions.preparation import Predictions, Prepared, changed_by
from evalkit.predictions.preparation import identify as identify_predictions
from evalkit.predictions.problems import Problem, Problems
from evalkit.predictions.row_sources import diagnose
from evalkit.reading.data_places import loaded_path
from evalkit.reading.file_parts import FilePart
from evalkit.reading.steady_files import SteadyFile, joined_digest
from evalkit.runs.accounts import refusal_message
from evalkit.runs.folders import check_place
from evalkit.runs.options import EvaluationOptions
from evalkit.runs.recording import Asked, Parts, fingerprint_of, make_result
from evalkit.runs.results import Result
from evalkit.runs.scores import GroupSizes
from evalkit.scoring.baselines import baselines_of
from evalkit.scoring.tally import merge_tallies
from evalkit.workflows.evaluation import GivenPredictions, is_zero, open_predictions
from evalkit.workflows.evaluation_steps import announce, bind, match, write
from evalkit.workflows.partitions import (
    PartitionPlan,
    finalize_all,
    group_sizes,
    prepare_plan,
    refuse_wholes,
)
from evalkit_engines_dask.buckets import HASH
from evalkit_engines_dask.columns import Columns, compute_columns
from evalkit_engines_dask.data import (
    DataPart,
    answers_of,
    files_by_bucket,
    load_part,
    merge_parts,
)
from evalkit_engines_dask.merging import (
    list_notices,
    merge_alignments,
    merge_extractions,
    merge_inferred,
    offsets,
)
from evalkit_engines_dask.plan import Inferred, Plan, Survey, Task
from evalkit_engines_dask.responses import ResponsePart, read_part, reader_of
from evalkit_engines_dask.scoring import Key, Scored, edges_of, numbers_of, score_bucket
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

_Files = Sequence[Sequence[tuple[int, str | Path]]]
"""By bucket, the file of each part, and what is added to its lines."""

MOST_ON_DRIVER = 2_000_000
"""Examples up to which the driver looks at all answers, for metrics with `prepare`."""

MOST_MATCHED = 200_000
"""Examples up to which the driver matches responses to say what is wrong with them."""


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


def match_on(
    engine: Tasks, asked: Asked, predictions: Any, model: str, progress: Progress
) -> tuple[Examples, Alignment]:
    """Do what `match` of `evalkit.workflows.evaluation_steps` does, in parts.

    The examples have ids and answers only, or no rows, and the responses have no rows.
    """
    source = GivenPredictions(predictions, lambda: None, asked.options)
    run = _Run(engine, asked, source, model, False, progress)
    try:
        return run.match()
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
        self._data: Source | None = None
        rows = changed_by(source.predictions, asked.stage)
        job = read_job(rows)
        self._predictions = rows
        self._task = Task(engine.store, attempt("evaluation"), 0)
        self._plan = Plan(asked, model, None, job and job.job, writes)
        self._recorded: dict[str, Any] = {} if job is None else dict(job.recorded)
        self._columns: Columns | None = None

    def evaluate(self) -> tuple[Result, Sequence[str]]:
        """Do all steps; return the result, and why it is refused."""
        return self._merge(*self._all_parts())

    def match(self) -> tuple[Examples, Alignment]:
        """Do all steps but those of metrics."""
        _, parts, scored = self._all_parts()
        self._alignment = self._add_up(parts, scored)
        return self._diagnosed()

    def _all_parts(self) -> tuple[PartitionPlan, list[ResponsePart], list[Scored]]:
        """Read and score all parts."""
        try:
            return self._survey(), *self._score_all()
        except DataError:
            if self._data is not None and self._data.bytes <= PART_BYTES:
                # its error names the rows of the whole
                load_examples(self._asked.dataset, self._asked.task, self._asked.split)
            raise

    def _survey(self) -> PartitionPlan:
        """Read the data, and find out what is known of all examples."""
        data = self._data_path()
        given = self._given.predictions
        path = given if isinstance(given, Path) else None
        self._progress("hashing the files", 0.0)
        self._watched = [SteadyFile(each) for each in (data, path) if each is not None]
        stages = self._asked.dataset.pipeline, self._asked.stage
        self._data, self._source = read_sources(
            self._engine, [data, path], [stage is not None for stage in stages]
        )
        self._task = self._task._replace(
            buckets=self._count(self._data, self._source),
            is_bucketed=self._engine.bucketed,
        )
        self._share(self._plan)
        survey = self._load(self._data)
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
        return partition

    def _score_all(self) -> tuple[list[ResponsePart], list[Scored]]:
        """Read and score the predictions."""
        parts = self._read(self._source)
        scored = self._score(self._files_to_score(self._source, parts))
        for file in self._watched:
            file.check()
        return parts, scored

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
        if self._task.is_bucketed or self._predictions is None:
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
        starts, files = offsets(source, parts), [part.files for part in parts]
        return files_by_bucket(starts, files, self._task.buckets)

    def _score(self, files: _Files) -> list[Scored]:
        """Score all buckets; those that infer something else than all, once more."""
        buckets = range(self._task.buckets)
        scored = self._score_buckets(files, buckets, None)
        whole = merge_inferred(scored)
        others = [n for n in buckets if scored[n].inferred != whole]
        if self._asked.computed_columns is not None:
            others = [*buckets]
            if self._asked.metrics and not whole.is_refused:
                self._columns = self._compute_columns()
                numbers = numbers_of(self._plan, self._columns.prepared)
                whole = whole._replace(edges=edges_of(numbers))
        again = self._score_buckets(files, others, whole)
        for number, each in zip(others, again, strict=True):
            scored[number] = each
        return scored

    def _compute_columns(self) -> Columns:
        survey, rows = self._plan.survey, self._predictions
        assert survey is not None
        if survey.rows > MOST_ON_DRIVER:
            raise MetricError(
                f"columns of annotators take at most {MOST_ON_DRIVER:,} examples with "
                f"an engine, got {survey.rows:,}"
            )
        prepared = match(self._asked, rows, self._plan.model, self._progress)
        arguments = self._task, prepared, self._progress
        return compute_columns(self._engine, self._asked, *arguments)

    def _score_buckets(
        self, files: _Files, buckets: Sequence[int], inferred: Inferred | None
    ) -> list[Scored]:
        tasks = [
            self._engine.submit(
                score_bucket,
                (
                    *(self._task, bucket, files[bucket], inferred),
                    self._columns and self._columns.files[bucket],
                ),
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
    ) -> tuple[Result, Sequence[str]]:
        asked, survey = partition.asked, self._plan.survey
        assert survey is not None
        self._alignment = alignment = self._add_up(parts, scored)
        refused = alignment.refusal(asked.options.policies)
        examples = survey.examples
        if survey.is_clustered:
            examples = _Clustered(*examples)
        given = {**self._identify(self._source), **self._recorded}
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
        result.problems = alignment.problems
        self._complete(result, scored)
        if self._plan.writes:
            result.part_files = self._files(scored, parts)
        return result, refused

    def _add_up(
        self, parts: Sequence[ResponsePart], scored: Sequence[Scored]
    ) -> Alignment:
        """Add up what became of the responses, with all problems in order."""
        found: list[tuple[Key, Problem]] = []
        assert self._plan.survey is not None
        adapters = reader_of(self._plan, self._plan.survey.examples).adapters
        for each in scored:
            adapters.refused.update(each.refused)
            if each.problems is not None:
                found += load(self._task.store, each.problems)
        problems = Problems()
        for _, problem in sorted(found, key=lambda each: each[0]):
            problems.add(problem)
        merged = merge_alignments(scored, parts)
        notices = tuple(adapters.notices())
        if self._columns is None:
            return merged._replace(problems=problems, notices=notices)
        notices = self._columns.prepared.alignment.notices
        computed = self._columns.without_rows
        return merged._replace(problems=problems, notices=notices, computed=computed)

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
        extraction = merge_extractions(scored)
        columns = () if self._columns is None else self._columns.recorded
        result.amend(
            not_scored=dict(left),
            status="partial" if is_partial else record.status,
            columns=columns,
            extraction=extraction,
            notices=(*record.notices, *list_notices(scored)),
            fingerprint=fingerprint_of(
                record.changed(extraction=extraction, columns=columns)
            ),
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
        bound = self._asked.dataset, self._asked.task
        return diagnose(*bound, *self._diagnosed(), registry)

    def _diagnosed(self) -> tuple[Examples, Alignment]:
        """Return what hints are found in: of little data all that was matched."""
        survey, source = self._plan.survey, self._source
        assert survey is not None
        is_short = source is None or source.bytes <= PART_BYTES
        if self._predictions is not None and is_short and survey.rows <= MOST_MATCHED:
            rows, model = self._predictions, self._plan.model
            return match(self._asked, rows, model, self._progress)[:2]
        examples = survey.examples._replace(choices=None)
        if survey.rows <= MOST_ON_DRIVER:
            examples = examples._replace(frame=answers_of(self._task, survey))
        return examples, self._alignment


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
