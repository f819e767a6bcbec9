"""Finds the run that a user names: by its path, the start of its id, or its model."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from evalkit.base.violations import few
from evalkit.errors import StorageError
from evalkit.places.access import missing
from evalkit.places.names import FetchedPath
from evalkit.plugins.sources import is_offline
from evalkit.runs.folders import (
    RUN_FILE,
    explain_no_run,
    is_run,
    name_runs,
    runs_root,
)
from evalkit.runs.listing import RunSummary, list_runs
from evalkit.runs.results import Result
from evalkit.runs.stored import read_run

LATEST = "latest"
"""Stands for the run that was evaluated last where a run is asked for."""

_ID = re.compile("[0-9a-f]{4,16}")
_WAYS = "its path, the start of its id (4 characters or more), its model, MODEL@DATASET"


_STACK = 5
"""Calls from a warning up to the caller of this module."""


class FoundRun(NamedTuple):
    """The run that a name means."""

    path: Path
    """The run folder."""
    reference: str
    """What it was called."""
    chosen: RunSummary | None = None
    """What is known of it where it was chosen by its model; else None."""
    older: int = 0
    """How many complete runs of the model are older than it."""


def find_runs(
    references: Sequence[str | Path], folder: str | Path = "runs"
) -> list[FoundRun]:
    """Find run folders, and say how each was chosen.

    Args:
        references: What the runs are called, as for `find_run`.
        folder: The folder that names are looked for in.

    Returns:
        The runs, in the same order.

    Raises:
        StorageError: One is not found, as `find_run` says.
    """
    place = _Place(folder)
    return [_find(reference, place) for reference in references]


def find_run(reference: str | Path, folder: str | Path = "runs") -> Path:
    """Find a run folder.

    Args:
        reference: The path of a run folder; `latest` for the one that was evaluated
            last; the name of a model, alone or as `MODEL@DATASET`, for its newest
            complete run; or the start of an id, of 4 characters or more. A run stands
            behind a complete one that it was rescored to.
        folder: The folder that names are looked for in.

    Returns:
        The path of the run folder.

    Raises:
        StorageError: There is no such run, none of the model's is complete, several
            ids begin so, or the path is of something else.

    Warns:
        UserWarning: A later run of the model is refused or partial.
    """
    return find_runs([reference], folder)[0].path


def as_result(run: Result | str | Path, folder: str | Path = "runs") -> Result:
    """Return the result that a caller means.

    Args:
        run: A result, or what `find_run` takes.
        folder: Folder that runs are looked for in.

    Returns:
        The result.

    Raises:
        StorageError: There is no such run.
    """
    return run if isinstance(run, Result) else read_run(find_run(run, folder))


class _Place:
    """A folder of runs, listed once however many names are looked for in it."""

    def __init__(self, folder: str | Path) -> None:
        self._folder = folder

    @cached_property
    def root(self) -> Path:
        return runs_root(self._folder)  # in a store this lists it

    @cached_property
    def every(self) -> list[RunSummary]:
        return list_runs(self.root)

    @cached_property
    def listed(self) -> list[RunSummary]:
        """The evaluations that can be read, the last one first."""
        return [run for run in self.every if run.problem is None]

    @cached_property
    def unperturbed(self) -> list[RunSummary]:
        """Those of unperturbed examples, which names of models and `latest` mean."""
        return [run for run in self.listed if run.record.perturbation is None]


def _find(reference: str | Path, place: _Place) -> FoundRun:
    path, name = runs_root(reference), str(reference)
    named = path.parent if path.name == RUN_FILE else path
    if name and is_run(named):
        return FoundRun(named, name)
    if name == LATEST and place.unperturbed:
        return FoundRun(place.unperturbed[0].path, name)
    found = _newest_of_model(name, place) or _by_id(name, place)
    if found is not None:
        return found
    if name and path.exists():
        raise StorageError(explain_no_run(path))
    if isinstance(path, FetchedPath):
        why = f": {missing(path.uri)}" if is_offline() else ""
        raise StorageError(f"there is no run {name}{why}")
    raise StorageError(_unknown(name, place))


def _by_id(name: str, place: _Place) -> FoundRun | None:
    """Return the latest run whose id begins so."""
    if not _ID.fullmatch(name):
        return None
    found = [run for run in place.listed if run.record.fingerprint.startswith(name)]
    if len(found) > 1:
        paths = [run.path for run in found]
        raise StorageError(
            f"{name} matches {len(found)} runs ({name_runs(paths)}). Give a path, or "
            "more characters of an id"
        )
    return FoundRun(found[0].path, name) if found else None


def _newest_of_model(name: str, place: _Place) -> FoundRun | None:
    """Return the newest complete run of a model; None where there is no such model."""
    every = [
        run
        for run in place.unperturbed
        if name in (run.record.model, f"{run.record.model}@{run.record.dataset}")
    ]
    if not every:
        return None
    complete = [run for run in every if run.is_named]
    parents = {run.record.parent for run in complete}
    complete = [run for run in complete if run.record.fingerprint not in parents]
    if not complete:
        raise StorageError(
            f"{name}: none of the {len(every)} runs of this model in {place.root} is "
            f"complete ({name_runs([run.path for run in every])}). Name one by its id"
        )
    if not every[0].is_named:
        was = "was refused" if every[0].record.status == "refused" else "is partial"
        warnings.warn(
            f"the last evaluation of {name} {was} (run {every[0].run_id}); an earlier "
            "run is used, which is complete",
            stacklevel=_STACK,
        )
    return FoundRun(complete[0].path, name, complete[0], len(complete) - 1)


def _unknown(name: str, place: _Place) -> str:
    if isinstance(place.root, FetchedPath) and is_offline():
        return f"there is no run {name!r}: {missing(place.root.uri)}"
    broken = few(run.problem for run in place.every if run.problem is not None)
    broken = broken and f". Runs that cannot be read: {broken}"
    if not place.listed:
        return (
            f"there is no run {name!r}: {place.root} holds no runs. `evalkit eval` "
            "writes them. -o names another folder; a path names a run of any folder"
            f"{broken}"
        )
    models = sorted({str(run.record.model) for run in place.listed})
    near = f" Models here: {', '.join(models[:5])}." if models else ""
    return (
        f"there is no run {name!r} in {place.root} (see `evalkit runs`).{near} Name a "
        f"run by {_WAYS}, or `{LATEST}`{broken}"
    )
