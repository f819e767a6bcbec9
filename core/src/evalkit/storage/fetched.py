"""A copy on this machine that is called by the URI that it was fetched from."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path, PosixPath, PurePath
from typing import Any


def is_same_file(one: Path, other: Path) -> bool:
    """Tell whether two paths are of one file, on this machine or in a store.

    Args:
        one: A path.
        other: Another one; also one that is still to be written, or was fetched.
    """
    if isinstance(one, FetchedPath) and isinstance(other, FetchedPath):
        return one.uri == other.uri
    return one.exists() and other.exists() and one.samefile(other)


class FetchedPath(PosixPath):
    """A file or folder in the cache, whose text is the URI that it came from.

    All that opens files gets the place in the cache, and all that people read says the
    URI. Paths below a folder keep both; other paths that are made of this one, such as
    its parent, are those of the cache.

    Args:
        local: The file or folder in the cache, which has the name that the object has.
        uri: Where it was fetched from; without it a path is an ordinary one.
        permanent: A URI that names this version whatever is written later.
    """

    _uri: str | None = None
    permanent: str | None = None
    """A URI that names this version whatever is written later; None where the store
    has no such ones."""
    versions: Mapping[str, str] | None = None
    """The ETag of each file by its name, of a folder that was just fetched."""

    def __new__(
        cls,
        local: str | os.PathLike[str],
        uri: str | None = None,
        permanent: str | None = None,
        /,
    ) -> FetchedPath:
        """Make it."""
        made = super().__new__(cls, os.fspath(local))
        made._uri = uri
        made.permanent = permanent
        return made

    def __init__(
        self,
        local: str | os.PathLike[str],
        uri: str | None = None,
        permanent: str | None = None,
        /,
    ) -> None:
        if sys.version_info >= (3, 12):  # before, a path took its parts in `__new__`
            super().__init__(os.fspath(local))

    @property
    def uri(self) -> str:
        """Where it was fetched from."""
        return str(self)

    @property
    def local(self) -> Path:
        """The same as an ordinary path, which is called by its place in the cache."""
        return Path(self.__fspath__())

    def with_segments(self, *segments: str | os.PathLike[str]) -> Any:
        """Return an ordinary path that is made of this one, against what types say."""
        return Path(*segments)

    def __str__(self) -> str:
        return self._uri or super().__str__()

    def __fspath__(self) -> str:
        return super().__str__()

    def __repr__(self) -> str:
        return f"FetchedPath({self.__fspath__()!r}, {str(self)!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return FetchedPath, (self.__fspath__(), self._uri, self.permanent)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PurePath):
            return NotImplemented
        return self.local == Path(os.fspath(other))

    def __hash__(self) -> int:
        return hash(self.local)

    def __lt__(self, other: PurePath) -> bool:
        return self.local < Path(os.fspath(other))

    def __truediv__(self, key: str | os.PathLike[str]) -> FetchedPath:
        uri, permanent = (
            folder and f"{folder.rstrip('/')}/{os.fspath(key)}"
            for folder in (self._uri, self.permanent)
        )
        return FetchedPath(self.local / key, uri, permanent)

    def relative_to(self, other: Any, *more: Any, **options: Any) -> Path:  # type: ignore[override]
        """Return the way from a folder of the cache to this path."""
        return self.local.relative_to(os.fspath(other), *more, **options)

    def is_relative_to(self, other: Any, *more: Any) -> bool:
        """Tell whether it is below a folder of the cache."""
        return self.local.is_relative_to(os.fspath(other), *more)

    def iterdir(self) -> Iterator[FetchedPath]:  # type: ignore[override]
        """Return what is in a folder, called by its URIs."""
        return (self / path.name for path in self.local.iterdir())

    def glob(self, pattern: str, **options: Any) -> Iterator[Path]:  # type: ignore[override]
        """Return what is below a folder, called by its places in the cache."""
        return self.local.glob(pattern, **options)

    def rglob(self, pattern: str, **options: Any) -> Iterator[Path]:  # type: ignore[override]
        """Return all that is below a folder, called by its places in the cache."""
        return self.local.rglob(pattern, **options)
