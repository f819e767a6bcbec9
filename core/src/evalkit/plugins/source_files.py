"""Identifies a plugin by the SHA-256 of its source files."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

RAN = "__evalkit_ran__"
"""Name in a module of a file that no package holds: the bytes that ran."""


def source_hash(module: str) -> str | None:
    """Hash the Python files of the outermost package that a module belongs to.

    Args:
        module: Full name of the module.

    Returns:
        SHA-256 over the names and contents of its files; None where there are none
        to be found, as for code typed into an interpreter.
    """
    files = source_files(module)
    ran = getattr(sys.modules.get(module), RAN, None)
    if isinstance(ran, bytes):
        (name,) = files
        return hashlib.sha256(name.encode() + b"\0" + ran + b"\0").hexdigest()
    return hash_files(files) if files else None


def source_files(module: str) -> dict[str, Path]:
    """Find the Python files of the outermost package that a module belongs to.

    Args:
        module: Full name of the module.

    Returns:
        The files by their names in the package, sorted; empty where there are none to
        be found.
    """
    parts = module.split(".")
    names = [".".join(parts[: count + 1]) for count in range(len(parts))]
    origins = (getattr(sys.modules.get(name), "__file__", None) for name in names)
    origin = next(filter(None, origins), None)  # a namespace package has none
    if origin is None or not Path(origin).is_file():  # as for `<stdin>`
        return {}
    path = Path(origin)
    is_package = path.name == "__init__.py"
    names = _python_files(path.parent) if is_package else [path.name]
    return {name: path.parent / name for name in names}


def _python_files(folder: Path) -> list[str]:
    """Return the names of the Python files in a folder, folder by folder."""
    found = []
    # as texts: to make and sort a Path for each takes longer than reading the files
    for root, _, names in os.walk(folder):
        within = Path(root).relative_to(folder).as_posix()
        prefix = "" if within == "." else f"{within}/"
        found += [f"{prefix}{name}" for name in names if name.endswith(".py")]
    return sorted(found, key=lambda name: name.split("/"))


def hash_files(files: Mapping[str, Path]) -> str:
    """Return the SHA-256 over the names and contents of files."""
    return _hash_files(
        tuple((name, str(file), _state_of(file)) for name, file in files.items())
    )


def _state_of(path: Path) -> tuple[int, int, int]:
    """Return what differs after a file was changed: two times, and its size."""
    state = path.stat()
    return state.st_mtime_ns, state.st_ctime_ns, state.st_size


@lru_cache(maxsize=128)
def _hash_files(files: tuple[tuple[str, str, tuple[int, int, int]], ...]) -> str:
    """Read files once while they stay as they are, not for each evaluation."""
    digest = hashlib.sha256()
    for name, path, _ in files:
        digest.update(name.encode() + b"\0")
        digest.update(Path(path).read_bytes() + b"\0")
    return digest.hexdigest()
