"""Fetch, write and list the files of places, each by the plugin of its scheme.

Also what such a plugin must offer, and the cache for those whose library has none.
"""

from __future__ import annotations

import filecmp
import hashlib
import json
import os
import shutil
import tempfile
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple, cast

from evalkit.base.files import new_file
from evalkit.base.progress import Progress
from evalkit.errors import (
    EvalkitError,
    ObjectChangedError,
    ObjectExistsError,
    PluginContractError,
    PluginError,
    StorageError,
    UnknownPluginError,
)
from evalkit.places.names import FetchedPath, base_name, is_remote, join, uri_of
from evalkit.plugins.binding import Guard
from evalkit.plugins.components import Component
from evalkit.plugins.discovery import find_components
from evalkit.plugins.importing import import_component
from evalkit.plugins.resolution import find_component
from evalkit.plugins.sources import OFFLINE_VARIABLE, cache_folder, is_offline

PLACES = "places"
"""Name of the folder in the cache."""

_LONGEST_KEPT = 200
"""Bytes of a file name, which may have 255."""


class Entry(NamedTuple):
    """A file at a place."""

    uri: str
    version: str
    """Changes with the content, and differs between two servers."""
    permanent: str | None = None
    """A URI of this version for good, where the place has such URIs."""


class Place(ABC):
    """The files of one scheme, such as `s3`; base class of plugins of the kind.

    A plugin is a class without arguments, named by the scheme in the entry-point group
    `evalkit.storage`. It is made once in a process and used by several threads. Methods
    raise `StorageError` with a message that names the URI and holds no credentials.
    """

    @abstractmethod
    def local(self, uri: str) -> Path | None:
        """Fetch a file to this machine, by `kept` where the library has no cache.

        Args:
            uri: URI of the file.

        Returns:
            Its path; None if there is no such file. With `EVALKIT_OFFLINE`: what was
            fetched before (`last_kept`).
        """

    @abstractmethod
    def list(self, uri: str) -> Iterable[Entry]:
        """List files; never called with `EVALKIT_OFFLINE`.

        Args:
            uri: With a slash at its end: all files below. Without: this one file.
        """

    def put(self, path: Path, uri: str, *, overwrite: bool) -> None:
        """Write a file, whole or not at all; a place that only reads leaves this out.

        Args:
            path: The file.
            uri: Where to write it.
            overwrite: Whether to replace a file that is there.

        Raises:
            ObjectExistsError: A file is there, and `overwrite` is false.
        """
        scheme = uri.partition("://")[0]
        raise StorageError(
            f"{uri}: cannot be written: evalkit only reads {scheme}://. Write to a "
            "path, and upload that file with the service's own client"
        )


def kept(uri: str, version: str, fetch: Callable[[Path], object]) -> Path:
    """Return one version of a file in the cache.

    Args:
        uri: URI of the file.
        version: As in its `Entry`.
        fetch: Writes the file to a path; called if the cache does not hold it.
    """
    path = cached(uri, version)
    if not path.is_file():
        with staging_for(path, uri) as staging:
            fetch(staging)
            staging.chmod(0o444)
    return path


@contextmanager
def staging_for(path: Path, uri: str) -> Iterator[Path]:
    """Yield a path to write to, which is moved to its place in the cache when whole."""
    root = cache_folder() / PLACES
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=root) as folder:
            staging = Path(folder, "part")
            yield staging
            if not path.is_dir():  # another process may have been faster
                staging.replace(path)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise StorageError(
            f"{uri}: cannot be kept in {root}: {reason}. EVALKIT_CACHE_DIR names "
            "another folder, and `evalkit cache --clear` empties this one"
        ) from error


def last_kept(uri: str) -> Path | None:
    """Return the version of a file that was kept last; None if there is none."""
    found = filter(Path.is_file, cached(uri).parent.parent.glob("*/*"))
    return max(found, key=lambda path: path.stat().st_mtime, default=None)


def cached(uri: str, *version: str) -> Path:
    """Return the path in the cache of one version of a file or folder."""
    folder = cache_folder() / PLACES / _digest(uri) / _digest(*version)
    return folder / _local_name(uri)


def _digest(*parts: str) -> str:
    text = "\x1f".join(parts).encode("utf-8", "surrogatepass")
    return hashlib.sha256(text).hexdigest()[:32]


def _local_name(uri: str) -> str:
    """Return the last part of a URI, or a name for it that a file may have."""
    name = base_name(uri)
    if len(os.fsencode(name)) <= _LONGEST_KEPT and name.strip("."):
        return name
    return _digest(uri) + PurePosixPath(name).suffix[:20]


STORAGE = "storage"

_THREADS = 16
_LONGEST_NAME = 255
_VERBS: dict[str, tuple[Any, str]] = {
    "local": ((Path, type(None)), "a Path, or None if there is no such file"),
    "list": (Entry, "evalkit.places.Entry for each file"),
    "put": (object, ""),
}
_HINT = "; raise a StorageError that names the URI and says what is wrong"


def _silent(_text: str, _share: float | None) -> None:
    """Report no progress."""


def local(name: str | Path, progress: Progress = _silent) -> Path:
    """Return a file, or else a folder, of this machine.

    Args:
        name: A path, which is returned, or a URI.
        progress: Called before and after the file is fetched.

    Raises:
        StorageError: There is nothing, or it cannot be fetched.
    """
    if isinstance(name, FetchedPath) or not is_remote(name):
        return name if isinstance(name, Path) else Path(name)
    path = local_file(name, progress) or local_folder(name, progress=progress)
    if path is None:
        raise StorageError(missing(uri_of(name)))
    return path


def local_file(name: str | Path, progress: Progress = _silent) -> Path | None:
    """Return a file of this machine; None if there is no such file.

    Args:
        name: A path, or a URI, which is fetched.
        progress: Called before and after the file is fetched.
    """
    if not is_remote(name):
        return Path(name) if Path(name).is_file() else None
    uri = uri_of(name)
    if uri.endswith("/"):
        return None
    progress(f"fetching {uri}", 0.0)
    path: Path | None = _call("local", uri, uri)
    progress(f"fetching {uri}", 1.0)
    is_named = path is None or isinstance(path, FetchedPath)
    return path if is_named else FetchedPath(cast(Path, path), uri)


def local_folder(
    name: str | Path,
    chosen: Callable[[str], bool] = lambda _name: True,
    progress: Progress = _silent,
) -> FetchedPath | None:
    """Fetch the files below a URI, or some of them, into one folder.

    Args:
        name: The URI.
        chosen: Tells by a file's name, from the folder on, whether to fetch it.
        progress: Called after each file.

    Returns:
        The folder; None if there is no such file.
    """
    uri = uri_of(name).rstrip("/")
    files = {n: entry for n, entry in _entries(uri).items() if chosen(n)}
    if not files:
        return None
    folder = cached(uri, *(f"{e.uri} {e.version}" for e in files.values()))
    if not folder.is_dir():
        with staging_for(folder, uri) as staging, ThreadPoolExecutor(_THREADS) as pool:
            pairs = [(entry, staging / n) for n, entry in files.items()]
            for count, _ in enumerate(pool.map(_fetch_into, pairs), 1):
                progress(f"fetching {uri}", count / len(files))
    ends = {e.permanent and e.permanent.removesuffix(f"/{n}") for n, e in files.items()}
    return FetchedPath(folder, uri, ends.pop() if len(ends) == 1 else None)


def _fetch_into(pair: tuple[Entry, Path]) -> None:
    entry, target = pair
    target.parent.mkdir(parents=True, exist_ok=True)
    path = cached(entry.uri, entry.version)
    if not path.is_file():
        fetched = local_file(entry.permanent or entry.uri)
        if fetched is None:
            raise ObjectChangedError(f"{entry.uri}: removed while being read")
        path = Path(os.fspath(fetched)).resolve()
    try:
        os.link(path, target)
    except OSError:  # two file systems, or one without links
        shutil.copyfile(path, target)


def names_below(name: str | Path) -> list[str]:
    """Return the names of all files below a URI, from there on, sorted.

    Offline: those that were there when the URI was last listed.
    """
    return [*_entries(uri_of(name).rstrip("/"))]


def _entries(folder: str) -> dict[str, Entry]:
    """Return the files below a URI that a folder of this machine can hold, by name."""
    prefix = join(folder, "")
    note = cached(prefix).with_name("listing.json")
    if not is_offline():
        entries = sorted(_call("list", prefix, prefix))
        with staging_for(note, prefix) as staging:
            staging.write_text(json.dumps(entries), encoding="utf-8")
    else:
        rows = json.loads(note.read_bytes()) if note.is_file() else []
        entries = [Entry(*row) for row in rows]
    files = {entry.uri.removeprefix(prefix): entry for entry in entries}
    folders = {
        "/".join(n.split("/")[:k]) for n in files for k in range(n.count("/") + 1)
    }
    legal = {n: e for n, e in files.items() if _is_legal(n) and n not in folders}
    left_out = [n for n in files if n not in legal and not n.endswith("/")]
    if left_out:
        shown = ", ".join(repr(join(folder, n)) for n in left_out[:5])
        warnings.warn(
            f"{prefix}: {len(left_out):,} files left out, because a folder cannot hold "
            f"files of these names: {shown}",
            stacklevel=3,
        )
    return legal


def _is_legal(name: str) -> bool:
    return "\0" not in name and all(
        part not in ("", ".", "..") and len(os.fsencode(part)) <= _LONGEST_NAME
        for part in name.split("/")
    )


def exists(uri: str) -> bool:
    """Tell whether there is a file at a path or URI."""
    if not is_remote(uri):
        return Path(uri).exists()
    uri = uri_of(uri)
    return not uri.endswith("/") and any(_call("list", uri, uri))


def put(path: Path, uri: str, *, overwrite: bool = False) -> None:
    """Write a file to a path or URI, whole or not at all.

    A file with the same content that is there is success.

    Args:
        path: The file.
        uri: Where to write it.
        overwrite: Whether to replace another file that is there.

    Raises:
        ObjectExistsError: Another file is there.
        StorageError: It cannot be written.
    """
    try:
        if is_remote(uri):
            refuse_offline(uri)
            _call("put", uri, path, uri_of(uri), overwrite=overwrite)
        else:
            target = Path(uri)
            target.parent.mkdir(parents=True, exist_ok=True)
            with new_file(target, overwrite=overwrite) as part:
                shutil.copyfile(path, part)
    except ObjectExistsError as error:
        there = local_file(uri)
        if there is None or not filecmp.cmp(path, there, shallow=False):
            raise _is_there(uri) from error
    except OSError as error:
        reason = error.strerror or error
        raise StorageError(f"{uri}: cannot be written: {reason}") from error


@contextmanager
def file_to_write(name: str | Path, *, overwrite: bool) -> Iterator[Path]:
    """Yield the path at which to write a file; send it to its URI afterwards.

    Args:
        name: A path, which is yielded, or a URI.
        overwrite: Whether to replace a file at the URI.

    Raises:
        StorageError: The file cannot be sent. It is kept; the message names it.
    """
    if not is_remote(name):
        yield Path(name)
        return
    uri = uri_of(name)
    if uri.endswith("/"):
        raise StorageError(f"{uri}: names a folder; add the name of a file")
    refuse_present(uri, overwrite=overwrite)
    folder = Path(tempfile.mkdtemp(prefix="evalkit-"))
    path = FetchedPath(folder / base_name(uri)[-200:], uri)
    try:
        yield path
    except BaseException:
        shutil.rmtree(folder)
        raise
    try:
        put(path.local, uri, overwrite=overwrite)
    except StorageError as error:
        raise type(error)(f"{error}. The file is kept in {path.local}") from error
    shutil.rmtree(folder)


def refuse_present(uri: str, *, overwrite: bool) -> None:
    """Refuse to write where a file is, unless it may be replaced."""
    refuse_offline(uri)
    if is_remote(uri) and type(place_of(uri)).put is Place.put:
        place_of(uri).put(Path(), uri, overwrite=overwrite)  # says why
    if not overwrite and exists(uri):
        raise _is_there(uri)


def refuse_offline(uri: str) -> None:
    """Refuse to write to a URI if `EVALKIT_OFFLINE` is set."""
    if is_offline() and is_remote(uri):
        place_of(uri)  # says that there is none
        raise StorageError(
            f"{uri}: cannot be written: {OFFLINE_VARIABLE} forbids the network. "
            "Unset it"
        )


def _is_there(uri: str) -> ObjectExistsError:
    return ObjectExistsError(
        f"{uri}: another file is there already. Use another name, or allow to replace "
        "it (--overwrite, overwrite=True)"
    )


def missing(uri: str) -> str:
    """Say that there is nothing at a URI."""
    if is_offline():
        place_of(uri)  # says that there is none
        return f"{uri}: not in the cache, and {OFFLINE_VARIABLE} forbids to fetch it"
    return f"{uri}: file not found, and no file below it"


def nothing_at(uri: str) -> FetchedPath:
    """Return a path that does not exist, for a URI with nothing there."""
    return FetchedPath(cached(uri, "nothing"), uri)


def place_of(uri: str) -> Place:
    """Return the place of a URI, the same one for its scheme in a process."""
    return _find_place(uri)[1]


def forget_places() -> None:
    """Make places anew, for instance after their configuration changed."""
    _place.cache_clear()


def _find_place(uri: str) -> tuple[str, Place]:
    try:
        return _place(uri_of(uri).partition("://")[0])
    except StorageError as error:
        raise StorageError(f"{uri}: {error}") from error


@cache
def _place(scheme: str) -> tuple[str, Place]:
    """Return the origin of a scheme's plugin, and the place."""
    catalog = find_components()
    try:
        component = find_component(catalog, STORAGE, scheme)
    except UnknownPluginError as error:
        raise StorageError(f"{scheme}:// needs a plugin: {error}") from error
    if component is None:
        known = sorted({f"{each.name}://" for each in catalog.of_kind(STORAGE)})
        raise StorageError(
            f"{scheme}:// is read and written by no installed plugin. Installed: "
            f"{', '.join(known) or 'none'}. A file of this machine is named by its path"
        )
    return component.origin, load_place(component)


def load_place(component: Component) -> Place:
    """Import a place, make it, and check that it is one."""
    made = import_component(component)
    with Guard(component.origin, "constructing it", passes=(EvalkitError,)):
        made = made() if isinstance(made, type) else made
    if not isinstance(made, Place):
        raise PluginContractError(
            f"{component.origin}: must be a subclass of evalkit.places.Place; "
            "`evalkit show --contract storage` shows the contract"
        )
    return made


def _call(verb: str, uri: str, *arguments: Any, **options: Any) -> Any:
    """Call a verb of a place; every failure is an `EvalkitError` that says whose."""
    origin, place = _find_place(uri)
    step = f"{verb} of {uri}"
    with Guard(origin, step, passes=(EvalkitError,), hint=_HINT):
        value = getattr(place, verb)(*arguments, **options)
        values = [*value] if verb == "list" else [value]
    types, words = _VERBS[verb]
    for each in values:
        if not isinstance(each, types):
            raise PluginError(f"{origin}: {step} must return {words}, got {each!r}")
    return values if verb == "list" else value
