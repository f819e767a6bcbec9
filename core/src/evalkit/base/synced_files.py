"""Files and folders that are there after a loss of power."""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from evalkit.errors import StorageError


@contextmanager
def new_file(path: Path, *, overwrite: bool) -> Iterator[Path]:
    """Make a file beside its place, hidden, and move it there when it is whole.

    Args:
        path: Where it will be, in a folder that is there.
        overwrite: Whether it may replace a regular file that is there.

    Yields:
        The hidden file, empty; it is moved if the block ends without an error, else
        removed.

    Raises:
        StorageError: Something is there that is not replaced, or it cannot be written.
            What was there before is as it was.
    """
    if path.is_symlink() or (path.exists() and not path.is_file()):
        what = "a symlink" if path.is_symlink() else "no regular file"
        raise StorageError(f"{path}: is {what}, and is not replaced; name a file")
    is_there = StorageError(
        f"{path} is there already; choose another name, or say that it may be "
        "replaced (--overwrite, overwrite=True)"
    )
    if path.exists() and not overwrite:
        raise is_there
    part = path.with_name(f".{path.name}-{secrets.token_hex(4)}.part")
    try:
        part.touch(exist_ok=False)
        yield part
        with part.open("rb") as stream:
            os.fsync(stream.fileno())
        if overwrite:
            part.replace(path)
        else:
            os.link(part, path)
        sync_folder(path.parent)
    except FileExistsError as error:  # it appeared meanwhile
        raise is_there from error
    except OSError as error:
        reason = error.strerror or error
        raise StorageError(f"{path}: cannot be written: {reason}") from error
    finally:
        with suppress(OSError):
            part.unlink()


def write_synced(path: Path, chunks: Iterable[bytes | memoryview]) -> tuple[int, str]:
    """Write a new file, and return size and SHA-256; replace not even a symlink."""
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
    """Make a folder, which may be there, and those above it."""
    new = [each for each in (folder, *folder.parents) if not each.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for each in new:
        sync_folder(each.parent)


def sync_folder(folder: Path) -> None:
    """Let the names in a folder last."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
