"""A copy on this machine that is called by the URI that it was fetched from."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any


class FetchedPath(type(Path())):  # type: ignore[misc]
    """A file or folder in the cache, whose text is the URI that it came from.

    All that opens files gets the place in the cache, and all that people read says the
    URI. Paths below a folder keep both; other paths that are made of this one, such as
    its parent, are those of the cache.

    Args:
        local: The file or folder in the cache, which has the name that the object has.
        uri: Where it was fetched from.
    """

    uri: str

    def __new__(cls, local: str | os.PathLike[str], uri: str) -> FetchedPath:
        """Make it."""
        made: FetchedPath = super().__new__(cls, os.fspath(local))
        made.uri = uri
        return made

    def __init__(self, local: str | os.PathLike[str], uri: str) -> None:
        if sys.version_info >= (3, 12):  # before, a path took its parts in `__new__`
            super().__init__(os.fspath(local))

    def with_segments(self, *segments: str | os.PathLike[str]) -> Path:
        """Return a path that is made of this one."""
        return Path(*segments)

    def __str__(self) -> str:
        return getattr(self, "uri", None) or super().__str__()

    def __fspath__(self) -> str:
        return Path.__str__(self)

    def __repr__(self) -> str:
        return f"FetchedPath({self.__fspath__()!r}, {str(self)!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.__fspath__(), str(self))

    def __truediv__(self, key: str | os.PathLike[str]) -> FetchedPath:
        uri = f"{str(self).rstrip('/')}/{os.fspath(key)}"
        return FetchedPath(Path(self.__fspath__()) / key, uri)

    def glob(self, pattern: str, **options: Any) -> Iterator[Path]:
        """Return what is below a folder, called by its places in the cache."""
        return Path(self.__fspath__()).glob(pattern, **options)

    def rglob(self, pattern: str, **options: Any) -> Iterator[Path]:
        """Return all that is below a folder, called by its places in the cache."""
        return Path(self.__fspath__()).rglob(pattern, **options)

    def iterdir(self) -> Iterator[FetchedPath]:
        """Return what is in a folder, called by its URIs."""
        return (self / path.name for path in Path(self.__fspath__()).iterdir())
