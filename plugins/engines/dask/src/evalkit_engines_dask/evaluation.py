"""Evaluates in parts on an engine: the order of the steps."""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from evalkit.base.progress import Progress, cancelling
from evalkit.errors import DataError, EvalkitError, MetricError
from evalkit.examples.clusters import cluster_names
from evalkit.examples.fingerprints import DataIdentity, fingerprint
from evalkit.examples.rows import ExampleRows
from evalkit.examples.table import Examples, load_examples
from evalkit.places import is_remote, join
from evalkit.plugins.observers import Observers
from evalkit.plugins.provenance import describe_component, describe_core
from evalkit.plugins.registry import Registry
from evalkit.predictions import preparation
from evalkit.predictions.alignment import Alignment
from evalkit.predictions.beside import read_job, read_system
from evalkit.predictions.preparation import Prepared, changed_by
from evalkit.predictions.problems import Problems
from evalkit.reading.data_places import loaded_path
from evalkit.reading.digests import BlockFacts, read_block
from evalkit.reading.file_parts import FilePart
from evalkit.reading.sharded import files_of as shards_of
from evalkit.reading.steady_files import SteadyFile
from evalkit.runs.folders import check_place
from evalkit.runs.options import EvaluationOptions
from evalkit.runs.recording import Asked, Parts, fingerprint_of, make_result
from evalkit.runs.results import Result
from evalkit.runs.scores import GroupSizes
from evalkit.scoring.baselines import baselines_of
from evalkit.scoring.tally import Tallies
from evalkit.workflows import partitions
from evalkit.workflows.evaluation import (
    GivenPredictions,
    conclude,
    evaluate_bound,
    open_predictions,
)
from evalkit.workflows.evaluation_steps import bind, match
from evalkit_engines_dask import scoring, sources
from evalkit_engines_dask.buckets import HASH, Pieces, files_of
from evalkit_engines_dask.data import (
    answers_of,
    common_types,
    differ,
    load_part,
    merge_parts,
)
from evalkit_engines_dask.plan import Inferred, Plan, Survey, Task
from evalkit_engines_dask.responses import ResponsePart, read_part
from evalkit_engines_dask.scoring import Scored, add_tallies, score_bucket
from evalkit_engines_dask.sources import Source, call_with
from evalkit_engines_dask.store import attempt, load, save

MOST_ON_DRIVER = 2_000_000
"""Examples up to which the driver looks at all answers, for metrics with `prepare`."""

SMALL_BYTES = 64 << 20
"""Bytes of files that the driver reads once more to say what is wrong with them."""

AT_ONCE = 16
"""Tallies that a task adds up."""

WHOLE_BYTES = 1 << 30
"""Bytes of files that the driver evaluates where a score needs all examples."""

MOST_MATCHED = 200_000
"""Examples up to which the driver matches responses to say what is wrong with them."""


def evaluate_on(
    engine: Any,
    dataset: Any,
    predictions: Any,
    options: EvaluationOptions,
    *,
    model: str | None = None,
    task: Any = None,
    out: str | Path | None = None,
    registry: Registry | None = None,
    progress: Progress = lambda _text, _share: None,
    cancelled: Callable[[], bool] = lambda: False,
) -> Result:
    """Do what `evaluate_with` does, in parts on an engine that was entered."""
    started = time.time()
    registry, progress = registry or Registry(), cancelling(progress, cancelled)
    if options.against is not None:
        raise EvalkitError("against cannot be used with an engine")
    check_place(out)
    with open_predictions(predictions, options, progress) as given:
        watchers = Observers(registry, options.observers)
        bound = dataset, task, given.predictions, given.options, registry
        asked = bind(*bound, Observers(registry))
        model = model or given.model
        run = _Run(engine, asked, given, model, progress, writes=out is not None)
        try:
            if reason := partitions.why_whole(asked):
                result, refused, hints = run.evaluate_whole(reason)
            else:
                result, refused, hints = *run.evaluate(), run.hints
            result.record_time(started, time.time() - started)
            conclude(result, refused, asked, hints, watchers, progress, out)
            return result
        finally:
            run.end()


def match_on(
    engine: Any, asked: Asked, predictions: Any, model: str, progress: Progress
) -> tuple[Examples, Alignment]:
    """Do what `match` of `evalkit.workflows.evaluation_steps` does, in parts.

    The examples have ids and answers only, or no rows, and the responses have no rows.
    """
    given = GivenPredictions(predictions, lambda: None, asked.options)
    run = _Run(engine, asked, given, model, progress)
    try:
        return run.match()
    finally:
        run.end()


class _Run:
    """One evaluation, as the driver knows it."""

    alignment: Alignment
    """What became of the responses, once all were scored."""

    def __init__(
        self,
        engine: Any,
        asked: Asked,
        given: GivenPredictions,
        model: str,
        progress: Progress,
        writes: bool = False,
    ) -> None:
        self._engine, self._given, self._progress = engine, given, progress
        self._rows = changed_by(given.predictions, asked.stage)
        job, system = read_job(self._rows), read_system(self._rows)
        self._beside = {} if job is None else dict(job.recorded)
        if system is not None:
            self._beside["system"] = system.recorded
        self._plan = Plan(asked, model, job and job.job, writes)
        self._task = Task(engine.store, attempt("evaluation"))
        self._data: Source | None = None
        self._source: Source | None = None
        self._pieces: Pieces = []

    def evaluate(self) -> tuple[Result, Sequence[str]]:
        """Do all steps; return the result, and why it is refused."""
        return self._merge(*self._score_all())

    def evaluate_whole(self, reason: str) -> tuple[Result, Sequence[str], Any]:
        """Evaluate in this process what needs all examples; workers help."""
        paths = [self._data_path(), self._given.predictions]
        files = [
            file for path in paths if isinstance(path, Path) for file in shards_of(path)
        ]
        if sum(file.stat().st_size for file in files) > WHOLE_BYTES:
            raise MetricError(
                f"{reason}. With an engine that is done for files of at most "
                f"{WHOLE_BYTES >> 20:,} MiB"
            )
        given = self._plan.asked, self._given, self._plan.model, self._progress
        result, refused, hints = evaluate_bound(*given, self._engine)
        result.amend(notices=(*result.notices, f"{reason}: scored in one process"))
        return result, refused, hints

    def match(self) -> tuple[Examples, Alignment]:
        """Do all steps but those of metrics."""
        self._add_up(*self._score_all())
        return self.hints()

    def end(self) -> None:
        """Remove what only this evaluation needed from a store that is a folder."""
        if not is_remote(self._task.store):
            folder = Path(self._task.store, self._task.folder)
            shutil.rmtree(folder, ignore_errors=True)

    def _score_all(self) -> tuple[list[ResponsePart], list[Scored]]:
        """Read and score all parts."""
        asked = self._plan.asked
        try:
            self._read_data()
            return self._score()
        except DataError:
            self._check_files()
            if self._data is not None and self._data.bytes <= SMALL_BYTES:
                # its error names the rows of the whole
                load_examples(asked.dataset, asked.task, asked.split)
            raise

    def _read_data(self) -> None:
        """Read the data, and find out what is known of all examples."""
        asked, given = self._plan.asked, self._given.predictions
        paths = [self._data_path(), given if isinstance(given, Path) else None]
        self._watched = [SteadyFile(path) for path in paths if path is not None]
        self._data, self._source = self._cut(paths)
        size = sum(each.bytes for each in (self._data, self._source) if each)
        workers = self._engine.workers
        buckets = self._engine.parts or max(2 * workers, -(-size // sources.PART_BYTES))
        if is_bucketed := self._engine.bucketed:
            self._pieces = sources.bucketed_pieces(paths[1])
            buckets = len(self._pieces)
        self._task = self._task._replace(buckets=buckets, is_bucketed=is_bucketed)
        self._share(self._plan)
        survey = self._load(self._data)
        plan = self._plan._replace(survey=survey)
        if any(metric.has("prepare") for metric in asked.metrics):
            if survey.rows > MOST_ON_DRIVER:
                raise MetricError(
                    f"metrics that look at all answers first take at most "
                    f"{MOST_ON_DRIVER:,} examples with an engine, got {survey.rows:,}"
                )
            known = plan.partition.context, answers_of(self._task, survey)
            asked = partitions.prepare_plan(asked, *known).asked
        self._share(plan._replace(asked=asked))

    def _share(self, plan: Plan) -> None:
        name = save(self._task.store, attempt(f"{self._task.folder}/plan"), plan)
        self._plan, self._task = plan, self._task._replace(plan=name)

    def _data_path(self) -> Path | None:
        """Return the file that the dataset loads; None where it loads rows."""
        dataset, split = self._plan.asked.dataset, self._plan.asked.split
        stage = dataset.pipeline
        if split not in dataset.splits or (stage is not None and stage.reads_files):
            return None
        with dataset.guard_of_load(split):
            load_split = dataset.row_function("load")
            return loaded_path(load_split(split=split, columns=None, limit=None))

    def _cut(self, paths: Sequence[Path | None]) -> list[Source | None]:
        """Hash the files of data and predictions, and cut them into parts."""
        blocks = sources.list_blocks(path for path in paths if path is not None)
        calls = [(each, f"block {each[1]} of {each[0]}") for each in blocks]
        by_file: dict[Path, list[BlockFacts]] = {}
        found = self._run(read_block, calls, "hashing the files", 0.0, 0.05)
        for (file, _), facts in zip(blocks, found, strict=True):
            by_file.setdefault(file, []).append(facts)
        stages = self._plan.asked.dataset.pipeline, self._plan.asked.stage
        return [
            sources.cut_source(path, by_file, stage is not None) if path else None
            for path, stage in zip(paths, stages, strict=True)
        ]

    def _load(self, source: Source | None) -> Survey:
        selection, identity = self._plan.asked.options.selection, None
        parts: Sequence[Path | None] = [None]
        if source is None:  # what rows hold is known once they were read
            self._task = self._task._replace(data=f"{self._task.folder}/data")
        else:
            parts = source.parts
            rows = ExampleRows(pl.DataFrame(), path=source.path)
            identity = fingerprint(self._plan.asked.dataset, rows)
            self._task = self._task._replace(data=f"data/{self._key(identity)}")
        name = f"{self._task.data}/survey"
        cached: Survey | None = load(self._task.store, name, may_be_missing=True)
        if cached is not None:
            return cached
        is_whole = bool(selection.filters) or preparation.has_plain_lines(self._rows)
        limit = None if is_whole else selection.limit
        calls = self._calls("data", parts, limit, {})
        found = self._run(load_part, calls, "reading the data", 0.05, 0.25)
        types = common_types(found)
        others = [n for n, part in enumerate(found) if differ(part.types, types)]
        calls = self._calls("data", parts, limit, types)
        again = self._run(
            load_part, [calls[n] for n in others], "reading it again", 0.2, 0.25
        )
        for number, part in zip(others, again, strict=True):
            found[number] = part
        survey = merge_parts(self._task, found, identity)
        self._check_files()
        save(self._task.store, name, survey)
        return survey

    def _key(self, identity: DataIdentity) -> str:
        """Return what names the buckets of data, which later evaluations use again."""
        asked, columns = self._plan.asked, self._plan.columns
        facts = [
            *(HASH, self._task.buckets, Survey._fields, describe_core()),
            *(identity.key, asked.split),
            *(asked.options.selection.to_dict(), columns and sorted(columns)),
            *(asked.dataset.chosen_cluster, asked.dataset.keep),
            *map(describe_component, (asked.dataset, asked.task)),
            asked.dataset.pipeline and asked.dataset.pipeline.specification,
        ]
        text = json.dumps(facts, sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def _score(self) -> tuple[list[ResponsePart], list[Scored]]:
        """Read and score the predictions.

        Buckets that infer something else than all together are scored once more.
        """
        parts: list[ResponsePart] = []
        if self._rows is not None and not self._task.is_bucketed:
            given = self._source.parts if self._source else [self._given.predictions]
            calls = self._calls("predictions", given)
            parts = self._run(read_part, calls, "reading the predictions", 0.25, 0.5)
            self._pieces = scoring.merge_pieces(self._source, parts)
        scored = self._score_buckets(range(self._task.buckets), None)
        known = scoring.merge_inferred(scored)
        others = [n for n, each in enumerate(scored) if each.inferred != known]
        again = self._score_buckets(others, known)
        for number, each in zip(others, again, strict=True):
            scored[number] = each
        self._check_files()
        return parts, scored

    def _check_files(self) -> None:
        for file in self._watched:
            file.check()

    def _calls(
        self, what: str, parts: Sequence[Any], *more: Any
    ) -> list[tuple[tuple[Any, ...], str]]:
        """Return the calls that read parts."""
        calls = []
        for number, part in enumerate(parts):
            name = str(part) if isinstance(part, Path) else what
            if isinstance(part, FilePart):
                word = "line" if part.groups is None else "row"
                name = f"{part} from {word} {part.first:,}"
            calls.append(((self._task, number, part, *more), name))
        return calls

    def _score_buckets(
        self, buckets: Iterable[int], known: Inferred | None
    ) -> list[Scored]:
        task, pieces = self._task, self._pieces
        calls = [
            ((task, n, files_of(pieces, n), known), f"part {n + 1} of {task.buckets}")
            for n in buckets
        ]
        return self._run(score_bucket, calls, "scoring", 0.5, 0.9)

    def _run(
        self,
        function: Callable[..., Any],
        calls: Sequence[tuple[tuple[Any, ...], str]],
        text: str,
        first: float,
        last: float,
    ) -> list[Any]:
        """Call a function on workers, each call with its arguments and name."""
        started, done, rows = time.monotonic(), 0, 0
        engine = self._engine
        resources = engine.resources if function is score_bucket else {}

        def told(_place: int, value: Any) -> None:
            nonlocal done, rows
            done, rows = done + 1, rows + getattr(value, "rows", 0)
            seconds = max(time.monotonic() - started, 1e-3)
            rate = f", {rows / seconds:,.0f} rows/s" if rows else ""
            lost = f", {engine.lost} workers lost" if engine.lost else ""
            share = first + (last - first) * done / len(calls)
            self._progress(f"{text}: {done} of {len(calls)} parts{rate}{lost}", share)

        tasks = [
            engine.submit(call_with, (function, *arguments), name, resources)
            for arguments, name in calls
        ]
        return list(engine.gather(tasks, told))

    def _merge(
        self, parts: Sequence[ResponsePart], scored: Sequence[Scored]
    ) -> tuple[Result, Sequence[str]]:
        asked, survey = self._plan.asked, self._plan.survey
        self._add_up(parts, scored)
        refused = self.alignment.refusal(asked.options.policies)
        source, ids = self._source, survey.examples.frame["id"]
        read = changed_by(source.path, asked.stage) if source else self._rows
        given = {**preparation.identify(read), **self._beside}
        matched = survey.examples, self.alignment, given, ids
        prepared = Prepared(*matched, asked.stage, asked.answers, self._plan.job)
        found = Parts(asked, self._given.told(prepared), GroupSizes((), []), {})
        if not refused:
            tallies = self._merge_tallies(scored)
            plan, groups = self._plan.partition, partitions.group_sizes(tallies)
            finals = partitions.finalize_all(plan, tallies)
            found = found._replace(scored=finals, groups=groups)
            with suppress(MetricError):  # its failure is reported with its scores
                of_answers = finals[0].metric, plan.context, tallies.answers
                found = found._replace(baselines=baselines_of(*of_answers))
        result = make_result(found, self._plan.model, refused)
        self._given.keep_in(result)
        result.responses_of = lambda: None  # they lie in parts
        result.examples = None
        result.problems = self.alignment.problems
        changes = scoring.merge_records(scored)
        is_partial = changes["not_scored"] and result.status == "complete"
        clusters = cluster_names(asked.dataset) if survey.is_clustered else ()
        result.amend(
            **changes,
            cluster=tuple(clusters),
            status="partial" if is_partial else result.status,
            notices=(*result.notices, *scoring.list_notices(scored)),
        )
        result.amend(fingerprint=fingerprint_of(result.record))
        for each in scored:
            result.record_warnings(each.record.warnings)
        if self._plan.writes:
            result.part_files = self._files(parts, scored)
        return result, refused

    def _add_up(self, parts: Sequence[ResponsePart], scored: Sequence[Scored]) -> None:
        """Add up what became of the responses, with all problems in order."""
        problems, keys = Problems(), [np.empty((0, 4), np.int64)]
        adapters = self._plan.reader(self._plan.survey.examples).adapters
        for each in scored:
            adapters.refused.update(each.refused)
            if each.problems is not None:
                places, listed = load(self._task.store, each.problems)
                keys.append(places)
                for problem in listed:
                    problems.add(problem)
        order = np.lexsort(np.concatenate(keys).T[::-1])
        self.alignment = scoring.merge_alignments(scored, parts)._replace(
            problems=problems.at(order),
            notices=adapters.notices(),
            place=preparation.place_of(self._rows),
        )

    def _merge_tallies(self, scored: Sequence[Scored]) -> Tallies:
        """Add up the tallies of buckets on workers, some at a time."""
        files = [each.tallies for each in scored if each.tallies is not None]
        while len(files) > 1:
            groups = [files[n : n + AT_ONCE] for n in range(0, len(files), AT_ONCE)]
            calls = [((self._task, group), f"sum of {group[0]}") for group in groups]
            files = self._run(add_tallies, calls, "adding up", 0.9, 0.95)
        tallies: Tallies = load(self._task.store, files[0])
        return tallies

    def _files(
        self, parts: Sequence[ResponsePart], scored: Sequence[Scored]
    ) -> dict[str, str | Path]:
        """Return the tables by example by their names in the run folder."""
        files = {
            f"parts/{number:05}/{name}": file
            for number, each in enumerate(scored)
            for name, file in each.files.items()
        }
        kept = [each.kept for each in (parts or scored)]
        for number, file in enumerate(kept if all(kept) else ()):
            files[f"parts/{number:05}/responses.parquet"] = str(file)
        return {name: join(self._task.store, file) for name, file in files.items()}

    def hints(self) -> tuple[Examples, Alignment]:
        """Return what hints are found in: of little data all that was matched."""
        survey, source = self._plan.survey, self._source
        is_short = source is None or source.bytes <= SMALL_BYTES
        if self._rows is not None and is_short and survey.rows <= MOST_MATCHED:
            given = self._plan.asked, self._rows, self._plan.model, self._progress
            return match(*given)[:2]
        examples = survey.examples._replace(choices=None)
        if survey.rows <= MOST_ON_DRIVER:
            examples = examples._replace(frame=answers_of(self._task, survey))
        return examples, self.alignment
