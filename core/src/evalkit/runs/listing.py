"""Lists the runs of a folder."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from evalkit.errors import StorageError
from evalkit.runs.folders import RUN_FILE, id_of, is_run, read_record, run_folders
from evalkit.runs.record import RunRecord
from evalkit.runs.remote import runs_root
from evalkit.runs.score_columns import Score
from evalkit.runs.stored import StoredResult


class RunSummary(NamedTuple):
    """What a list of runs says about one of them, from its `run.json` alone."""

    path: Path
    """The run folder."""
    run_id: str
    """The 8 hex digits with which the folder's name ends."""
    fingerprint: str = ""
    """The hash of all inputs; "" where the run cannot be read."""
    started: str | None = None
    """When the evaluation began, in ISO 8601; None where it was not recorded."""
    dataset: str | None = None
    task: str | None = None
    split: str | None = None
    model: str | None = None
    status: str | None = None
    """`complete`, `partial` or `refused`."""
    headline: Score | None = None
    """The main score; None where there is none."""
    problem: str | None = None
    """Why the run cannot be read; None where it can. Then only `path` and `run_id`
    are known."""
    record: RunRecord = RunRecord(status="refused")
    """All that `run.json` holds besides the scores."""
    parent: str | None = None
    """Fingerprint of the run that this one was rescored from; None where it was
    evaluated."""
    confidence: float | None = None
    """Probability of the run's intervals."""
    perturbation: str | None = None
    """What made the examples; None for a run that is not of perturbed examples."""
    original: str | None = None
    """Fingerprint of the run of their originals."""
    is_named: bool = False
    """Whether the name of its model may mean it: it is complete, or partial for nothing
    but responses that a metric had a reason not to score, such as a judge's."""


def list_runs(folder: str | Path = "runs") -> list[RunSummary]:
    """List the evaluations of a folder, from their `run.json` alone.

    Args:
        folder: The folder that runs were written to; `<folder>/<dataset>/<run>`.

    Returns:
        One summary for each fingerprint, of its latest run that was not refused, or
        else of its latest; the last evaluated first. A folder that is not a run or
        whose record is broken comes last, with its `problem`.
    """
    every = [_summarize(run) for run in run_folders(runs_root(folder))]
    every.sort(key=_order, reverse=True)
    return list(_latest(every))


def _latest(runs: list[RunSummary]) -> Iterator[RunSummary]:
    """Leave out runs whose evaluation was done again later, unless that was refused."""
    latest: dict[str, RunSummary] = {}
    for run in sorted(runs, key=lambda run: run.status == "refused"):
        latest.setdefault(run.fingerprint, run)
    for run in runs:
        if run.problem is not None or latest[run.fingerprint] is run:
            yield run


def _order(run: RunSummary) -> tuple[bool, float, str]:
    started = run.started
    time = 0.0 if started is None else datetime.fromisoformat(started).timestamp()
    return run.problem is None, time, str(run.path)


def _summarize(folder: Path) -> RunSummary:
    if not is_run(folder):
        why = f"{folder}: not a run folder ({RUN_FILE} is missing)"
        return RunSummary(folder, id_of(folder), problem=why)
    try:
        record, scores = read_record(folder)
    except StorageError as error:
        return RunSummary(folder, id_of(folder), problem=str(error))
    result = StoredResult(folder, record, scores)
    is_cut = record.errors or record.merged or not record.selection.is_whole
    is_named = record.status == "partial" and record.not_scored and not is_cut
    return RunSummary(
        folder,
        record.run_id,
        record.fingerprint,
        _start(record),
        result.dataset,
        result.task,
        record.split,
        result.model,
        result.status,
        result.headline,
        record=record,
        parent=record.parent,
        confidence=record.confidence,
        perturbation=None if record.perturbation is None else record.perturbation.name,
        original=record.original,
        is_named=bool(is_named) or record.status == "complete",
    )


def _start(record: RunRecord) -> str | None:
    """Return when the evaluation of a run began; None where there is no such time."""
    started = "" if record.timings is None else record.timings.started
    try:
        datetime.fromisoformat(started)
    except ValueError:
        return None
    return started
