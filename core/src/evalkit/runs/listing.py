"""Lists the runs of a folder."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from evalkit.errors import StorageError
from evalkit.runs.folders import RUN_FILE, id_of, is_run, read_record, run_folders
from evalkit.runs.record import RunRecord
from evalkit.runs.remote import runs_root
from evalkit.runs.stored import StoredResult
from evalkit.runs.summaries import RunSummary


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
        bounds=record.bounds,
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
