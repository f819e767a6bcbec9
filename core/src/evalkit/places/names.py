"""Names of places that are not on this machine, such as `s3://bucket/folder/file`."""

from __future__ import annotations

import re
from pathlib import Path

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
