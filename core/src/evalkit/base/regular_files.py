"""Opens files that somebody else may have put there: a pipe would be waited for."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def regular_file(path: Path) -> Iterator[BinaryIO]:
    """Open a regular file, or what a symlink leads to; raise OSError for others."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as stream:
        refuse_irregular(path, descriptor)
        yield stream


def refuse_irregular(path: Path, descriptor: int) -> None:
    """Raise OSError where a pipe, a device or a folder was opened."""
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        raise OSError(errno.EINVAL, "is no regular file", str(path))
