"""Refuses files that unpack to very many more bytes than they have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from evalkit.errors import DataError

FREE_BYTES = 1 << 30
"""Bytes that any file may unpack to."""

MOST_TIMES = 200
"""How many times its own size a file may unpack to beyond them."""


class Expansion:
    """Counts what a file has unpacked to so far.

    Args:
        path: The file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._most = max(FREE_BYTES, MOST_TIMES * path.stat().st_size)
        self._bytes = 0

    def add(self, count: int) -> None:
        """Count some bytes more.

        Args:
            count: How many.

        Raises:
            DataError: They are too many.
        """
        self._bytes += count
        if self._bytes > self._most:
            raise DataError(
                f"{self._path}: it unpacks to more than {FREE_BYTES >> 20:,} MiB and "
                f"{MOST_TIMES} times its size; where that is right, unpack it to "
                "JSON lines before"
            )


class CountedStream:
    """A stream of unpacked bytes, which are counted as they are read.

    Args:
        stream: The stream.
        expansion: What counts them.
    """

    def __init__(self, stream: Any, expansion: Expansion) -> None:
        self._stream, self._expansion = stream, expansion

    def read(self, size: int) -> bytes:
        """Return the next bytes.

        Args:
            size: How many at most.

        Raises:
            DataError: The file has unpacked to too many.
        """
        found: bytes = self._stream.read(size)
        self._expansion.add(len(found))
        return found
