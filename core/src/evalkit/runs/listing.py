"""Lists the runs of a folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from evalkit.errors import StorageError
from evalkit.examples.files import local_path
from evalkit.runs.evaluation_times import last_evaluation, read_start
from evalkit.runs.folders import RUN_FILE, is_run, read_record, run_folders
from evalkit.runs.score_columns import Score
from evalkit.runs.stored import StoredResult


class RunSummary(NamedTuple):
    """What a list of runs says about one of them, from its `run.json` alone."""

    path: Path
    """The run folder."""
    run_id: str
    """The recorded id; the folder's name where there is no record."""
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
    bounds: Mapping[str, Sequence[float | None]] = {}
    """The least and the greatest value of each metric that has bounds."""
    parent: str | None = None
    """The run that this one was rescored from; None where it was evaluated."""
    evaluated: str | None = None
    """When the last evaluation of just this run began, in ISO 8601: later than
    `started` where it was repeated; None where neither was recorded."""
    repeat_of: str | None = None
    """The run of the same inputs that has other numbers; None where there is none."""
    warning: str | None = None
    """Why `evaluated` may be too early; None where it is known."""
    confidence: float | None = None
    """Probability of the run's intervals."""


def list_runs(folder: str | Path = "runs") -> list[RunSummary]:
    """List the runs of a folder, from their `run.json` alone.

    Args:
        folder: The folder that runs were written to; `<folder>/<data set>/<run id>`.

    Returns:
        One summary for each run folder, the last evaluated first. A folder that is no
        run or whose record is broken comes last, with its `problem`.
    """
    summaries = [_summarise(run) for run in run_folders(local_path(folder))]
    return sorted(summaries, key=_order, reverse=True)


def _order(summary: RunSummary) -> tuple[bool, tuple[float, int], str]:
    order = (0.0, 0)
    if summary.problem is None:
        order = last_evaluation(summary.path, summary.started).order
    return summary.problem is None, order, str(summary.path)


def _summarise(folder: Path) -> RunSummary:
    if not is_run(folder):
        why = f"{folder}: is no run: it holds no {RUN_FILE}"
        return RunSummary(folder, folder.name, problem=why)
    try:
        record, scores = read_record(folder)
    except StorageError as error:
        return RunSummary(folder, folder.name, problem=str(error))
    result = StoredResult(folder, record, scores)
    started = read_start(record)
    last = last_evaluation(folder, started)
    return RunSummary(
        folder,
        result.run_id,
        started,
        result.dataset,
        result.task,
        record.split,
        result.model,
        result.status,
        result.headline,
        bounds=record.bounds,
        parent=record.parent,
        evaluated=last.started,
        repeat_of=record.repeat_of,
        warning=last.problem,
        confidence=record.confidence,
    )
