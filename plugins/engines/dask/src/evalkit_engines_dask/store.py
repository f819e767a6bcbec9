"""The store: files in a folder or at a URI that the driver and all workers reach.

Whoever writes a file gives it a name that nobody else uses, and returns the name. Only
names that were returned are read.
"""

from __future__ import annotations

import pickle
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import cloudpickle
import polars as pl

from evalkit.errors import StorageError
from evalkit.places import is_remote, join, local_file, put


def attempt(name: str) -> str:
    """Return a name for what one attempt of a task writes."""
    return f"{name}-{secrets.token_hex(4)}"


@contextmanager
def written(store: str, name: str) -> Iterator[Path]:
    """Give a local path to write to; the file is in the store afterwards."""
    if is_remote(store):
        with TemporaryDirectory(prefix="evalkit-store-") as folder:
            path = Path(folder, "file")
            yield path
            put(path, join(store, name))
        return
    path = Path(store, name)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield path
    except OSError as error:
        raise StorageError(f"{path}: {error.strerror or error}") from error


@contextmanager
def opened(store: str, name: str) -> Iterator[Path]:
    """Give the local path of a file; the copy of a remote one is removed afterwards."""
    if not is_remote(store):
        path = Path(store, name)
        if not path.is_file():
            raise StorageError(f"{path}: is missing; a worker wrote it before")
        yield path
        return
    copy = local_file(join(store, name))
    if copy is None:
        raise StorageError(f"{join(store, name)}: is missing; a worker wrote it before")
    try:
        yield copy
    finally:
        Path(copy.__fspath__()).unlink(missing_ok=True)


def write_frame(store: str, name: str, frame: pl.DataFrame) -> None:
    """Write a table."""
    with written(store, name) as path:
        frame.write_ipc(path, compression="lz4")


def read_frame(store: str, name: str) -> pl.DataFrame:
    """Read a table."""
    with opened(store, name) as path:
        return pl.read_ipc(path.read_bytes())


def save(store: str, name: str, value: Any) -> None:
    """Write a Python value, which may hold functions of the user's script."""
    with written(store, name) as path:
        path.write_bytes(cloudpickle.dumps(value))


@lru_cache(maxsize=4)
def load(store: str, name: str) -> Any:
    """Read a Python value; a process reads the last few only once."""
    with opened(store, name) as path:
        return pickle.loads(path.read_bytes())
