"""Where perturbed copies are written."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from evalkit.errors import StorageError
from evalkit.places import file_to_write, is_same_file

_SUFFIXES = (".jsonl", ".ndjson", ".json")


@contextmanager
def place_of_copies(out: Any, overwrite: bool) -> Iterator[Path | None]:
    """Return where copies are written."""
    if not isinstance(out, str | Path):
        yield None
        return
    with file_to_write(out, overwrite=overwrite) as path:
        _check_target(path, overwrite)
        yield path


def _check_target(path: Path, overwrite: bool) -> None:
    if path.suffix.lower() not in _SUFFIXES:
        raise StorageError(
            f"{path}: perturbed examples are written as JSON lines; give it a name "
            "that ends in .jsonl"
        )
    if path.is_dir() or (path.exists() and not overwrite):
        raise StorageError(
            f"{path} is there already; choose another name, or say that it may be "
            "replaced (--overwrite, overwrite=True)"
        )


def refuse_own_input(target: Path | None, path: Path | None) -> None:
    """Refuse to write copies over the examples that they are of."""
    if target is not None and path is not None and is_same_file(target, path):
        raise StorageError(
            f"{target} holds the originals, which would be lost; choose another name"
        )
