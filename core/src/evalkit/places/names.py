"""Names of places that are not on this machine, and of files fetched from there."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path, PosixPath, PurePath
from typing import Any

from evalkit.errors import DataError

# a path makes one slash of two; three slashes leave the name of the bucket empty
_REMOTE = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://?")


def is_remote(name: str | Path) -> bool:
    """Tell whether a name is a URI such as `s3://bucket/file`."""
    return _REMOTE.match(str(name)) is not None


def uri_of(name: str | Path) -> str:
    """Return a URI in full: of a path, which has one slash of the two, as well.

    Raises:
        DataError: It is not a URI, or names no bucket.
    """
    text = str(name)
    match = _REMOTE.match(text)
    if match is None:
        raise DataError(f"{text}: not a URI such as s3://BUCKET/FOLDER/FILE")
    scheme = match[1].lower()
    bucket, _, key = text[match.end() :].partition("/")
    if not bucket:
        how = "its path" if scheme == "file" else f"{scheme}://BUCKET/FILE"
        raise DataError(f"{text}: names no bucket: write {how}")
    if re.match("[^@]*:[^@]*@", bucket):
        raise DataError(
            f"{scheme}://…@{bucket.rpartition('@')[2]}: a URI must not contain a "
            "password"
        )
    if any(ord(letter) < 32 for letter in text):
        raise DataError(f"{text!r}: contains a control character")
    return f"{scheme}://{bucket}/{key}"


def join(folder: str, *names: str) -> str:
    """Return the URI or path of something in a folder."""
    return "/".join((folder.rstrip("/"), *names))


def base_name(uri: str) -> str:
    """Return the last part of a URI: the name of a file or folder."""
    return uri.rstrip("/").rpartition("/")[2]


def is_same_file(one: Path, other: Path) -> bool:
    """Tell whether two paths name one file, on this machine or by one URI."""
    if isinstance(one, FetchedPath) and isinstance(other, FetchedPath):
        return one.uri == other.uri
    return one.exists() and other.exists() and one.samefile(other)


class FetchedPath(PosixPath):
    """A fetched file or folder, whose text is its URI, also of paths below a folder.

    Whatever opens it gets the local path; whoever reads a message sees the URI.

    Args:
        local: The local path.
        uri: Where it was fetched from.
        permanent: A URI of this version for good; None where there is none.
    """

    uri: str = ""
    permanent: str | None = None

    def __new__(
        cls, local: str | Path, uri: str = "", permanent: str | None = None, /
    ) -> FetchedPath:
        """Make it."""
        made = super().__new__(cls, os.fspath(local))
        made.uri = uri
        made.permanent = permanent
        return made

    def __init__(self, local: str | Path, *_more: str | None) -> None:
        if sys.version_info >= (3, 12):  # before, a path took its parts in `__new__`
            super().__init__(os.fspath(local))

    @property
    def local(self) -> Path:
        """The same as an ordinary path."""
        return Path(self.__fspath__())

    def with_segments(self, *segments: str | os.PathLike[str]) -> Any:
        """Return an ordinary path for all that is made of this one."""
        return Path(*segments)

    def __str__(self) -> str:
        return self.uri or super().__str__()

    def __fspath__(self) -> str:
        return super().__str__()

    def __repr__(self) -> str:
        return f"FetchedPath({self.__fspath__()!r}, {str(self)!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        made_of = self.__fspath__(), self.uri, self.permanent
        return type(self), made_of, vars(self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PurePath) and self.__fspath__() == os.fspath(other)

    def __hash__(self) -> int:
        return hash(self.local)

    def __lt__(self, other: PurePath) -> bool:
        return self.local < Path(os.fspath(other))

    def __truediv__(self, key: str | os.PathLike[str]) -> FetchedPath:
        uri, permanent = (
            folder and f"{folder.rstrip('/')}/{os.fspath(key)}"
            for folder in (self.uri, self.permanent)
        )
        return FetchedPath(self.local / key, uri or "", permanent)

    def relative_to(self, other: Any, *more: Any, **options: Any) -> Path:  # type: ignore[override]
        """Return the way from a local folder."""
        return self.local.relative_to(os.fspath(other), *more, **options)

    def is_relative_to(self, other: Any, *more: Any) -> bool:
        """Tell whether it is below a local folder."""
        return self.local.is_relative_to(os.fspath(other), *more)

    def iterdir(self) -> Iterator[FetchedPath]:  # type: ignore[override]
        """Return what is in a folder, by its URIs."""
        return (self / path.name for path in self.local.iterdir())

    def glob(self, pattern: str, **options: Any) -> Iterator[Path]:  # type: ignore[override]
        """Return what is below a folder, by its local paths."""
        return self.local.glob(pattern, **options)

    def rglob(self, pattern: str, **options: Any) -> Iterator[Path]:  # type: ignore[override]
        """Return all that is below a folder, by its local paths."""
        return self.local.rglob(pattern, **options)
