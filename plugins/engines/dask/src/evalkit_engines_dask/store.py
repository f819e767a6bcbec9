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
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import cloudpickle

from evalkit.catalog import described
from evalkit.errors import DataError, StorageError
from evalkit.places import is_remote, join, local_file, put
from evalkit.plugins.local_plugins import run_file


def attempt(name: str) -> str:
    """Return a name for what one attempt of a task writes."""
    return f"{name}-{secrets.token_hex(4)}"


@contextmanager
def written(store: str, name: str) -> Iterator[Path]:
    """Give a local path to write to; the file is in the store afterwards."""
    if is_remote(store):
        with TemporaryDirectory(prefix="evalkit-store-") as folder:
            yield (path := Path(folder, "file"))
            put(path, join(store, name))
        return
    path = Path(store, name)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield (part := path.with_name(attempt(path.name)))
        part.replace(path)
    except OSError as error:
        raise StorageError(f"{path}: {error.strerror or error}") from error


def save(store: str, name: str, value: Any) -> str:
    """Write a Python value, also of the user's script, and return the name."""
    try:
        content = cloudpickle.dumps(value)
    except Exception as error:  # a value may raise anything
        text = f"{name}: a value cannot be sent to workers: {described(error)}"
        raise DataError(text) from error
    files = [  # modules of files, by the names that core gives them
        str(module.__file__)
        for each, module in [*sys.modules.items()]
        if each.startswith("evalkit_file_") and each.encode() in content
    ]
    head = pickle.dumps(files)
    digest = sha256(head)
    digest.update(content)
    with written(store, name) as path, path.open("wb") as file:
        file.writelines([digest.digest(), head, content])
    return name


def load(store: str, name: str) -> Any:
    """Read a Python value that was saved."""
    place = join(store, name)
    path = local_file(place)
    if path is None:
        raise StorageError(f"{place}: is missing; a worker wrote it before")
    content = path.read_bytes()
    if is_remote(store):  # the cache would hold all of the store
        Path(path.__fspath__()).unlink(missing_ok=True)
    if sha256(memoryview(content)[32:]).digest() != content[:32]:
        raise StorageError(f"{place}: is damaged. Remove it, and start again")
    stream = BytesIO(content)
    stream.seek(32)
    for file in pickle.load(stream):
        run_file(Path(file))  # a plugin of it is in the value
    return pickle.load(stream)


load_once = lru_cache(maxsize=4)(load)
"""The same, where a process reads the last few values only once."""
