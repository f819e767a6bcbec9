"""Keeps what the records of many runs say, so that a list need not read them again.

The index is a file in the folder of runs, or of runs in a store in the cache. It can be
removed at any time, and is made again where it is missing, broken or of another
version. An entry counts only as long as its `run.json` is the file that was read: of
the same size, times and inode, or of the same ETag. It is replaced in one step, so that
several may write it; what one of them did not know is read again. Where it cannot be
written, nothing is lost but time.
"""

from __future__ import annotations

import hashlib
import json
import time
import uuid
from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path
from types import UnionType
from typing import Any, NamedTuple, Union, get_args, get_origin, get_type_hints

from evalkit.base.regular_files import regular_file
from evalkit.runs.folders import RUN_FILE
from evalkit.runs.score_columns import Score
from evalkit.runs.summaries import RunSummary
from evalkit.storage.fetched import FetchedPath

INDEX_FILE = ".runs-index"
"""Name of the index in a folder of runs."""

FEWEST = 32
"""Runs from which there is an index."""

_EDITION = 1
"""To be raised when summaries of the same records change."""

_SETTLED = 2_000_000_000
"""Nanoseconds for which a file must not have been written before it is kept: a later
change in the same tick of the clock would not be seen. As long as the longest tick."""

_LARGEST = 1 << 28
"""Bytes of an index, and more."""

_KEPT = tuple(
    name
    for name in RunSummary._fields
    if name not in ("path", "problem", "evaluated", "warning")
)
"""Fields of a summary that follow from the record alone."""

_LEFT = ".tmp"
_OLD_SECONDS = 3600

Stamp = tuple[int, int, int, int] | tuple[str]
"""Size, time of writing, time of change and inode of a file; ETag of an object."""


class Stamped(NamedTuple):
    """A `run.json` as it was before it was read."""

    folder: Path
    stamp: Stamp


class RunIndex:
    """The summaries of a folder's runs that need not be read again.

    Args:
        root: The folder of runs.
        entries: What was kept: stamp and fields by path below the folder.
        is_kept: Whether it is written.
    """

    def __init__(
        self, root: Path, entries: Mapping[str, Any], *, is_kept: bool
    ) -> None:
        self._root = root
        self._before = entries
        self._now: dict[str, Any] = {}
        self._is_kept = is_kept
        self._versions = root.versions if isinstance(root, FetchedPath) else None

    @classmethod
    def of(cls, root: Path, count: int) -> RunIndex:
        """Read the index of a folder; an empty one where there is none to be used.

        Args:
            root: The folder of runs.
            count: How many runs it may hold: few are read faster than an index.
        """
        is_kept = count >= FEWEST and getattr(root, "versions", ()) is not None
        entries = _read(_place(root)) if is_kept else {}
        return cls(root, entries, is_kept=is_kept)

    def known(self, folder: Path) -> RunSummary | None:
        """Return what was kept of a run; None where its record must be read.

        Args:
            folder: The run folder.
        """
        name = self._name(folder)
        entry = self._before.get(name)
        if entry is None:
            return None
        stamp = self._stamp(folder)
        if stamp is None or list(stamp) != entry[0]:
            return None
        self._now[name] = entry
        return RunSummary(path=folder, **_restored(entry[1]))

    def stamp(self, folder: Path) -> Stamped | None:
        """Note what the record of a run is before it is read.

        Args:
            folder: The run folder.

        Returns:
            What `add` needs; None where nothing is to be kept.
        """
        stamp = self._stamp(folder) if self._is_kept else None
        return None if stamp is None else Stamped(folder, stamp)

    def add(self, read: Stamped, summary: RunSummary) -> None:
        """Keep a summary, unless its file is broken, new, or changed meanwhile.

        Args:
            read: What `stamp` gave before the file was read.
            summary: What it says.
        """
        times = read.stamp[1:3]
        is_settled = not times or max(times) + _SETTLED < time.time_ns()
        is_same = self._stamp(read.folder) == read.stamp
        if summary.problem is None and is_same and is_settled:
            fields = summary._asdict()
            kept = {name: fields[name] for name in _KEPT}
            self._now[self._name(summary.path)] = [list(read.stamp), _plain(kept)]

    def write(self) -> None:
        """Write the index, if it has changed and can be written."""
        if not self._is_kept or self._now == self._before:
            return
        body = json.dumps({**_header(), "runs": self._now}).encode()
        place = _place(self._root)
        staging = place.with_name(f"{INDEX_FILE}-{uuid.uuid4().hex}{_LEFT}")
        try:
            with staging.open("xb") as stream:
                stream.write(_digest(body) + b"\n" + body)
            staging.replace(place)
        except OSError:  # the folder may not be written to
            _remove(staging)
        _remove_left(place.parent)

    def _stamp(self, folder: Path) -> Stamp | None:
        if self._versions is None:
            return _stamp(folder / RUN_FILE)
        etag = self._versions.get(f"{self._name(folder)}/{RUN_FILE}")
        return None if etag is None else (etag,)

    def _name(self, folder: Path) -> str:
        return folder.relative_to(self._root).as_posix()


def _place(root: Path) -> Path:
    """Return where the index of a folder is."""
    if isinstance(root, FetchedPath):  # one folder for each listing, in one for all
        return root.local.parents[1] / INDEX_FILE
    return root / INDEX_FILE


def _stamp(path: Path) -> Stamp | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino


def _header() -> dict[str, Any]:
    """Return what an index must begin with to be of use."""
    fields = [list(_KEPT), list(Score._fields)]
    return {"edition": _EDITION, "core": version("evalkit-core"), "fields": fields}


def _digest(body: bytes) -> bytes:
    return hashlib.sha256(body).hexdigest().encode()


def _read(place: Path) -> dict[str, Any]:
    """Read the entries of an index; none where it is not what `write` wrote."""
    try:
        with regular_file(place) as stream:
            content = stream.read(_LARGEST)
        digest, _, body = content.partition(b"\n")
        found = json.loads(body) if digest == _digest(body) else None
    except (OSError, ValueError, RecursionError, MemoryError):
        return {}
    if not isinstance(found, dict):
        return {}
    runs = found.pop("runs", None)
    if found != _header() or not isinstance(runs, dict):
        return {}
    return runs if all(map(_is_entry, runs.values())) else {}


def _is_entry(entry: Any) -> bool:
    """Tell whether an entry has the shape and the types of one."""
    if not isinstance(entry, list) or len(entry) != 2:
        return False
    stamp, fields = entry
    return isinstance(stamp, list) and _fits(fields, _SUMMARY) and _is_score(fields)


def _is_score(fields: dict[str, Any]) -> bool:
    values = fields["headline"]
    return values is None or _fits(values, _SCORE)


def _fits(fields: Any, checks: Mapping[str, Callable[[Any], bool]]) -> bool:
    return (
        isinstance(fields, dict)
        and fields.keys() == checks.keys()
        and all(check(fields[name]) for name, check in checks.items())
    )


def _check(hint: Any) -> Callable[[Any], bool]:
    """Return what tells whether a value of JSON is of a type."""
    kinds = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    types = {kind for kind in kinds if kind in (str, int, float, bool, type(None))}
    return lambda value: type(value) in types


def _is_bounds(value: Any) -> bool:
    return isinstance(value, dict) and all(
        isinstance(pair, list)
        and len(pair) == 2
        and all(type(end) in (float, type(None)) for end in pair)
        for pair in value.values()
    )


_SCORE = {name: _check(hint) for name, hint in get_type_hints(Score).items()}
_SUMMARY = {
    **{name: _check(get_type_hints(RunSummary)[name]) for name in _KEPT},
    "headline": lambda value: isinstance(value, dict | None),
    "bounds": _is_bounds,
}


def _plain(fields: dict[str, Any]) -> dict[str, Any]:
    headline: Score | None = fields["headline"]
    bounds = {name: list(pair) for name, pair in fields["bounds"].items()}
    score = None if headline is None else headline._asdict()
    return {**fields, "headline": score, "bounds": bounds}


def _restored(fields: dict[str, Any]) -> dict[str, Any]:
    headline = fields["headline"]
    bounds = {name: tuple(pair) for name, pair in fields["bounds"].items()}
    score = None if headline is None else Score(**headline)
    return {**fields, "headline": score, "bounds": bounds}


def _remove(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError:
        return


def _remove_left(root: Path) -> None:
    """Remove what processes left that were killed while they wrote."""
    for path in root.glob(f"{INDEX_FILE}-*{_LEFT}"):
        try:
            if time.time() - path.stat().st_mtime > _OLD_SECONDS:
                path.unlink()
        except OSError:  # another process removed it
            continue
