"""Lists the runs of a folder, and finds one by what a user calls it."""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from evalkit.errors import StorageError
from evalkit.examples.files import local_path
from evalkit.runs.evaluation_times import last_evaluation, read_start
from evalkit.runs.folders import (
    RUN_FILE,
    explain_no_run,
    is_run,
    name_runs,
    read_record,
    run_folders,
)
from evalkit.runs.results import Result
from evalkit.runs.score_columns import Score
from evalkit.runs.stored import StoredResult, read_run

LATEST = "latest"
"""Stands for the run that was evaluated last where a run is asked for."""

REFUSED = "refused"
"""Status of a run whose predictions were refused, so that it has no scores."""

_NEAR = 5

_SHORTEST_START = 4
"""Fewest characters of an id that name a run: less is more likely a model's name."""


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


def find_run(reference: str | Path, folder: str | Path = "runs") -> Path:
    """Find a run folder.

    Args:
        reference: In this order: the path of a run folder; `latest` for the one that
            was evaluated last; the id of a run; the name of its model, alone or after
            that of the data set (`hatecheck/my-model`), where a run that was rescored
            stands behind the new one and a refused one behind one with scores; or the
            start of an id, of 4 characters or more, that no other id has.
        folder: Where ids and `latest` are looked for.

    Returns:
        The path of the run folder.

    Raises:
        StorageError: There is no such run, there are several, or the path is of
            something else.

    Warns:
        UserWarning: `latest` may be another one, as a note of a later evaluation cannot
            be read; or a later run of the model was refused.
    """
    path, root = local_path(reference), local_path(folder)
    name = str(reference)
    named = path.parent if path.name == RUN_FILE else path
    for candidate in (named, root / path):
        if name and is_run(candidate):
            return candidate
    if name == LATEST:
        return _newest(root)
    runs = [run for run in run_folders(root) if is_run(run)]
    for what, found in _candidates(name, root, runs):
        if len(found) == 1:
            return found[0]
        if found:
            raise StorageError(
                f"{name!r} is {what} of {len(found)} runs: {name_runs(found)}. Give "
                "an id or a path"
            )
    if name and path.exists():
        raise StorageError(explain_no_run(path))
    raise StorageError(_unknown(name, root, runs))


def _candidates(
    name: str, root: Path, runs: Sequence[Path]
) -> Iterator[tuple[str, list[Path]]]:
    """Return the runs that a name may mean, what counts most first."""
    if name:
        yield "the id", [run for run in runs if run.name == name]
        yield "the model", [run.path for run in _runs_of_model(name, list_runs(root))]
    if len(name) >= _SHORTEST_START:
        yield "the start", [run for run in runs if run.name.startswith(name)]


def _runs_of_model(name: str, runs: Sequence[RunSummary]) -> list[RunSummary]:
    """Return the runs of a model; of a run and what was rescored from it, the latter.

    Args:
        name: The model's name, alone or after that of the data set.
        runs: All runs, the last evaluated first.

    Returns:
        Those of the model that have scores; where none has, those that were refused.

    Warns:
        UserWarning: A refused run is left out that is newer than those with scores.
    """
    named = [run for run in runs if name in (run.model, f"{run.dataset}/{run.model}")]
    parents = {run.parent for run in named}
    named = [run for run in named if run.run_id not in parents]
    scored = [run for run in named if run.status != REFUSED]
    if scored and named[0].status == REFUSED:
        warnings.warn(
            f"the last evaluation of {name} was refused (run {named[0].run_id}); an "
            "earlier run is used, which has scores",
            stacklevel=4,
        )
    return scored or named


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


def _newest(root: Path) -> Path:
    summaries = list_runs(root)
    if not summaries or summaries[0].problem is not None:
        raise StorageError(_unknown(LATEST, root, []))
    for summary in summaries:
        if summary.warning is not None:
            warnings.warn(summary.warning, stacklevel=3)
    return summaries[0].path


def _unknown(name: str, root: Path, runs: Sequence[Path]) -> str:
    if not runs:
        return (
            f"there is no run {name!r}: {root} holds no runs. `evalkit eval` writes "
            "them; -o names another folder"
        )
    begun = [run for run in runs if name and run.name.startswith(name)]
    if begun:
        return (
            f"there is no run {name!r} in {root}: no model is called so, and of an id, "
            f"such as {name_runs(begun)}, {_SHORTEST_START} characters are needed"
        )
    near = difflib.get_close_matches(name, [run.name for run in runs], _NEAR, 0.3)
    known = [run for run in runs if run.name in near] or runs
    return (
        f"there is no run {name!r} in {root}, which holds {name_runs(known)} (see "
        "`evalkit runs`). A run is named by its path, its id, its model, the start of "
        f"its id ({_SHORTEST_START} characters or more), or `latest`"
    )


def as_result(run: Result | str | Path, folder: str | Path = "runs") -> Result:
    """Return the result that a caller means.

    Args:
        run: A result, the path of a run folder, the start of its id, its model, or
            `latest`.
        folder: Folder that runs are looked for in.

    Returns:
        The result.

    Raises:
        StorageError: There is no such run.
    """
    return run if isinstance(run, Result) else read_run(find_run(run, folder))
