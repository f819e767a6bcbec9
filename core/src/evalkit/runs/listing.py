"""Lists the runs of a folder."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from evalkit.errors import StorageError
from evalkit.runs.evaluation_times import last_evaluation, read_start
from evalkit.runs.folders import RUN_FILE, is_run, read_record, run_folders
from evalkit.runs.index import RunIndex
from evalkit.runs.remote import runs_root
from evalkit.runs.stored import StoredResult
from evalkit.runs.summaries import RunSummary


class _Listed(NamedTuple):
    """A summary, and its place in the list: greater for what comes first."""

    summary: RunSummary
    order: tuple[bool, tuple[float, int], str]


def list_runs(folder: str | Path = "runs") -> list[RunSummary]:
    """List the runs of a folder, from their `run.json` alone.

    What the records of many runs say is kept in an index in the folder, which is
    believed only of files that have not been written since, and made again without it.

    Args:
        folder: The folder that runs were written to; `<folder>/<data set>/<run id>`.

    Returns:
        One summary for each run folder, the last evaluated first. A folder that is no
        run or whose record is broken comes last, with its `problem`.
    """
    root = runs_root(folder)
    folders = list(run_folders(root))
    index = RunIndex.of(root, len(folders))
    listed = [_list(each, index) for each in folders]
    index.write()
    listed.sort(key=lambda each: each.order, reverse=True)
    return [each.summary for each in listed]


def _list(folder: Path, index: RunIndex) -> _Listed:
    summary = index.known(folder)
    if summary is None:
        before = index.stamp(folder)
        summary = _summarise(folder)
        if before is not None:
            index.add(before, summary)
    if summary.problem is not None:
        return _Listed(summary, (False, (0.0, 0), str(folder)))
    last = last_evaluation(folder, summary.started)
    summary = summary._replace(evaluated=last.started, warning=last.problem)
    return _Listed(summary, (True, last.order, str(folder)))


def _summarise(folder: Path) -> RunSummary:
    """Say what the record of a run says, which the index may keep."""
    if not is_run(folder):
        why = f"{folder}: is no run: it holds no {RUN_FILE}"
        return RunSummary(folder, folder.name, problem=why)
    try:
        record, scores = read_record(folder)
    except StorageError as error:
        return RunSummary(folder, folder.name, problem=str(error))
    result = StoredResult(folder, record, scores)
    is_cut = record.errors or record.merged or not record.selection.is_whole
    is_named = record.status == "partial" and record.not_scored and not is_cut
    return RunSummary(
        folder,
        result.run_id,
        read_start(record),
        result.dataset,
        result.task,
        record.split,
        result.model,
        result.status,
        result.headline,
        bounds=record.bounds,
        parent=record.parent,
        repeat_of=record.repeat_of,
        confidence=record.confidence,
        perturbation=None if record.perturbation is None else record.perturbation.name,
        original=record.original,
        is_named=bool(is_named) or record.status == "complete",
    )
