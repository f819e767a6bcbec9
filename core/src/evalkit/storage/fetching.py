"""Fetches files and folders from stores into the cache.

What is there already in the same version is not fetched again: the store is asked for
the ETag alone. With `EVALKIT_OFFLINE` it is not asked at all, and what was seen last is
taken.
"""

from __future__ import annotations

import os
import shutil
import warnings
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from threading import Lock
from typing import NamedTuple

from evalkit.base.progress import Progress
from evalkit.errors import ObjectChangedError, StorageError
from evalkit.plugins.sources import OFFLINE_VARIABLE, is_offline
from evalkit.storage.cache import (
    ObjectCache,
    cache_errors,
    is_sealed,
    local_name,
    note_latest,
    only_one,
    read_latest,
    remove_stale,
    seal,
    short_hash,
    touch,
    version_name,
)
from evalkit.storage.fetched import FetchedPath
from evalkit.storage.finding import store_of
from evalkit.storage.places import join, parse_place, uri_of
from evalkit.storage.stores import Store, StoredObject
from evalkit.storage.transfers import PART_BYTES, SMALL_BYTES, fetch_object
from evalkit.storage.working import in_threads

_THREADS = 16
"""Small objects that are fetched at once."""

_MANY = 64
"""Objects of a folder from which small ones are not kept for other uses, too."""

_NAMES = "names"
_LONGEST_NAME = 255
"""Bytes of a file's name."""

_SHOWN = 5
"""Objects that a message names."""

_TRIES = 3
"""How often a folder is listed anew that changes while it is fetched."""


class _Fetcher(NamedTuple):
    """What is needed to fetch from one store."""

    store: Store
    identity: str
    cache: ObjectCache
    advance: Callable[[int], None]
    fetched: list[Path]
    """What was not in the cache before."""

    def place(self, found: StoredObject) -> Path:
        """Return the place that an object has in the cache."""
        kept = self.cache.object_folder(self.identity, found.uri)
        return kept / version_name(found) / local_name(found.uri)

    def fetch(self, found: StoredObject) -> Path:
        """Return the place of an object in the cache, once it is there."""
        place = self.place(found)
        if not is_sealed(place, found.size):
            if is_offline():
                raise StorageError(missing(found.uri))
            with only_one(place.parent):
                if not is_sealed(place, found.size):
                    fetch_object(self.store, found, place, self.advance)
                    self.fetched.append(place)
                    note_latest(place.parent.parent, found.uri, [found])
        else:
            self.advance(found.size)
            touch(place.parent)
        return place

    def fetch_into(self, target: Path, before: Path, found: StoredObject) -> None:
        """Put one of thousands of objects where a folder is filled, and there alone."""
        for kept in (target, before, self.place(found)):
            if is_sealed(kept, found.size):
                if kept != target:
                    _link(kept, target)
                return self.advance(found.size)
        if is_offline():
            raise StorageError(missing(found.uri))
        fetch_object(self.store, found, target, self.advance)
        return self.fetched.append(target)

    def end(self) -> None:
        """Make room in the cache for what is new."""
        if self.fetched:
            self.cache.shrink()


def fetch_file(
    name: str | Path, progress: Progress = lambda _text, _share: None
) -> FetchedPath | None:
    """Fetch an object.

    Args:
        name: Its URI.
        progress: Told how much has come.

    Returns:
        Its copy in the cache; None where there is none.

    Raises:
        DataError: The name is no URI of a file.
        PluginError: The plugin of the scheme is broken.
        StorageError: It cannot be fetched, or offline it is not in the cache.
    """
    uri = uri_of(name)
    store, cache = store_of(uri), ObjectCache()
    identity = store.identity(uri)
    kept = cache.object_folder(identity, uri)
    if uri.endswith("/"):
        return None
    if is_offline():
        latest = read_latest(kept)
        if not latest:
            return None
        found = latest[0]
        place = kept / version_name(found) / local_name(uri)
        is_whole = is_sealed(place, found.size)
        return FetchedPath(place, uri, found.permanent) if is_whole else None
    for attempt in range(_TRIES):
        seen = store.stat(uri)
        if seen is None:
            return None
        fetcher = _Fetcher(store, identity, cache, _told([seen], progress, uri), [])
        try:
            place = fetcher.fetch(seen)
        except ObjectChangedError:
            if attempt + 1 == _TRIES:
                raise
            continue
        note_latest(kept, uri, [seen])
        fetcher.end()
        return FetchedPath(place, uri, seen.permanent)
    raise AssertionError("unreachable")


def fetch_folder(
    name: str | Path,
    patterns: Sequence[str] = ("*",),
    progress: Progress = lambda _text, _share: None,
) -> FetchedPath | None:
    """Fetch a folder: all objects below a URI, or some of them.

    Args:
        name: The URI of the folder.
        patterns: Which objects are wanted, as patterns of their names from the folder
            on, in which `*` stands for slashes too.
        progress: Told how much has come.

    Returns:
        A folder in the cache, of these objects and no others; None where there are
        none. Objects whose name ends with a slash stand for folders, and are left out.

    Raises:
        DataError: The name is no URI.
        PluginError: The plugin of the scheme is broken.
        StorageError: It cannot be fetched, or offline it is not in the cache.
    """
    place = parse_place(name)
    uri = place._replace(key=place.key.rstrip("/")).uri
    store, cache = store_of(uri), ObjectCache()
    identity = store.identity(uri)
    kept = cache.folder_folder(identity, uri)
    listing = short_hash(*patterns)
    for attempt in range(_TRIES):
        if is_offline():
            found = read_latest(kept, listing)
        else:
            found = _listed(store, join(uri, ""), patterns)
        if not found:
            return None
        folder = kept / _version(uri, found) / local_name(uri)
        fetcher = _Fetcher(store, identity, cache, _told(found, progress, uri), [])
        names = {each.uri.removeprefix(join(uri, "")): each for each in found}
        try:
            if not _is_filled(folder, names):
                before = _kept_before(kept, uri, listing)
                with only_one(folder.parent):
                    if not _is_filled(folder, names):
                        _fill(folder, names, before, fetcher)
                remove_stale(kept, folder.parent)
        except ObjectChangedError:
            if attempt + 1 == _TRIES:
                raise
            continue
        if not is_offline():
            note_latest(kept, uri, found, listing)
        touch(folder.parent)
        fetcher.end()
        made = FetchedPath(folder, uri, _permanent(join(uri, ""), found))
        made.versions = {name: each.etag for name, each in names.items()}
        return made
    raise AssertionError("unreachable")


def fetch(
    name: str | Path,
    progress: Progress = lambda _text, _share: None,
) -> FetchedPath:
    """Fetch a file, or else a folder.

    Args:
        name: Its URI.
        progress: Told how much has come.

    Returns:
        Its copy in the cache.

    Raises:
        DataError: The name is no URI.
        PluginError: The plugin of the scheme is broken.
        StorageError: There is nothing, or it cannot be fetched.
    """
    found = fetch_file(name, progress) or fetch_folder(name, progress=progress)
    if found is None:
        raise StorageError(missing(uri_of(name)))
    return found


def names_below(name: str | Path) -> list[str]:
    """Return the names of all objects below a URI, from there on.

    Args:
        name: The URI of the folder. Offline those are returned that were there when
            this was last asked for.

    Raises:
        DataError: The name is no URI.
        PluginError: The plugin of the scheme is broken.
        StorageError: It cannot be listed.
    """
    prefix = join(uri_of(name), "")
    store = store_of(prefix)
    kept = ObjectCache().folder_folder(store.identity(prefix), prefix)
    if is_offline():
        found = read_latest(kept, _NAMES)
    else:
        found = _listed(store, prefix, ("*",))
        note_latest(kept, prefix, found, _NAMES)
    return [each.uri.removeprefix(prefix) for each in found]


def missing(uri: str) -> str:
    """Say that there is nothing at a place."""
    if is_offline():
        return (
            f"{uri}: is not in the cache, and {OFFLINE_VARIABLE} forbids to fetch it: "
            "unset it"
        )
    return f"{uri}: there is no such file, and no file below it"


def nothing_at(uri: str) -> FetchedPath:
    """Return the path of a folder that is not there, called by its URI."""
    kept = ObjectCache().folder_folder(store_of(uri).identity(uri), uri)
    return FetchedPath(kept / "nothing" / local_name(uri), uri)


def _listed(store: Store, prefix: str, patterns: Sequence[str]) -> list[StoredObject]:
    """List the objects below a folder that a folder of files can hold."""
    # patterns may be thousands of names
    names, others = {*patterns}, [p for p in patterns if any(c in p for c in "*?[")]
    found = {}
    for each in store.list_objects(prefix):
        rest = each.uri.removeprefix(prefix)
        if rest in names:  # who names it says what is wrong with the name
            is_wanted = _can_be_file(rest)
        else:
            is_wanted = any(fnmatchcase(rest, p) for p in others)
        if is_wanted and not rest.endswith("/"):
            found[rest] = each
    files = [name for name in found if _can_be_file(name)]
    folders: set[str] = set()
    while above := {name.rpartition("/")[0] for name in folders or files} - folders:
        folders |= above
    # an empty object often stands for a folder
    left = [name for name in found if name in folders and found[name].size]
    left += found.keys() - files
    if left:
        shown = ", ".join(repr(found[name].uri) for name in sorted(left)[:_SHOWN])
        warnings.warn(
            f"left out, as no folder can hold files of these names: {shown}"
            + (f" and {len(left) - _SHOWN:,} more" if len(left) > _SHOWN else ""),
            stacklevel=2,
        )
    return [found[name] for name in files if name not in folders]


def _permanent(prefix: str, found: Sequence[StoredObject]) -> str | None:
    """Return the URI that names a folder for good, where its objects have one."""
    folders = {
        each.permanent and each.permanent.removesuffix(each.uri.removeprefix(prefix))
        for each in found
    }
    folder = folders.pop() if len(folders) == 1 else None
    return folder and folder.rstrip("/")


def _can_be_file(name: str) -> bool:
    return "\0" not in name and not any(
        part in ("", ".", "..") or len(os.fsencode(part)) > _LONGEST_NAME
        for part in name.split("/")
    )


def _version(uri: str, found: Sequence[StoredObject]) -> str:
    return short_hash(uri, *(f"{each.uri}\x1e{each.etag}" for each in found))


def _is_filled(folder: Path, names: Mapping[str, StoredObject]) -> bool:
    return folder.is_dir() and all(
        is_sealed(folder / name, each.size) for name, each in names.items()
    )


def _kept_before(kept: Path, uri: str, listing: str) -> dict[StoredObject, Path]:
    """Return the files of a folder that came when it was last fetched."""
    found = read_latest(kept, listing)
    folder = kept / _version(uri, found) / local_name(uri)
    return {each: folder / each.uri.removeprefix(join(uri, "")) for each in found}


def _fill(
    folder: Path,
    names: Mapping[str, StoredObject],
    before: Mapping[StoredObject, Path],
    fetcher: _Fetcher,
) -> None:
    """Put the objects of a folder together where it is to be.

    Nobody else may be at it. What has come stays for the next time when it is given up.
    """
    staging = folder.with_name(f".{folder.name}.partial")
    with cache_errors(folder):
        if folder.exists():
            shutil.rmtree(folder)  # somebody edited it
        for parent in {(staging / name).parent for name in names}:
            parent.mkdir(parents=True, exist_ok=True)
    most = SMALL_BYTES if len(names) > _MANY else -1
    at_once = [name for name, each in names.items() if each.size <= PART_BYTES]

    def put(name: str) -> None:
        each, target = names[name], staging / name
        if each.size <= most:
            fetcher.fetch_into(target, before.get(each, target), each)
        else:
            _link(fetcher.fetch(each), target)

    in_threads(put, at_once, _THREADS)
    for name in names.keys() - at_once:
        put(name)
    with cache_errors(folder):
        staging.rename(folder)


def _link(place: Path, target: Path) -> None:
    """Make a file of a folder; a copy where the file system has no hard links."""
    with cache_errors(target):
        target.unlink(missing_ok=True)  # of a time that was given up
        try:
            os.link(place, target)
        except OSError:
            shutil.copyfile(place, target)
            seal(target)


def _told(
    found: Sequence[StoredObject], progress: Progress, uri: str
) -> Callable[[int], None]:
    """Return what is told of bytes that came, by several threads."""
    total = sum(each.size for each in found)
    lock, come = Lock(), 0

    def advance(size: int) -> None:
        nonlocal come
        with lock:
            come += size
            progress(f"fetching {uri}", min(1.0, come / total) if total else 1.0)

    return advance
