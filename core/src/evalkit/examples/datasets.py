"""The base class of data sets, and how it comes by its publisher's files."""

from __future__ import annotations

import os
import shutil
import sys
import uuid
from contextlib import suppress
from pathlib import Path

from evalkit.base.terms import Source
from evalkit.errors import DataError, StorageError
from evalkit.places.names import is_remote
from evalkit.plugins.classes import DatasetDefaults
from evalkit.plugins.sources import (
    OFFLINE_VARIABLE,
    cache_folder,
    is_offline,
    sha256_of,
)

DATA_FOLDER_VARIABLE = "EVALKIT_DATA_DIR"

_BY_POOCH = ("http:", "https:", "ftp:", "sftp:", "doi:")


class Dataset(DatasetDefaults):
    """A named collection of examples with splits.

    A subclass sets `task` and implements `load`. `evalkit.hookspecs.DatasetAttributes`
    says what each attribute means.

    Example:
        ```python
        class Greetings(evalkit.Dataset):
            name = "greetings"
            task = "sentiment"

            def load(self, split):
                return [{"uid": "1", "statement": "Hello!", "label": "positive"}]
        ```
    """

    def file(self, filename: str) -> Path:
        """Return the path of one of the publisher's files, fetching it if need be.

        Args:
            filename: A key of `sources`.

        Returns:
            The path of the local copy.

        Raises:
            DataError: The file is not there and cannot be fetched; the message says
                which file to put where.
        """
        if self.name is None or filename not in self.sources:
            raise DataError(
                f"{type(self).__name__} must set `name` and declare {filename!r} in "
                "`sources` before it asks for the file"
            )
        path = locate(self.name, filename, self.sources[filename])
        self.located_files = {**self.located_files, filename: path}
        return path


def locate(dataset: str, filename: str, source: Source) -> Path:
    """Find a file of a data set.

    Looks in `EVALKIT_DATA_DIR/<dataset>/`, then in the cache, else fetches it, unless
    `EVALKIT_OFFLINE` is set: from the web with a progress bar, and from a place such as
    `s3://` by the store that is installed for it. A file in the user's own folder
    is taken as it is; one in the cache must have the declared SHA-256.
    """
    data_folder = os.environ.get(DATA_FOLDER_VARIABLE)
    if data_folder:
        own = Path(data_folder) / dataset / filename
        if own.is_file():
            return own
    cached = cache_folder() / dataset / filename
    if cached.is_file():
        return _checked(cached, source)
    if is_remote(source.url) and not source.url.lower().startswith(_BY_POOCH):
        return _fetch_from_store(dataset, filename, source, cached)
    if is_offline():
        raise DataError(_how_to_provide(dataset, filename, source, "it is not there"))
    return _fetch(dataset, filename, source, cached)


def _checked(path: Path, source: Source) -> Path:
    if source.sha256:
        found = sha256_of(path)
        if found != source.sha256:
            raise DataError(
                f"{path}: its SHA-256 is {found}, declared is {source.sha256}; it is "
                f"not the publisher's file. Replace it with the one from {source.url}"
            )
    return path


def _fetch_from_store(
    dataset: str, filename: str, source: Source, cached: Path
) -> Path:
    """Fetch an object by the store of its scheme, and give it the file's name."""
    from evalkit.places.access import local_file, missing

    try:
        found = local_file(source.url)
        if found is None:
            raise StorageError(missing(source.url))
        come = Path(os.fspath(found)).resolve()
        sha256 = sha256_of(come) if source.sha256 else None
        if sha256 != source.sha256:
            raise StorageError(
                f"{source.url}: its SHA-256 is {sha256}, declared is {source.sha256}"
            )
        _link(come, cached)
    except (StorageError, DataError, OSError) as error:
        reason = f"fetching it failed: {error}"
        raise DataError(_how_to_provide(dataset, filename, source, reason)) from error
    return cached


def _link(come: Path, cached: Path) -> None:
    """Let a fetched object be found under another name too, in one step."""
    cached.parent.mkdir(parents=True, exist_ok=True)
    staging = cached.with_name(f".{cached.name}-{uuid.uuid4().hex[:8]}")
    try:
        try:
            os.link(come, staging)
        except OSError:  # a file system without links
            shutil.copyfile(come, staging)
        staging.replace(cached)
    finally:
        with suppress(OSError):
            staging.unlink(missing_ok=True)


def _fetch(dataset: str, filename: str, source: Source, cached: Path) -> Path:
    import pooch

    pooch.get_logger().setLevel("WARNING")
    try:
        pooch.retrieve(
            source.url,
            known_hash=source.sha256 and f"sha256:{source.sha256}",
            fname=cached.name,
            path=cached.parent,
            downloader=pooch.HTTPDownloader(progressbar=sys.stderr.isatty(), timeout=60)
            if source.url.startswith(("http://", "https://"))
            else None,
        )
    except Exception as error:
        reason = f"fetching it failed: {type(error).__name__}: {error}"
        raise DataError(_how_to_provide(dataset, filename, source, reason)) from error
    return cached


def _how_to_provide(dataset: str, filename: str, source: Source, reason: str) -> str:
    folder = os.environ.get(DATA_FOLDER_VARIABLE)
    wanted = Path(folder) / dataset / filename if folder else None
    place = (
        f"put it at {wanted}"
        if wanted
        else f"set {DATA_FOLDER_VARIABLE} to a folder FOLDER and put it at "
        f"FOLDER/{dataset}/{filename}"
    )
    offline = (
        f", or unset {OFFLINE_VARIABLE} to have it fetched" if is_offline() else ""
    )
    return (
        f"data set {dataset} needs the file {filename} ({reason}). Get it from "
        f"{source.url} and {place}{offline}"
    )
