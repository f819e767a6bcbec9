"""The store: files in a folder or at a URI that the driver and all workers reach.

Whoever writes a file gives it a name that nobody else uses, and returns the name. Only
names that were returned are read.
"""

from __future__ import annotations

import pickle
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import cloudpickle

from evalkit.errors import StorageError
from evalkit.places import is_remote, join, local_file, put
from evalkit.plugins.local_plugins import RAN, run_file


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


def save(store: str, name: str, value: Any) -> str:
    """Write a Python value, also of the user's script, and return the name."""
    content = cloudpickle.dumps(value)
    files = [
        str(module.__file__)
        for each, module in [*sys.modules.items()]
        if hasattr(module, RAN) and each.encode() in content
    ]
    with written(store, name) as path:
        path.write_bytes(pickle.dumps(files) + content)
    return name


def load(store: str, name: str, *, may_be_missing: bool = False) -> Any:
    """Read a Python value; None for a file that may be missing, and is."""
    place = join(store, name)
    path = local_file(place) if is_remote(store) else Path(place)
    if path is not None and path.is_file():
        content = path.read_bytes()
        if is_remote(store):  # the cache would hold all of the store
            Path(path.__fspath__()).unlink(missing_ok=True)
        stream = BytesIO(content)
        for file in pickle.load(stream):
            run_file(Path(file))  # a plugin of it is in the value
        return pickle.load(stream)
    if may_be_missing:
        return None
    raise StorageError(f"{place}: is missing; a worker wrote it before")


load_once = lru_cache(maxsize=4)(load)
"""The same, where a process reads the last few values only once."""
