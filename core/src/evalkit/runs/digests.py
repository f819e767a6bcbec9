"""What the files of a run must be: their sizes and SHA-256, checked when they are read.

`run.json` holds size and digest of every other file. This finds damage, and edits by
somebody who did not mean to deceive.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from evalkit.base.json_text import dumps
from evalkit.base.regular_files import regular_file
from evalkit.base.synced_files import write_synced
from evalkit.errors import StorageError
from evalkit.runs.recorded import FileDigest


def to_json(value: Any, indent: int | None = None) -> str:
    """Return a value as the JSON text that run folders hold."""
    return dumps(value, ensure_ascii=False, indent=indent, allow_nan=False, default=str)


def digest_of(content: bytes | memoryview) -> FileDigest:
    """Return size and SHA-256 of the bytes of a file."""
    return FileDigest(size=len(content), sha256=hashlib.sha256(content).hexdigest())


def write_file(path: Path, chunks: Iterable[bytes | memoryview]) -> FileDigest:
    """Write a new file so that it is there after a loss of power.

    Args:
        path: The file, which nothing may have the name of: not a symlink either.
        chunks: Its bytes.

    Returns:
        Size and SHA-256 of what was written.

    Raises:
        OSError: It cannot be written.
    """
    size, sha256 = write_synced(path, chunks)
    return FileDigest(size=size, sha256=sha256)


def read_file(path: Path) -> bytes:
    """Return the bytes of a regular file.

    Args:
        path: The file; a symlink is followed.

    Returns:
        Its bytes.

    Raises:
        StorageError: It cannot be read, or is no regular file.
    """
    try:
        with regular_file(path) as stream:
            return stream.read()
    except OSError as error:
        raise StorageError(f"{path}: {error.strerror or error}") from error


def read_checked(path: Path, expected: FileDigest | None) -> bytes:
    """Return the bytes of a file of a run.

    Args:
        path: The file.
        expected: What it must be; None to check nothing.

    Returns:
        Its bytes, which are those whose digest was compared.

    Raises:
        StorageError: It cannot be read, or is not what was written.
    """
    if expected is not None and not path.exists():
        raise StorageError(f"{path}: is missing; the run had it when it was written")
    content = read_file(path)
    if expected is not None:
        found = digest_of(content)
        if found.size != expected.size:
            raise StorageError(
                f"{path}: is damaged or was changed: it has {found.size} bytes, and "
                f"had {expected.size} when it was written"
            )
        if found.sha256 != expected.sha256:
            raise StorageError(
                f"{path}: is damaged or was changed: its SHA-256 is not the one that "
                "run.json holds"
            )
    return content
