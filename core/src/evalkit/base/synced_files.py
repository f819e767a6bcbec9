"""Files and folders that are there after a loss of power."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path


def write_synced(path: Path, chunks: Iterable[bytes | memoryview]) -> tuple[int, str]:
    """Write a new file.

    Args:
        path: The file, which nothing may have the name of: not a symlink either.
        chunks: Its bytes.

    Returns:
        Size and SHA-256 of what was written.

    Raises:
        OSError: It cannot be written.
    """
    size, digest = 0, hashlib.sha256()
    with path.open("xb") as stream:
        for chunk in chunks:
            stream.write(chunk)
            digest.update(chunk)
            size += len(chunk)
        stream.flush()
        os.fsync(stream.fileno())
    return size, digest.hexdigest()


def make_folder(folder: Path) -> None:
    """Make a folder, and those above it.

    Args:
        folder: The folder, which may be there.

    Raises:
        OSError: It cannot be made.
    """
    new = [each for each in (folder, *folder.parents) if not each.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for each in new:
        sync_folder(each.parent)


def sync_folder(folder: Path) -> None:
    """Let the names in a folder last.

    Args:
        folder: The folder.

    Raises:
        OSError: It cannot be read.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
