"""What a place must offer, and the cache for those whose library has none."""

from __future__ import annotations

import hashlib
import os
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from evalkit.errors import StorageError
from evalkit.places.names import base_name
from evalkit.plugins.sources import cache_folder

PLACES = "places"
"""Name of the folder in the cache."""

_LONGEST_NAME = 200
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
    if len(os.fsencode(name)) <= _LONGEST_NAME and name.strip("."):
        return name
    return _digest(uri) + PurePosixPath(name).suffix[:20]
