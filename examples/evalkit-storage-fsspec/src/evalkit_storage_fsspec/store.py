"""Stores over file systems of fsspec: an example of a store in one module.

A store for another file system is three lines: a subclass of `FsspecStore` with its
`protocol`, and an entry point of the group `evalkit.storage` with that name.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from evalkit.errors import StorageError
from evalkit.storage import (
    Condition,
    ObjectChangedError,
    ObjectExistsError,
    StoredObject,
    TransferError,
)

_ETAGS = ("etag", "ETag", "generation")
"""What file systems call that which changes with the content."""

_TIMES = ("mtime", "updated", "last_modified", "LastModified", "created")


class FsspecStore:
    """Objects of one file system of fsspec.

    Credentials and options are those of the file system and of fsspec's configuration;
    this class reads none.
    """

    protocol: ClassVar[str]
    """The name of the file system in fsspec, and the scheme of the URIs."""
    client: ClassVar[str] = "fsspec"
    """The distribution that has the file system."""

    @cached_property
    def _files(self) -> Any:
        import fsspec

        try:
            # what others write meanwhile has to be seen
            return fsspec.filesystem(self.protocol, use_listings_cache=False)
        except ImportError:
            raise StorageError(
                f"{self.protocol}:// needs {self.client}: pip install {self.client}"
            ) from None

    def identity(self, uri: str) -> str:
        """Return the account, where the file system has one."""
        return f"{self.protocol} {getattr(self._files, 'account_name', None) or ''}"

    def stat(self, uri: str) -> StoredObject | None:
        """Look at an object; None where there is none."""
        path = _path(uri)
        with _failures(uri, "read"):
            self._files.invalidate_cache(path)
            try:
                info = self._files.info(path)
            except FileNotFoundError:
                return None
        return _object(uri, info) if info["type"] == "file" else None

    def read(self, found: StoredObject, start: int, stop: int) -> Iterator[bytes]:
        """Read a range, and look whether it was of what had been looked at.

        fsspec cannot ask for one version of an object.
        """
        with _failures(found.uri, "read"):
            try:
                content = self._files.cat_file(_path(found.uri), start=start, end=stop)
            except FileNotFoundError:
                content = None
        now = self.stat(found.uri)
        if now is None or now.etag != found.etag or content is None:
            raise ObjectChangedError(f"{found.uri}: was changed meanwhile")
        yield content

    def put(
        self, path: Path, uri: str, condition: Condition, *, sha256: str | None = None
    ) -> StoredObject:
        """Write a file; a condition is looked at before, and may fail to hold by then.

        The SHA-256 is not kept: fsspec has no common way to.
        """
        if condition.kind != "always":
            there = self.stat(uri)
            if condition.kind == "absent" and there is not None:
                raise ObjectExistsError(f"{uri}: is there already")
            if condition.kind == "match" and (
                there is None or there.etag != condition.etag
            ):
                raise ObjectExistsError(f"{uri}: was changed meanwhile")
        with _failures(uri, "written"):
            self._files.put_file(str(path), _path(uri))
        written = self.stat(uri)
        if written is None or written.size != path.stat().st_size:
            raise StorageError(f"{uri}: cannot be written: it did not arrive whole")
        return written

    def list_objects(self, prefix: str) -> Iterator[StoredObject]:
        """List the objects below a folder."""
        folder = _path(prefix)
        with _failures(prefix, "listed"):
            self._files.invalidate_cache()
            try:
                found: Mapping[str, Any] = self._files.find(
                    folder.rstrip("/"), detail=True
                )
            except FileNotFoundError:
                return
        named = {name.lstrip("/"): info for name, info in found.items()}
        for name in sorted(named):
            if name.startswith(folder) and named[name]["type"] == "file":
                yield _object(f"{self.protocol}://{name}", named[name])

    def delete(self, uri: str) -> None:
        """Delete an object; nothing happens where none is."""
        with _failures(uri, "deleted"), suppress(FileNotFoundError):
            self._files.rm_file(_path(uri))

    def honours_conditions(self, uri: str) -> bool:
        """Say that writes do not depend on their conditions: fsspec has none."""
        return False


class GoogleStore(FsspecStore):
    """Buckets of Google Cloud Storage, by gcsfs."""

    protocol = "gs"
    client = "gcsfs"


class AzureStore(FsspecStore):
    """Containers of Azure Blob Storage, by adlfs."""

    protocol = "az"
    client = "adlfs"


def _path(uri: str) -> str:
    return uri.partition("://")[2]


def _object(uri: str, info: Mapping[str, Any]) -> StoredObject:
    moment = _seconds(next((info[name] for name in _TIMES if info.get(name)), 0.0))
    etag = next((str(info[name]) for name in _ETAGS if info.get(name)), "")
    if not etag:
        seen = f"{info['size']} {moment}"
        etag = hashlib.sha256(seen.encode()).hexdigest()
    return StoredObject(uri, int(info["size"]), etag, moment)


def _seconds(moment: Any) -> float:
    """Return seconds since 1970 for what a file system says of a time."""
    if isinstance(moment, str):
        moment = datetime.fromisoformat(moment)
    return moment.timestamp() if isinstance(moment, datetime) else float(moment)


@contextmanager
def _failures(uri: str, doing: str) -> Iterator[None]:
    """Turn what a file system raises into errors without its texts.

    They may hold what was signed or sent.
    """
    cannot = f"{uri}: cannot be {doing}"
    try:
        yield
    except StorageError:
        raise
    except FileNotFoundError:
        raise StorageError(f"{cannot}: there is no such bucket or object") from None
    except PermissionError:
        raise StorageError(
            f"{cannot}: access is denied: log in, or ask for the permission"
        ) from None
    except (ConnectionError, TimeoutError) as error:
        raise TransferError(
            f"{cannot}: the connection was lost or never made ({type(error).__name__})"
        ) from None
    except Exception as error:  # each file system raises errors of its own
        raise StorageError(f"{cannot}: {type(error).__name__}") from None
