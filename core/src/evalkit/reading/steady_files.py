"""Files that must stay what they are while they are read and hashed.

A file is read by one and hashed by another, at the same time. What was hashed is what
was read only where nobody replaced or changed the file in between.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from evalkit.errors import DataError
from evalkit.reading.manifests import data_sha256
from evalkit.reading.sharded import files_of


def joined_digest(digests: Sequence[str]) -> str:
    """Return the SHA-256 of several files, whatever they are called."""
    return hashlib.sha256(json.dumps(digests).encode()).hexdigest()


class SteadyFile:
    """A file, or a data set that is a folder, from now on.

    Args:
        path: The file or the folder. One that cannot be looked at is not watched: who
            reads it says so.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._before = _states(path)

    def hashes(self) -> tuple[Mapping[str, str], ...]:
        """Return `name` and `sha256` of it, or of each of its shards."""
        found = file_hashes(self._path)
        self.check()
        return found

    def check(self) -> None:
        """Raise DataError if the file was changed, replaced or removed since."""
        if self._before and _states(self._path) != self._before:
            raise DataError(
                f"{self._path}: was changed while it was read; wait until it is "
                "written, and start again"
            )


def file_hashes(path: Path) -> tuple[Mapping[str, str], ...]:
    """Return `name` and `sha256` of a file or folder, or of each of its shards."""
    files = files_of(path)
    return tuple({"name": each.name, "sha256": data_sha256(each)} for each in files)


def _states(path: Path) -> list[tuple[int, ...]]:
    """Return what changes with a file: of the file itself and of those in a folder."""
    try:
        paths = sorted(path.rglob("*")) if path.is_dir() else files_of(path)
        found = [each.stat() for each in paths]
    except OSError:
        return []
    return [
        (s.st_dev, s.st_ino, s.st_size, s.st_mtime_ns, s.st_ctime_ns) for s in found
    ]
