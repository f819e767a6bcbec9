"""Names of places that are not on this machine, such as `s3://bucket/folder/file`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from evalkit.errors import DataError

# a path makes one slash of two; after three the name of the bucket is empty, as where
# a variable of a script is
_REMOTE = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://?")


class Place(NamedTuple):
    """The parts of a URI."""

    scheme: str
    """In lower case."""
    bucket: str
    key: str
    """What follows the bucket, without a slash before it; "" for all of the bucket."""

    @property
    def uri(self) -> str:
        """All of it."""
        return f"{self.scheme}://{self.bucket}/{self.key}"


def is_remote(name: str) -> bool:
    """Tell whether a name is that of a remote place, such as `s3://bucket/file`."""
    return _REMOTE.match(name) is not None


def parse_place(name: str | Path) -> Place:
    """Take a URI apart.

    Args:
        name: The URI, also as a path, which has one slash of the two.

    Raises:
        DataError: It is no URI, or names no bucket.
    """
    text = str(name)
    found = _REMOTE.match(text)
    if found is None:
        raise DataError(f"{text}: is no place such as s3://BUCKET/FOLDER/FILE")
    bucket, _, key = text[found.end() :].partition("/")
    if not bucket:
        is_here = found[1].lower() == "file"
        how = "its path" if is_here else f"{found[1]}://BUCKET/FILE"
        raise DataError(f"{text}: names no bucket: write {how}")
    if any(ord(letter) < 32 for letter in text):
        raise DataError(f"{text!r}: holds a control character")
    return Place(found[1].lower(), bucket, key)


def uri_of(name: str | Path) -> str:
    """Write a URI in full.

    Args:
        name: The URI, also as a path, which has one slash of the two.

    Raises:
        DataError: It is no URI, or names no bucket.
    """
    return parse_place(name).uri


def join(folder: str, *names: str) -> str:
    """Return the URI of something in a folder.

    Args:
        folder: URI of the folder, with or without a slash at its end.
        *names: Names from the folder on.
    """
    return "/".join((folder.rstrip("/"), *names))


def base_name(uri: str) -> str:
    """Return the last part of a URI, which is that of a file or folder."""
    return uri.rstrip("/").rpartition("/")[2]
