"""Parts of a file that several processes read, each its own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evalkit.places.names import FetchedPath


class FilePart(FetchedPath):
    """A part of a file, whose text is the file's; as a path it equals the file."""

    first: int = 1
    """Number of its first line or row in the file, from 1."""
    start: int = 0
    stop: int = 0
    """The bytes of its lines: from the start of one to that of another, or the end."""
    groups: tuple[int, ...] | None = None
    """The row groups of Parquet; None for a part that is lines."""
    sha256: str = ""
    """What stands for the content of the file, where somebody hashed it before."""

    @classmethod
    def of_bytes(
        cls, path: Path, start: int, stop: int, first_line: int, sha256: str = ""
    ) -> FilePart:
        """Make a part of a file of JSON lines that is neither compressed nor UTF-16."""
        return cls._of(path, first=first_line, start=start, stop=stop, sha256=sha256)

    @classmethod
    def of_row_groups(
        cls, path: Path, groups: Sequence[int], first_row: int, sha256: str = ""
    ) -> FilePart:
        """Make a part of a Parquet file."""
        return cls._of(path, first=first_row, groups=(*groups,), sha256=sha256)

    @classmethod
    def _of(cls, path: Path, **attributes: Any) -> FilePart:
        uri, permanent = getattr(path, "uri", ""), getattr(path, "permanent", None)
        made = cls(path, uri, permanent)
        vars(made).update(attributes)
        return made


def first_number(path: Path | None) -> int:
    """Return the number of the first line or row that is read of a path."""
    return path.first if isinstance(path, FilePart) else 1
