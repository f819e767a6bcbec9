"""What the folder of `EVALKIT_CACHE_DIR` holds, by kind."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from evalkit.errors import StorageError
from evalkit.plugins.discovery import find_components
from evalkit.plugins.sources import cache_folder
from evalkit.storage.cache import FOLDERS, OBJECTS

STORES = "stores"
DATASETS = "datasets"

_PATTERNS = {
    STORES: (OBJECTS, FOLDERS),
    "annotations": ("annotations",),
    "replies": ("replies.sqlite*",),
}
"""Names of files and folders below the cache; a data set has a folder of its name."""

CACHE_KINDS = (STORES, DATASETS, "annotations", "replies")
"""What may be removed: fetched from stores, fetched from publishers of data sets, what
annotators said, and what models replied."""


class KeptKind(NamedTuple):
    """What is kept of one kind."""

    kind: str
    files: int
    size: int
    """Bytes; a file that has two names counts once."""


def kept_by_kind() -> list[KeptKind]:
    """Return what is kept of each kind that may be removed."""
    return [_kept(kind) for kind in CACHE_KINDS]


def clear_kind(kind: str) -> int:
    """Remove all that is kept of a kind.

    Args:
        kind: One of `CACHE_KINDS`.

    Returns:
        How many bytes that freed.

    Raises:
        StorageError: It cannot be removed.
    """
    before = _kept(kind).size
    for path in _places(kind):
        try:
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
        except OSError as error:
            reason = error.strerror or error
            raise StorageError(f"{path}: cannot be removed: {reason}") from error
    return before


def _places(kind: str) -> list[Path]:
    root = cache_folder()
    if kind != DATASETS:
        return [path for pattern in _PATTERNS[kind] for path in root.glob(pattern)]
    # not all that is left: the folder may hold what is the user's own
    found = [each for each in find_components().components if each.kind == DATASETS]
    places = {root / each.name for each in found}
    return sorted(path for path in places if path.is_dir())


def _kept(kind: str) -> KeptKind:
    sizes = {}
    for file in _files(kind):
        with suppress(OSError):
            state = file.stat()
            sizes[state.st_dev, state.st_ino] = state.st_size
    return KeptKind(kind, len(sizes), sum(sizes.values()))


def _files(kind: str) -> Iterator[Path]:
    for place in _places(kind):
        if place.is_file():
            yield place
        else:
            yield from (path for path in place.rglob("*") if path.is_file())
