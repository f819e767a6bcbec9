"""Evaluates in parts on an engine: the order of the steps."""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from evalkit.base.progress import Progress
from evalkit.errors import DataError, EvalkitError, MetricError
from evalkit.examples.clusters import cluster_names
from evalkit.examples.fingerprints import DataIdentity, fingerprint
from evalkit.examples.rows import ExampleRows
from evalkit.examples.table import Examples, load_examples
from evalkit.places import exists, is_remote, join
from evalkit.plugins.observers import Observers
from evalkit.plugins.provenance import describe_component, describe_core
from evalkit.predictions import preparation
from evalkit.predictions.alignment import Alignment
from evalkit.predictions.beside import read_job, read_system
from evalkit.predictions.preparation import Prepared, changed_by
from evalkit.reading.data_places import loaded_path
from evalkit.reading.digests import read_block
from evalkit.reading.formats import is_data_set
from evalkit.reading.sharded import files_of as shards_of
from evalkit.reading.steady_files import SteadyFile
from evalkit.runs.recording import Asked, Parts, fingerprint_of, make_result
from evalkit.runs.results import Result
from evalkit.runs.scores import GroupSizes
from evalkit.scoring.baselines import baselines_of
from evalkit.scoring.tally import Tallies
from evalkit.workflows import partitions
from evalkit.workflows.evaluation import GivenPredictions, evaluate_bound
from evalkit.workflows.evaluation_steps import match
from evalkit_engines_dask import scoring, sources
from evalkit_engines_dask.buckets import HASH, Pieces, files_of
from evalkit_engines_dask.data import answers_of, load_part, merge_parts
from evalkit_engines_dask.plan import Plan, Survey, Task
from evalkit_engines_dask.responses import ResponsePart, read_part
from evalkit_engines_dask.scoring import Scored, add_tallies, score_bucket
from evalkit_engines_dask.sources import Calls, Source, call_with, read_calls
from evalkit_engines_dask.store import attempt, load, save
from evalkit_engines_dask.types import common_types

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

Evaluated = tuple[Result, Sequence[str], Callable[[], tuple[Examples, Alignment]]]
"""A result, why it is refused, and what finds out what hints are found in."""


class Evaluation:
    """One evaluation in parts, as the driver knows it."""

    def __init__(
        self,
        engine: Any,
        asked: Asked,
        predictions: Any,
        model: str,
        progress: Progress,
        writes: bool = False,
    ) -> None:
        if asked.options.against is not None:
            raise EvalkitError("against cannot be used with an engine")
        self._engine, self._asked, self._progress = engine, asked, progress
        self._given, self._rows = predictions, changed_by(predictions, asked.stage)
        job, system = read_job(predictions), read_system(predictions)
        self._beside = {} if job is None else dict(job.recorded)
        if system is not None:
            self._beside["system"] = system.recorded
        asked = replace(asked, watchers=Observers(asked.registry))
        self._plan = Plan(asked, model, job, writes)
        self._task = Task(engine.store, attempt("evaluation"))
        paths = self._data_path(), predictions
        self._paths = [path if isinstance(path, Path) else None for path in paths]
        # a folder that is no dataset is refused where it is read
        files = [p for p in self._paths if p and (is_data_set(p) or not p.is_dir())]
        self._watched = [*map(SteadyFile, files)]
        self._source: Source | None = None
        self._pieces: Pieces = []
        self._share = 0.0

    def evaluate(self, source: GivenPredictions) -> Evaluated:
        """Do all steps."""
        asked = self._asked
        if reason := partitions.why_whole(asked):
            return self._evaluate_whole(source, reason)
        parts, scored, alignment = self._score_all()
        refused = alignment.refusal(asked.options.policies)
        found = self._finalize(source, alignment, [] if refused else scored)
        result = make_result(found, self._plan.model, refused)
        source.keep_in(result)
        result.responses_of = lambda: None  # they lie in parts
        result.examples, result.problems = None, alignment.problems
        names = Counter(problem.metric for problem in result.problems)
        not_scored = {name: n for name, n in names.items() if name is not None}
        is_partial = not_scored and result.status == "complete"
        is_clustered = self._plan.survey.is_clustered
        result.amend(
            not_scored=not_scored,
            status="partial" if is_partial else result.status,
            cluster=tuple(cluster_names(asked.dataset)) if is_clustered else (),
            extraction=scoring.merge_extractions(scored, asked.answers),
        )
        result.amend(fingerprint=fingerprint_of(result.record))
        kept = [part.kept for part in parts]
        for files in (*(s.tables for s in scored), *(kept if all(kept) else ())):
            result.part_files |= files
        return result, refused, lambda: self._hints(alignment)

    def match(self) -> tuple[Examples, Alignment]:
        """Do all steps but those of metrics.

        The examples have ids and answers only, or no rows, and the responses have no
        rows.
        """
        return self._hints(self._score_all()[-1])

    def end(self) -> None:
        """Remove what only this evaluation needed from a store that is a folder."""
        if not is_remote(self._task.store):
            folder = Path(self._task.store, self._task.folder)
            shutil.rmtree(folder, ignore_errors=True)

    def _evaluate_whole(self, source: GivenPredictions, reason: str) -> Evaluated:
        """Evaluate in this process what needs all examples; workers help."""
        files = [file for path in self._paths if path for file in shards_of(path)]
        if sum(p.stat().st_size for p in files if p.is_file()) > WHOLE_BYTES:
            raise MetricError(
                f"{reason}. With an engine that is done for files of at most "
                f"{WHOLE_BYTES >> 20:,} MiB"
            )
        given = self._asked, source, self._plan.model, self._progress
        result, refused, hints = evaluate_bound(*given, self._engine)
        result.amend(notices=(*result.notices, f"{reason}: scored in one process"))
        return result, refused, hints

    def _data_path(self) -> Path | None:
        """Return the file that the dataset loads; None where it loads rows."""
        dataset, split = self._asked.dataset, self._asked.split
        stage = dataset.pipeline
        if split not in dataset.splits or (stage is not None and stage.reads_files):
            return None
        with dataset.guard_of_load(split):
            load_split = dataset.row_function("load")
            return loaded_path(load_split(split=split, columns=None, limit=None))

    def _score_all(self) -> tuple[list[ResponsePart], list[Scored], Alignment]:
        """Read and score all parts, and add up what became of the responses."""
        asked, data = self._asked, None
        try:
            data = self._cut(self._paths[0], asked.dataset.pipeline)
            self._source = self._cut(self._paths[1], asked.stage)
            self._read_data(data)
            parts, scored = self._score()
        except DataError:
            self._check_files()
            if data is not None and data.bytes <= SMALL_BYTES:
                # its error names the rows of the whole
                load_examples(asked.dataset, asked.task, asked.split)
            raise
        adapters = self._plan.reader(self._plan.survey.examples).adapters
        merged = scoring.merge_alignments(self._task, scored, parts, adapters)
        place = preparation.place_of(self._rows)
        return parts, scored, merged._replace(place=place)

    def _cut(self, path: Path | None, stage: Any) -> Source | None:
        """Hash the files of a path, and cut them into parts."""
        if path is None:
            return None
        blocks = sources.list_blocks(path)
        calls = [((file, n), f"block {n} of {file}") for file, n in blocks]
        facts = self._run(read_block, calls, "hashing the files", 0.05)
        found = [(file, each) for (file, _), each in zip(blocks, facts, strict=True)]
        return sources.cut_source(path, found, stage is not None)

    def _read_data(self, data: Source | None) -> None:
        """Read the data, and find out what is known of all examples."""
        size = sum(each.bytes for each in (data, self._source) if each)
        parts, workers = self._engine.parts, self._engine.workers
        buckets = parts or max(2 * workers, -(-size // sources.PART_BYTES))
        if self._engine.bucketed:
            self._pieces = sources.bucketed_pieces(self._paths[1])
            buckets = len(self._pieces)
        self._task = self._task._replace(buckets=buckets)
        self._save_plan(self._plan)
        survey = self._load(data)
        plan = self._plan._replace(survey=survey)
        asked = plan.asked
        if any(metric.has("prepare") for metric in asked.metrics):
            if survey.rows > MOST_ON_DRIVER:
                raise MetricError(
                    f"metrics that look at all answers first take at most "
                    f"{MOST_ON_DRIVER:,} examples with an engine, got {survey.rows:,}"
                )
            answers = answers_of(self._task, survey).filter("selected")
            known = plan.partition.context, answers
            asked = partitions.prepare_plan(asked, *known).asked
        self._save_plan(plan._replace(asked=asked))

    def _save_plan(self, plan: Plan) -> None:
        name = save(self._task.store, attempt(f"{self._task.folder}/plan"), plan)
        self._plan, self._task = plan, self._task._replace(plan=name)

    def _load(self, source: Source | None) -> Survey:
        selection, identity = self._asked.options.selection, None
        parts: Sequence[Path | None] = [None]
        data = f"{self._task.folder}/data"  # what rows hold is known once they are read
        if source is not None:
            parts = source.parts
            rows = ExampleRows(pl.DataFrame(), path=source.path)
            identity = fingerprint(self._asked.dataset, rows)
            data = f"data/{self._key(identity)}"
        self._task = task = self._task._replace(data=data)
        if exists(join(task.store, f"{data}/survey")):
            cached: Survey = load(task.store, f"{data}/survey")
            return cached.at(parts)
        is_whole = bool(selection.filters) or preparation.has_plain_lines(self._rows)
        limit = None if is_whole else selection.limit
        calls = read_calls(task, parts, "data", limit)
        found = self._run_alike(
            *(load_part, calls, "reading the data", 0.25),
            lambda parts: common_types(part.types for part in parts),
        )
        survey = merge_parts(self._plan.asked, found, identity)
        save(task.store, f"{data}/survey", survey)
        return survey

    def _key(self, identity: DataIdentity) -> str:
        """Return what names the buckets of data, which later evaluations use again."""
        asked, columns = self._asked, self._plan.columns
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
        """Read and score the predictions."""
        parts, task = list[ResponsePart](), self._task
        if self._rows is not None and not self._engine.bucketed:
            given = self._source.parts if self._source else [self._given]
            calls = read_calls(task, given, "predictions")
            parts = self._run(read_part, calls, "reading the predictions", 0.5)
            self._pieces = scoring.merge_pieces(self._source, parts)
        calls = [
            ((task, n, files_of(self._pieces, n)), f"part {n + 1} of {task.buckets}")
            for n in range(task.buckets)
        ]
        how = "scoring", 0.9, scoring.merge_inferred
        return parts, self._run_alike(score_bucket, calls, *how)

    def _run_alike(
        self,
        function: Callable[..., Any],
        calls: Calls,
        text: str,
        share: float,
        merge: Callable[[list[Any]], Any],
    ) -> list[Any]:
        """Call a function, which infers something from each part, as `_run` does.

        It is called again for the parts that infer something else than all together.
        """
        first = [((*arguments, None), name) for arguments, name in calls]
        found = self._run(function, first, text, share)
        known = merge(found)
        others = [n for n, each in enumerate(found) if not each.fits(known)]
        again = [((*calls[n][0], known), calls[n][1]) for n in others]
        anew = dict(zip(others, self._run(function, again, text, share), strict=True))
        self._check_files()
        return [anew.get(n, each) for n, each in enumerate(found)]

    def _check_files(self) -> None:
        for file in self._watched:
            file.check()

    def _run(
        self, function: Callable[..., Any], calls: Calls, text: str, share: float
    ) -> list[Any]:
        """Call a function on workers; `share` of all work is done at the end."""
        started, done, rows, before = time.monotonic(), 0, 0, self._share
        engine, self._share = self._engine, share
        resources = engine.resources if function is score_bucket else {}

        def told(_place: int, value: Any) -> None:
            nonlocal done, rows
            done, rows = done + 1, rows + getattr(value, "rows", 0)
            seconds = max(time.monotonic() - started, 1e-3)
            rate = f", {rows / seconds:,.0f} rows/s" if rows else ""
            lost = f", {engine.lost} workers lost" if engine.lost else ""
            at = before + (share - before) * done / len(calls)
            self._progress(f"{text}: {done} of {len(calls)} parts{rate}{lost}", at)

        tasks = [
            engine.submit(call_with, (function, *arguments), name, resources)
            for arguments, name in calls
        ]
        return list(engine.gather(tasks, told))

    def _finalize(
        self, source: GivenPredictions, alignment: Alignment, scored: Sequence[Scored]
    ) -> Parts:
        """Score the sum of all tallies, if there are any."""
        asked, rows, examples = self._plan.asked, self._rows, self._plan.survey.examples
        if self._source:
            rows = changed_by(self._source.path, asked.stage)
        given = {**preparation.identify(rows), **self._beside}
        matched = examples, alignment, given, examples.frame["id"]
        prepared = Prepared(*matched, asked.stage, asked.answers, self._plan.job)
        parts = Parts(asked, source.told(prepared), GroupSizes((), []), {})
        if not scored:
            return parts
        tallies, plan = self._merge_tallies(scored), self._plan.partition
        finals = partitions.finalize_all(plan, tallies)
        parts = parts._replace(scored=finals, groups=partitions.group_sizes(tallies))
        with suppress(MetricError):  # its failure is reported with its scores
            of_answers = finals[0].metric, plan.context, tallies.answers
            parts = parts._replace(baselines=baselines_of(*of_answers))
        return parts

    def _merge_tallies(self, scored: Sequence[Scored]) -> Tallies:
        """Add up the tallies of buckets on workers, some at a time."""
        files = [each.tallies for each in scored if each.tallies is not None]
        while len(files) > 1:
            groups = [files[n : n + AT_ONCE] for n in range(0, len(files), AT_ONCE)]
            calls = [((self._task, group), f"sum of {group[0]}") for group in groups]
            files = self._run(add_tallies, calls, "adding up", 0.95)
        tallies: Tallies = load(self._task.store, files[0])
        return tallies

    def _hints(self, alignment: Alignment) -> tuple[Examples, Alignment]:
        """Return what hints are found in: of little data all that was matched."""
        survey, source = self._plan.survey, self._source
        is_short = source is None or source.bytes <= SMALL_BYTES
        if self._rows is not None and is_short and survey.rows <= MOST_MATCHED:
            given = self._asked, self._rows, self._plan.model, self._progress
            return match(*given)[:2]
        examples = survey.examples._replace(choices=None)
        if survey.rows <= MOST_ON_DRIVER:
            answers = answers_of(self._task, survey).filter("selected")
            examples = examples._replace(frame=answers)
        return examples, alignment
