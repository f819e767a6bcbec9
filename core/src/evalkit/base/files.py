"""Files that last, files that somebody else may have put there, the current folder."""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from evalkit.errors import ObjectExistsError, StorageError


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
    is_there = ObjectExistsError(
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
            _rename_new(part, path)
        sync_folder(path.parent)
    except FileExistsError as error:  # it appeared meanwhile
        raise is_there from error
    except OSError as error:
        reason = error.strerror or error
        raise StorageError(f"{path}: cannot be written: {reason}") from error
    finally:
        with suppress(OSError):
            part.unlink()


def _rename_new(part: Path, path: Path) -> None:
    try:
        os.link(part, path)
    except FileExistsError:
        raise
    except OSError:  # a file system without links
        if path.exists():
            raise FileExistsError from None
        part.replace(path)


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


@contextmanager
def regular_file(path: Path) -> Iterator[BinaryIO]:
    """Open a regular file, or what a symlink leads to; raise OSError for others."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as stream:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", str(path))
        yield stream


class WorkingFolder:
    """The folder that is the current one now, from which relative paths lead."""

    def __init__(self) -> None:
        self._path = Path.cwd()

    def restore(self) -> str | None:
        """Go back to the folder; return a warning if a plugin changed it."""
        now = Path.cwd()
        if now == self._path:
            return None
        os.chdir(self._path)
        return f"a plugin changed the current folder to {now}; it was changed back"
