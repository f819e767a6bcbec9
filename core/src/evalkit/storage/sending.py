"""Writes files to where a user says: a path of this machine, or a URI.

What goes to a store is written to a file in the cache first, and sent when it is whole.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from evalkit.errors import ObjectExistsError, StorageError
from evalkit.plugins.sources import OFFLINE_VARIABLE, is_offline
from evalkit.storage.cache import (
    OUTGOING_NOTE,
    ObjectCache,
    cache_errors,
    local_name,
    write_whole,
)
from evalkit.storage.fetched import FetchedPath
from evalkit.storage.finding import store_of
from evalkit.storage.places import base_name, is_remote, uri_of
from evalkit.storage.stores import ALWAYS, IF_ABSENT, StoredObject


@contextmanager
def file_to_write(name: str | Path, *, overwrite: bool) -> Iterator[Path]:
    """Return where a file is to be written that a user named.

    Args:
        name: A path, or a URI such as `s3://bucket/file`.
        overwrite: Whether an object of this name may be replaced; of a path the caller
            sees to it.

    Yields:
        The path; of a URI a file in the cache that calls itself by it, which is sent
        if the block ends without an error. What an earlier call could not finish is
        there still, and a whole file that it could not send is not.

    Raises:
        DataError: The URI names no file.
        PluginError: The plugin of its scheme is broken.
        StorageError: Something is there that is not replaced, or it cannot be written.
    """
    if not is_remote(str(name)):
        yield Path(name)
        return
    uri = uri_of(name)
    if not base_name(uri) or uri.endswith("/"):
        raise StorageError(f"{uri}: names a folder; add the name of a file")
    refuse_present(uri, overwrite=overwrite)
    folder = ObjectCache().outgoing_folder(store_of(uri).identity(uri), uri)
    path = FetchedPath(folder / local_name(uri), uri)
    write_whole(folder / OUTGOING_NOTE, json.dumps({"uri": uri}).encode())
    with cache_errors(folder):
        path.unlink(missing_ok=True)
    yield path
    try:
        send_file(Path(path.__fspath__()), uri, overwrite=overwrite)
    except StorageError as error:
        raise type(error)(
            f"{error}. What was to be sent is kept in {path.__fspath__()}"
        ) from error
    with suppress(OSError):
        path.unlink()
        (folder / OUTGOING_NOTE).unlink()
        folder.rmdir()


def refuse_present(uri: str, *, overwrite: bool) -> None:
    """Refuse to write where something is, or where that cannot be excluded.

    Args:
        uri: Where a file is to be written.
        overwrite: Whether what is there may be replaced; then nothing is refused.

    Raises:
        ObjectExistsError: Something is there.
        StorageError: The store ignores conditions, so that a file that appears
            meanwhile would be replaced.
    """
    refuse_offline(uri)
    if overwrite:
        return
    store = store_of(uri)
    if store.stat(uri) is not None:
        raise ObjectExistsError(_is_there(uri))
    if not store.honours_conditions(uri.rpartition("/")[0]):
        raise StorageError(
            f"{uri}: the server ignores the condition that nothing is there yet "
            "(If-None-Match), so that a file that appears meanwhile would be replaced; "
            "say that it may be (--overwrite, overwrite=True)"
        )


def refuse_offline(uri: str) -> None:
    """Refuse to write to a store where the network is forbidden.

    Args:
        uri: Where to.

    Raises:
        StorageError: `EVALKIT_OFFLINE` is set.
    """
    if is_offline():
        raise StorageError(
            f"{uri}: cannot be written: {OFFLINE_VARIABLE} forbids the network: unset "
            "it"
        )


def send_file(
    path: Path, uri: str, *, overwrite: bool, sha256: str | None = None
) -> StoredObject:
    """Send a file, with its SHA-256.

    Args:
        path: The file.
        uri: Where to.
        overwrite: Whether what is there may be replaced.
        sha256: Of the file, in hex, where the caller knows it.

    Returns:
        The object.

    Raises:
        ObjectExistsError: Another file is there.
        StorageError: It cannot be written.
    """
    if sha256 is None:
        with path.open("rb") as stream:
            sha256 = hashlib.file_digest(stream, "sha256").hexdigest()
    condition = ALWAYS if overwrite else IF_ABSENT
    try:
        return store_of(uri).put(path, uri, condition, sha256=sha256)
    except ObjectExistsError as error:
        found = store_of(uri).stat(uri)
        # the answer to the write may have been lost, and it was tried again
        if found is not None and found.digest == f"sha256:{sha256}":
            return found
        raise ObjectExistsError(_is_there(uri)) from error


def _is_there(uri: str) -> str:
    return (
        f"{uri} is there already; choose another name, or say that it may be replaced "
        "(--overwrite, overwrite=True)"
    )
