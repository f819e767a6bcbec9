"""The place of `my-thing://…`."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from evalkit.errors import ObjectExistsError, StorageError
from evalkit.places import Entry, Place, is_offline, kept, last_kept

_SCHEME = "my-thing://"
_FOLDER = "MY_THING_FOLDER"


class MyThing(Place):
    """Files below the folder that MY_THING_FOLDER names."""

    def local(self, uri: str) -> Path | None:
        """Fetch a file into the cache; None if there is no such file."""
        if is_offline():
            return last_kept(uri)
        with _failures(uri):
            path = _path(uri)
            if not path.is_file():
                return None
            return kept(uri, _version(path), lambda part: shutil.copyfile(path, part))

    def list(self, uri: str) -> Iterator[Entry]:
        """List the files below a folder, or one file."""
        with _failures(uri):
            path = _path(uri)
            for file in path.rglob("*") if uri.endswith("/") else [path]:
                if file.is_file():
                    name = file.relative_to(_folder()).as_posix()
                    yield Entry(f"{_SCHEME}{name}", _version(file))

    def put(self, path: Path, uri: str, *, overwrite: bool) -> None:
        """Write a file, whole or not at all."""
        with _failures(uri):
            target = _path(uri)
            target.parent.mkdir(parents=True, exist_ok=True)
            staging = target.with_name(f".{uuid.uuid4().hex}")
            try:
                shutil.copyfile(path, staging)
                if overwrite:
                    staging.replace(target)
                else:
                    os.link(staging, target)
            except FileExistsError:
                raise ObjectExistsError(f"{uri}: a file is there") from None
            finally:
                staging.unlink(missing_ok=True)


@contextmanager
def _failures(uri: str) -> Iterator[None]:
    """Let errors of the system name the URI."""
    try:
        yield
    except (OSError, ValueError) as error:
        raise StorageError(f"{uri}: {error}") from error


def _version(path: Path) -> str:
    state = path.stat()
    return f"{path} {state.st_size} {state.st_mtime_ns} {state.st_ino}"


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
