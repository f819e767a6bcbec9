"""The store of `my-thing://…`."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from evalkit.errors import StorageError
from evalkit.storage import (
    Condition,
    ObjectChangedError,
    ObjectExistsError,
    StoredObject,
)

_SCHEME = "my-thing://"
_FOLDER = "MY_THING_FOLDER"


class MyThing:
    """Objects below the folder that MY_THING_FOLDER names."""

    def identity(self, uri: str) -> str:
        """Return what tells these objects from others with the same URIs."""
        return str(_folder())

    def stat(self, uri: str) -> StoredObject | None:
        """Look at an object; None where there is none."""
        with _failures(uri):
            path = _path(uri)
            if not path.is_file():
                return None
            seen = path.stat()
        etag = hashlib.sha256(f"{seen.st_size} {seen.st_mtime_ns}".encode()).hexdigest()
        return StoredObject(uri, seen.st_size, etag, seen.st_mtime)

    def read(self, found: StoredObject, start: int, stop: int) -> Iterator[bytes]:
        """Read a range of an object that is still what was looked at."""
        with _failures(found.uri), _path(found.uri).open("rb") as stream:
            stream.seek(start)
            content = stream.read(stop - start)
        now = self.stat(found.uri)
        if now is None or now.etag != found.etag:
            raise ObjectChangedError(f"{found.uri}: was changed meanwhile")
        yield content

    def put(
        self, path: Path, uri: str, condition: Condition, *, sha256: str | None = None
    ) -> StoredObject:
        """Write a file where the condition holds."""
        there = self.stat(uri)
        if condition.kind == "absent" and there is not None:
            raise ObjectExistsError(f"{uri}: is there already")
        if condition.kind == "match" and (
            there is None or there.etag != condition.etag
        ):
            raise ObjectExistsError(f"{uri}: was changed meanwhile")
        with _failures(uri):
            target = _path(uri)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
        written = self.stat(uri)
        if written is None or written.size != path.stat().st_size:
            raise StorageError(f"{uri}: cannot be written: it did not arrive whole")
        return written

    def list_objects(self, prefix: str) -> Iterator[StoredObject]:
        """List the objects below a folder, by name."""
        root = _folder()
        with _failures(prefix):
            paths = [path.relative_to(root) for path in _path(prefix).rglob("*")]
        for name in sorted(path.as_posix() for path in paths):
            found = self.stat(f"{_SCHEME}{name}")
            if found is not None:
                yield found

    def delete(self, uri: str) -> None:
        """Delete an object; nothing happens where none is."""
        with _failures(uri):
            _path(uri).unlink(missing_ok=True)

    def honours_conditions(self, uri: str) -> bool:
        """Say that two writers at once are not kept apart here."""
        return False


@contextmanager
def _failures(uri: str) -> Iterator[None]:
    """Have what the system says name the place, as evalkit expects it."""
    try:
        yield
    except (OSError, ValueError) as error:
        raise StorageError(f"{uri}: {error}") from error


def _folder() -> Path:
    folder = os.environ.get(_FOLDER)
    if not folder:
        raise StorageError(f"{_SCHEME} needs the environment variable {_FOLDER}")
    return Path(folder).resolve()


def _path(uri: str) -> Path:
    root = _folder()
    path = (root / uri.removeprefix(_SCHEME)).resolve()
    if not path.is_relative_to(root):
        raise StorageError(f"{uri}: leads out of {_FOLDER}")
    return path
