"""Finds the run that a user names: by its path, id, model, time, or start of its id."""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from functools import cache, cached_property
from pathlib import Path
from typing import NamedTuple

from evalkit.errors import StorageError
from evalkit.plugins.sources import is_offline
from evalkit.runs.folders import (
    RUN_FILE,
    explain_no_run,
    is_run,
    name_runs,
    run_folders,
)
from evalkit.runs.listing import list_runs
from evalkit.runs.moments import is_since, read_moment
from evalkit.runs.remote import runs_root
from evalkit.runs.results import Result
from evalkit.runs.stored import read_run
from evalkit.runs.summaries import RunSummary
from evalkit.storage.fetched import FetchedPath
from evalkit.storage.fetching import missing
from evalkit.storage.places import is_remote, parse_place

LATEST = "latest"
"""Stands for the run that was evaluated last where a run is asked for."""

_NEAR = 5

_SHORTEST_START = 4
"""Fewest characters of an id that name a run: less is more likely a model's name."""

_STACK = 5
"""Calls from a warning up to the caller of this module."""


class FoundRun(NamedTuple):
    """The run that a name means."""

    path: Path
    """The run folder."""
    reference: str
    """What it was called."""
    chosen: RunSummary | None = None
    """What is known of it where it was chosen by its model or as `latest`; None where
    the name can mean no other run."""
    older: int = 0
    """How many complete runs of the model are older than it."""


def find_runs(
    references: Sequence[str | Path],
    folder: str | Path = "runs",
    since: str | datetime | None = None,
) -> list[FoundRun]:
    """Find run folders, and say how each was chosen.

    Args:
        references: What the runs are called, as for `find_run`.
        folder: The folder that names are looked for in.
        since: Names of models and `latest` mean only runs evaluated since then: `7d`
            ago, a date in ISO 8601, or a moment. A path or an id means its run.

    Returns:
        The runs, in the same order.

    Raises:
        EvalkitError: `since` is no time.
        StorageError: One is not found, as `find_run` says.
    """
    moment = read_moment(since) if isinstance(since, str) else since
    root = cache(lambda: runs_root(folder))  # of a store it is listed
    places = _Places(moment)
    return [_find(reference, root, places) for reference in references]


def find_run(
    reference: str | Path,
    folder: str | Path = "runs",
    since: str | datetime | None = None,
) -> Path:
    """Find a run folder.

    Args:
        reference: In this order: the path of a run folder; `latest` for the one that
            was evaluated last; the id of a run; the name of a model, for its newest
            complete run, alone, or with the data set as `my-model@hatecheck` or
            `hatecheck/my-model`; one of these in another folder, as
            `old-runs:my-model`; or the start of an id, of 4 characters or more, that no
            other id has. A run stands behind a complete one that it was rescored to.
        folder: Where ids and names are looked for.
        since: Names of models and `latest` mean only runs evaluated since then: `7d`
            ago, a date in ISO 8601, or a moment.

    Returns:
        The path of the run folder.

    Raises:
        EvalkitError: `since` is no time.
        StorageError: There is no such run, none of the model's is complete, several
            ids begin so, or the path is of something else.

    Warns:
        UserWarning: `latest` may be another one, as a note of a later evaluation cannot
            be read; or a later run of the model is refused or partial.
    """
    return find_runs([reference], folder, since)[0].path


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

    def __init__(self, root: Path, since: datetime | None) -> None:
        self.root = root
        self.since = since

    @cached_property
    def runs(self) -> list[Path]:
        """The folders of all runs, from their names alone."""
        return [run for run in run_folders(self.root) if is_run(run)]

    @cached_property
    def listed(self) -> list[RunSummary]:
        """All runs of unperturbed examples that can be read, the last one first."""
        whole = (run for run in list_runs(self.root) if run.problem is None)
        return [run for run in whole if run.perturbation is None]

    @cached_property
    def recent(self) -> list[RunSummary]:
        """Those that were evaluated since the moment that is asked for."""
        return [run for run in self.listed if is_since(run.evaluated, self.since)]


class _Places(dict[Path, _Place]):
    """Folders of runs by their paths."""

    def __init__(self, since: datetime | None) -> None:
        super().__init__()
        self._since = since

    def __missing__(self, root: Path) -> _Place:
        place = self[root] = _Place(root, self._since)
        return place


def _find(reference: str | Path, root: Callable[[], Path], places: _Places) -> FoundRun:
    path, name = runs_root(reference), str(reference)
    named = path.parent if path.name == RUN_FILE else path
    if name and is_run(named):
        return FoundRun(named, name)
    if name and is_run(root() / path):
        return FoundRun(root() / path, name)
    place = places[root()]
    found = _named(name, place, places)
    if found is not None:
        return found
    if name and path.exists():
        raise StorageError(explain_no_run(path))
    for folder, rest in _in_other_folders(name):
        raise StorageError(_unknown(rest, places[folder]))
    if is_remote(name):
        raise StorageError(_nothing_at(name.rstrip("/"), places))
    raise StorageError(_unknown(name, place))


def _named(name: str, place: _Place, places: _Places) -> FoundRun | None:
    """Find what a name means in a folder, what counts most first."""
    if not name:
        return None
    if name == LATEST:
        return _latest(place)
    found = _only(name, "the id", [run for run in place.runs if run.name == name])
    found = found or _newest_of_model(name, place)
    for folder, rest in _in_other_folders(name):
        found = found or _named(rest, places[folder], places)
    if found is None and len(name) >= _SHORTEST_START:
        begun = [run for run in place.runs if run.name.startswith(name)]
        found = _only(name, "the start", begun)
    return found._replace(reference=name) if found else None


def _only(name: str, what: str, runs: Sequence[Path]) -> FoundRun | None:
    if len(runs) > 1:
        raise StorageError(
            f"{name!r} is {what} of {len(runs)} runs: {name_runs(runs)}. Give "
            "an id or a path"
        )
    return FoundRun(runs[0], name) if runs else None


def _in_other_folders(name: str) -> Iterator[tuple[Path, str]]:
    """Split `FOLDER:NAME`, where either may hold a colon, at each one that can be."""
    ends = [place for place, letter in enumerate(name) if letter == ":"]
    for end in ends:
        rest = name[end + 1 :]
        if end and rest and not rest.startswith("//"):
            folder = runs_root(name[:end])
            if folder.is_dir():
                yield folder, rest


def _latest(place: _Place) -> FoundRun:
    if not place.listed:
        raise StorageError(_no_runs(LATEST, place.root))
    if not place.recent:
        raise StorageError(_none_since(LATEST, place.listed, place))
    for summary in place.listed:
        if summary.warning is not None:
            warnings.warn(summary.warning, stacklevel=_STACK)
    return FoundRun(place.recent[0].path, LATEST, place.recent[0])


def _newest_of_model(name: str, place: _Place) -> FoundRun | None:
    """Return the newest complete run of a model; None where there is no such model.

    A run that was rescored stands behind the complete one that it became.
    """
    every = [run for run in place.listed if _is_called(run, name)]
    if not every:
        return None
    complete = [run for run in every if run.is_named]
    parents = {run.parent for run in complete}
    complete = [run for run in complete if run.run_id not in parents]
    if not complete:
        raise StorageError(_none_complete(name, every, place))
    recent = [run for run in complete if is_since(run.evaluated, place.since)]
    if not recent:
        raise StorageError(_none_since(name, complete, place))
    newest = recent[0]
    if not every[0].is_named:
        was = "was refused" if every[0].status == "refused" else "is partial"
        warnings.warn(
            f"the last evaluation of {name} {was} (run {every[0].run_id}); an earlier "
            "run is used, which is complete",
            stacklevel=_STACK,
        )
    return FoundRun(newest.path, name, newest, len(recent) - 1)


def _is_called(run: RunSummary, name: str) -> bool:
    in_full = (f"{run.dataset}/{run.model}", f"{run.model}@{run.dataset}")
    return name in (run.model, *in_full)


def _none_complete(name: str, runs: Sequence[RunSummary], place: _Place) -> str:
    shown = ", ".join(
        f"{run.run_id} ({run.dataset}, {run.status})" for run in runs[:_NEAR]
    )
    more = f" and {len(runs) - _NEAR} more" if len(runs) > _NEAR else ""
    has = "there is a run" if len(runs) == 1 else f"there are {len(runs)} runs"
    return (
        f"{name!r} names no run: of the model {has} in {place.root}, and none "
        f"is complete: {shown}{more}. One that is refused or partial is named by its "
        "id or path"
    )


def _none_since(name: str, runs: Sequence[RunSummary], place: _Place) -> str:
    assert place.since is not None
    known = next((run for run in runs if run.evaluated is not None), None)
    last = "at no known time"
    if known is not None and known.evaluated is not None:
        moment = datetime.fromisoformat(known.evaluated).astimezone(UTC)
        last = f"at {moment:%Y-%m-%d %H:%M} UTC (run {known.run_id})"
    since = place.since.astimezone(UTC)
    return (
        f"no run in {place.root} that {name!r} may mean was evaluated since "
        f"{since:%Y-%m-%d %H:%M} UTC: the last one was {last}"
    )


def _no_runs(name: str, root: Path) -> str:
    if isinstance(root, FetchedPath) and is_offline():
        return f"there is no run {name!r}: {missing(root.uri)}"
    return (
        f"there is no run {name!r}: {root} holds no runs. `evalkit eval` writes "
        "them; -o names another folder"
    )


def _nothing_at(uri: str, places: _Places) -> str:
    """Say that no run is at a URI, and which are beside it."""
    if is_offline():
        return f"there is no run {uri}: {missing(uri)}"
    above, _, name = uri.rpartition("/")
    runs = places[runs_root(above)].runs if parse_place(uri).key else []
    begun = [run for run in runs if run.name.startswith(name)]
    near = f"; {above} holds {name_runs(begun or runs)}" if runs else ""
    return f"there is no run {uri}{near}"


def _unknown(name: str, place: _Place) -> str:
    root, runs = place.root, place.runs
    if not runs:
        return _no_runs(name, root)
    begun = [run for run in runs if name and run.name.startswith(name)]
    if begun:
        return (
            f"there is no run {name!r} in {root}: no model is called so, and of an id, "
            f"such as {name_runs(begun)}, {_SHORTEST_START} characters are needed"
        )
    near = difflib.get_close_matches(name, [run.name for run in runs], _NEAR, 0.3)
    known = [run for run in runs if run.name in near] or runs
    models = dict.fromkeys(run.model for run in place.listed if run.model)
    alike = difflib.get_close_matches(name.rpartition(":")[2], list(models), 1)
    hint = f". Did you mean {alike[0]!r}?" if alike else ""
    return (
        f"there is no run {name!r} in {root}, which holds {name_runs(known)} (see "
        "`evalkit runs`). A run is named by its path, its id, its model (also "
        "MODEL@DATASET or FOLDER:MODEL), the start of its id "
        f"({_SHORTEST_START} characters or more), or `latest`{hint}"
    )
