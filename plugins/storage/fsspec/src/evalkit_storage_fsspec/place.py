"""Places over file systems of fsspec.

Another file system is a subclass of `FsspecPlace` with its `protocol`, and an entry
point of the group `evalkit.storage` with that name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from evalkit.errors import ObjectExistsError, StorageError, TransferError
from evalkit.places import Entry, Place, is_offline, kept, last_kept

_CHANGING = (
    *("size", "etag", "ETag", "generation", "mtime", "updated"),
    *("last_modified", "LastModified", "created"),
)
"""Fields that change with the content, in the words of several file systems."""


class FsspecPlace(Place):
    """Files of one file system of fsspec.

    Credentials and options are those of the file system and of fsspec's configuration.
    evalkit reads none of them.
    """

    protocol: ClassVar[str]
    """The name of the file system in fsspec, and the scheme of the URIs."""
    client: ClassVar[str] = "fsspec"
    """The distribution that has the file system."""

    @cached_property
    def _plain(self) -> Any:
        return self._open({})

    def _open(self, options: dict[str, Any]) -> Any:
        import fsspec

        try:
            # files of other writers must be visible
            return fsspec.filesystem(self.protocol, use_listings_cache=False, **options)
        except ImportError:
            raise StorageError(
                f"{self.protocol}:// needs {self.client}: pip install {self.client}"
            ) from None

    def locate(self, uri: str) -> tuple[Any, str]:
        """Return the file system of a URI and the path in it."""
        return self._plain, uri.partition("://")[2]

    def local(self, uri: str) -> Path | None:
        """Fetch a file into the cache, unless this version is there."""
        if is_offline():
            return last_kept(uri)
        with _failures(uri, "read"):
            files, path = self.locate(uri)
            try:
                info = files.info(path)
            except FileNotFoundError:
                return None
            if info["type"] != "file":
                return None
            return kept(
                uri, _version(info), lambda part: files.get_file(path, str(part))
            )

    def list(self, uri: str) -> Iterator[Entry]:
        """List the files below a folder, or one file."""
        with _failures(uri, "listed"):
            files, path = self.locate(uri)
            files.invalidate_cache()
            try:
                infos = files.find(path.rstrip("/"), detail=True)
            except FileNotFoundError:
                return
            root = uri.removesuffix(path)
            for name, info in infos.items():
                # some file systems put a slash before the bucket
                whole = name if path.startswith("/") else name.lstrip("/")
                if whole == path or (path.endswith("/") and whole.startswith(path)):
                    yield Entry(root + whole, _version(info))

    def put(self, path: Path, uri: str, *, overwrite: bool) -> None:
        """Write a file. fsspec cannot keep two writers of one file apart."""
        with _failures(uri, "written"):
            files, target = self.locate(uri)
            files.invalidate_cache()
            if not overwrite and files.exists(target):
                raise ObjectExistsError(f"{uri}: a file is there already")
            files.makedirs(target.rpartition("/")[0], exist_ok=True)
            files.put_file(str(path), target)
            if files.info(target)["size"] != path.stat().st_size:
                raise StorageError(f"{uri}: cannot be written: it did not arrive whole")


class GoogleCloud(FsspecPlace):
    """Buckets of Google Cloud Storage, by gcsfs."""

    protocol = "gs"
    client = "gcsfs"


class Azure(FsspecPlace):
    """Containers of Azure Blob Storage, by adlfs."""

    protocol = "az"
    client = "adlfs"


class Ssh(FsspecPlace):
    """Files of another machine, by paramiko: `ssh://[USER@]HOST[:PORT]/PATH`."""

    protocol = "ssh"
    client = "paramiko"

    @cached_property
    def _hosts(self) -> dict[str, Any]:
        return {}

    def locate(self, uri: str) -> tuple[Any, str]:
        """Return the file system of a host and the absolute path there."""
        from fsspec.utils import infer_storage_options

        host = uri.partition("://")[2].partition("/")[0]
        if host not in self._hosts:
            options = infer_storage_options(uri)
            known = options.keys() & {"host", "port", "username"}
            self._hosts[host] = self._open({name: options[name] for name in known})
        return self._hosts[host], uri.removeprefix(f"ssh://{host}")


def _version(info: Mapping[str, Any]) -> str:
    """Return what a file system says that changes with the content."""
    return " ".join(str(info[name]) for name in _CHANGING if info.get(name))


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
        raise StorageError(f"{cannot}: no such bucket or file") from None
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
