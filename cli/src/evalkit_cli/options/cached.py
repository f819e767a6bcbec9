"""What the folder of EVALKIT_CACHE_DIR contains, by kind."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

_PATTERNS = {"stores": "places", "replies": "replies.sqlite*"}
"""Names of files and folders in the cache; a dataset has a folder of its name."""

CACHE_KINDS = ("stores", "datasets", "replies")
"""Fetched from URIs, from publishers of datasets, and from models."""


class KeptKind(NamedTuple):
    """What the cache contains of one kind."""

    kind: str
    files: int
    size: int
    """Bytes; a file with two names counts once."""


def kept_by_kind() -> list[KeptKind]:
    """Return what the cache contains of each kind."""
    sizes = {kind: _sizes(kind) for kind in CACHE_KINDS}
    return [
        KeptKind(kind, len(files), sum(files.values())) for kind, files in sizes.items()
    ]


def clear_kind(kind: str) -> int:
    """Remove one of `CACHE_KINDS` from the cache; return the number of bytes freed."""
    from evalkit.errors import StorageError

    size = sum(_sizes(kind).values())
    for path in _paths(kind):
        try:
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
        except OSError as error:
            reason = error.strerror or error
            raise StorageError(f"{path}: cannot be removed: {reason}") from error
    return size


def _paths(kind: str) -> list[Path]:
    from evalkit import find_components
    from evalkit.places import cache_folder

    root = cache_folder()
    if kind != "datasets":
        return [*root.glob(_PATTERNS[kind])]
    # not all that is left: the folder may contain the user's own files
    names = {each.name for each in find_components().of_kind(kind)}
    return sorted(path for name in names if (path := root / name).is_dir())


def _sizes(kind: str) -> dict[tuple[int, int], int]:
    """Return the size of each file by its device and inode."""
    sizes = {}
    for file in _files(kind):
        with suppress(OSError):
            state = file.stat()
            sizes[state.st_dev, state.st_ino] = state.st_size
    return sizes


def _files(kind: str) -> Iterator[Path]:
    for path in _paths(kind):
        below = path.rglob("*") if path.is_dir() else [path]
        yield from (file for file in below if file.is_file())
