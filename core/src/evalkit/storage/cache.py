"""Keeps what was fetched, by URI and ETag, up to a size.

```
EVALKIT_CACHE_DIR/
  objects/<URI>/<ETag>/<name>     one version of an object, read-only
  objects/<URI>/latest.json       what was there when it was last looked at
  folders/<URI>/<listing>/<name>  a folder of such objects: hard links, but for small
                                  ones that were fetched for the folder alone
  folders/<URI>/latest-….json     its listing when it was last looked at
  outgoing/<URI>/<name>           a file that is being written, or could not be sent
```

URIs, ETags and listings are hashed, as file names are shorter. What was used last is
told from the time of writing of its folder.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import math
import os
import shutil
import stat
import time
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from evalkit.errors import StorageError
from evalkit.plugins.sources import cache_folder
from evalkit.storage.places import base_name
from evalkit.storage.stores import StoredObject

_LIMITS = {
    "stores": ("EVALKIT_CACHE_SIZE", 20.0),
    "replies": ("EVALKIT_REPLIES_SIZE", 10.0),
}
"""Environment variables with the GiB that a kind may take, and how many by default."""

OBJECTS = "objects"
FOLDERS = "folders"
OUTGOING = "outgoing"

OUTGOING_NOTE = ".to.json"
"""What tells the URI of a file that is to be sent."""

_LATEST = "latest.json"
_FRESH_SECONDS = 3600
"""For how long what was used is not removed: somebody may be reading it."""

_SEALED = 946_684_800
"""Time of writing of what was fetched, in seconds since 1970: one that no edit has."""

_LONGEST_NAME = 200
"""Bytes of a file's name, which may be 255 with what partial files add."""

_LONGEST_SUFFIX = 40


class CacheEntry(NamedTuple):
    """What the cache keeps of one version of an object, or of a folder."""

    path: Path
    uri: str
    files: int
    size: int
    """Bytes of its files, which others may share."""
    used: float
    """When it was last used, in seconds since 1970."""


class ObjectCache:
    """The fetched objects of this machine.

    Args:
        root: The folder; that of `EVALKIT_CACHE_DIR` by default.
    """

    def __init__(self, root: Path | None = None) -> None:
        self._root = cache_folder() if root is None else root

    @property
    def root(self) -> Path:
        """The folder that holds all that was fetched."""
        return self._root

    def object_folder(self, identity: str, uri: str) -> Path:
        """Return the folder of all versions of an object.

        Args:
            identity: What tells its store from others.
            uri: Its URI.
        """
        return self._root / OBJECTS / short_hash(identity, uri)

    def folder_folder(self, identity: str, uri: str) -> Path:
        """Return the folder of all listings of a folder.

        Args:
            identity: What tells its store from others.
            uri: Its URI.
        """
        return self._root / FOLDERS / short_hash(identity, uri)

    def entries(self) -> list[CacheEntry]:
        """Return all that is kept, what was used last first."""
        found = [
            _entry(version, _uri_in(kept))
            for kind in (OBJECTS, FOLDERS)
            for kept in _subfolders(self._root / kind)
            for version in _subfolders(kept)
        ]
        return sorted(found, key=lambda each: -each.used)

    def outgoing_folder(self, identity: str, uri: str) -> Path:
        """Return the folder of a file that is to be sent.

        Args:
            identity: What tells its store from others.
            uri: Its URI.
        """
        return self._root / OUTGOING / short_hash(identity, uri)

    def unsent(self) -> list[CacheEntry]:
        """Return files that are being written, or could not be sent, newest first."""
        found = [
            _entry(file, _uri_in(kept))
            for kept in _subfolders(self._root / OUTGOING)
            for file in sorted(kept.iterdir())
            if not file.name.startswith(".")
        ]
        return sorted(found, key=lambda each: -each.used)

    def shrink(self) -> None:
        """Remove what was used longest ago until the rest is no larger than it may be.

        What was used within the last hour stays, also where that is more.
        """
        limit = size_limit()
        entries = self.entries()
        shared = Counter(inode for entry in entries for inode, _ in _inodes(entry.path))
        total = unique_size(entries)
        for entry in reversed(entries):
            if total <= limit or time.time() - entry.used < _FRESH_SECONDS:
                return
            for inode, size in _inodes(entry.path):
                shared[inode] -= 1
                total -= 0 if shared[inode] else size
            with suppress(OSError):
                shutil.rmtree(entry.path)


def size_limit(kind: str = "stores") -> float:
    """Return the bytes that may be kept of a kind.

    Args:
        kind: `stores`, what was fetched from them (`EVALKIT_CACHE_SIZE`, in GiB), or
            `replies` (`EVALKIT_REPLIES_SIZE`).

    Raises:
        StorageError: The variable is no finite number of at least 0.
    """
    variable, default = _LIMITS[kind]
    given = os.environ.get(variable, "").strip()
    try:
        gib = float(given) if given else default
        if not 0 <= gib < math.inf:
            raise ValueError
    except ValueError:
        raise StorageError(
            f"{variable}: must be a number of GiB, is {given!r}"
        ) from None
    return gib * (1 << 30)


def short_hash(*parts: str) -> str:
    """Return 32 hex digits that stand for texts."""
    return hashlib.sha256(
        "\x1f".join(parts).encode("utf-8", "surrogatepass")
    ).hexdigest()[:32]


def version_name(found: StoredObject) -> str:
    """Return the name of the folder of one version of an object."""
    return short_hash(found.etag, str(found.size))


def local_name(uri: str) -> str:
    """Return the name of what a URI names as a file or folder of this machine.

    Args:
        uri: The URI.

    Returns:
        The last part of the URI; where no file can be called so, a shorter name that
        has its suffix and stands for it alone.
    """
    name = base_name(uri)
    if len(os.fsencode(name)) <= _LONGEST_NAME and name not in ("", ".", ".."):
        return name
    suffix = PurePosixPath(name).suffix
    suffix = suffix if len(os.fsencode(suffix)) <= _LONGEST_SUFFIX else ""
    start = os.fsencode(name)[:_LONGEST_SUFFIX].decode("utf-8", "ignore").strip(".")
    return "-".join(filter(None, (start, short_hash(uri)))) + suffix


def seal(path: Path) -> None:
    """Mark a file of the cache as whole, so that a later change of it is noticed.

    Args:
        path: The file.
    """
    path.chmod(0o444)
    os.utime(path, (_SEALED, _SEALED))


def is_sealed(path: Path, size: int) -> bool:
    """Tell whether a file of the cache is there, and nobody changed it.

    Args:
        path: The file.
        size: Its size in bytes.
    """
    try:
        state = path.stat()
    except OSError:
        return False
    is_same = state.st_size == size and int(state.st_mtime) == _SEALED
    return stat.S_ISREG(state.st_mode) and is_same


def note_latest(
    folder: Path, uri: str, found: Sequence[StoredObject], name: str = ""
) -> None:
    """Remember what was at a place when it was last looked at.

    Args:
        folder: The folder of the place in the cache.
        uri: The place.
        found: The object, or those of the folder.
        name: What tells several listings of a folder apart.
    """
    seen = {"uri": uri, "objects": [each._asdict() for each in found]}
    write_whole(folder / _latest(name), json.dumps(seen).encode())


def read_latest(folder: Path, name: str = "") -> list[StoredObject]:
    """Return what `note_latest` remembered; nothing where it did not.

    Args:
        folder: The folder of the place in the cache.
        name: As for `note_latest`.
    """
    try:
        seen = json.loads((folder / _latest(name)).read_bytes())
        return [StoredObject(**row) for row in seen["objects"]]
    except (OSError, ValueError, TypeError, LookupError):
        return []


def _latest(name: str) -> str:
    return f"latest-{name}.json" if name else _LATEST


def write_whole(path: Path, content: bytes) -> None:
    """Write a file of the cache in one step.

    Args:
        path: The file.
        content: Its bytes.

    Raises:
        StorageError: It cannot be written.
    """
    staging = path.with_name(f".{path.name}-{uuid.uuid4().hex[:8]}")
    with cache_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            staging.write_bytes(content)
            staging.replace(path)
        finally:
            staging.unlink(missing_ok=True)


@contextmanager
def cache_errors(place: Path) -> Iterator[None]:
    """Say what to do where the cache cannot be written.

    Args:
        place: What is being written.

    Raises:
        StorageError: The system refused it.
    """
    try:
        yield
    except OSError as error:
        reason = error.strerror or error
        raise StorageError(
            f"{place}: the cache cannot be written: {reason}. EVALKIT_CACHE_DIR names "
            "another folder, and `evalkit cache --clear` empties this one"
        ) from error


@contextmanager
def only_one(folder: Path) -> Iterator[None]:
    """Let no other process fill a folder of the cache at the same time.

    Args:
        folder: The folder; made where it is not there.
    """
    with cache_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        # a file system without locks lets both fetch, and the last one wins
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def remove_stale(kept: Path, version: Path) -> None:
    """Remove what nobody used of late of a folder, but for one version.

    Args:
        kept: The folder of all its listings.
        version: The one that stays.
    """
    for other in _subfolders(kept):
        with suppress(OSError):
            age = time.time() - other.stat().st_mtime
            if other != version and age > _FRESH_SECONDS:
                shutil.rmtree(other)


def touch(folder: Path) -> None:
    """Note that a folder of the cache was used."""
    with suppress(OSError):
        os.utime(folder)


def unique_size(entries: Iterable[CacheEntry]) -> int:
    """Return the bytes that entries take, where what they share counts once."""
    return sum(
        {inode: size for e in entries for inode, size in _inodes(e.path)}.values()
    )


def _subfolders(folder: Path) -> list[Path]:
    try:
        return [each for each in folder.iterdir() if each.is_dir()]
    except OSError:
        return []


def _uri_in(kept: Path) -> str:
    for path in (kept / OUTGOING_NOTE, *sorted(kept.glob("latest*.json"))):
        try:
            return str(json.loads(path.read_bytes())["uri"])
        except (OSError, ValueError, LookupError, TypeError):
            continue
    return "?"


def _entry(version: Path, uri: str) -> CacheEntry:
    """Describe what is kept at a path, a file or a folder."""
    sizes = [size for _, size in _inodes(version)]
    try:
        used = version.stat().st_mtime
    except OSError:
        used = 0.0
    return CacheEntry(version, uri, len(sizes), sum(sizes), used)


def _inodes(path: Path) -> list[tuple[int, int]]:
    """Return inode and size of a file, or of each in a folder that others may fill."""
    found = []
    for file in _files(path):
        with suppress(OSError):
            state = os.stat(file)  # noqa: PTH116 - of thousands
            found.append((state.st_ino, state.st_size))
    return found


def _files(path: Path) -> Iterator[str]:
    if path.is_file():
        yield str(path)
    for parent, _, names in os.walk(path):
        yield from (f"{parent}/{name}" for name in names)
