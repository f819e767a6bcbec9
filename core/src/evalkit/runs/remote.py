"""Keeps runs in a store, such as a bucket, under the same names as in a folder.

The files of a run are written first and `run.json` last: a folder without it is not a
run.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

from evalkit.errors import ObjectExistsError, StorageError
from evalkit.runs.folders import RUN_FILE, find_damage, folder_name, read_record
from evalkit.runs.record import RunRecord
from evalkit.runs.storage import (
    LocalStorage,
    Published,
    RunContents,
    run_names,
    write_run,
)
from evalkit.storage.fetched import FetchedPath
from evalkit.storage.fetching import fetch_folder, nothing_at
from evalkit.storage.finding import store_of
from evalkit.storage.places import is_remote, join, parse_place, uri_of
from evalkit.storage.sending import refuse_offline
from evalkit.storage.stores import IF_ABSENT, Store

_SCHEME_ALONE = re.compile(r"[a-z][a-z0-9+.-]*:")

RECORDS = (RUN_FILE, f"*/{RUN_FILE}")
"""Names of the files that tell which runs there are, from a folder of runs on."""


class RemoteStorage:
    """Keeps runs below a URI.

    Args:
        root: The URI.
    """

    def __init__(self, root: str | Path) -> None:
        self._root = uri_of(root)
        self._store: Store = store_of(self._root)

    def check(self) -> None:
        """Refuse a place that runs cannot be written to.

        Raises:
            StorageError: The store cannot be written to, or a file is there.
        """
        refuse_offline(self._root)
        place = parse_place(self._root.rstrip("/"))
        if place.key and self._store.stat(place.uri) is not None:
            raise StorageError(f"{place.uri}: is a file; runs are written to a folder")

    def publish(self, contents: RunContents) -> Published:
        """Write a run into a folder of its own.

        Args:
            contents: The run.

        Returns:
            Where the run is, and its record.

        Raises:
            StorageError: It cannot be written; nothing that passes for a run is left.
        """
        self.check()
        record = contents.record
        names = (self._place(record, name) for name in run_names(record))
        place = next(name for name in names if not self._is_run(name))
        with tempfile.TemporaryDirectory(prefix="evalkit-run-") as name:
            folder = Path(name)
            try:
                record = write_run(contents, folder)
            except OSError as error:
                reason = error.strerror or error
                raise StorageError(
                    f"{folder}: the run cannot be put together: {reason}"
                ) from error
            self._send(folder, place, record)
        there = fetch_folder(place)
        if there is None:
            raise StorageError(f"{place}: the run was removed while it was written")
        return Published(there, record)

    def send(
        self, folder: Path, record: RunRecord, *, dry_run: bool = False
    ) -> tuple[str, bool]:
        """Write a run that is in a folder, as it is there.

        Args:
            folder: The run folder.
            record: Its record.
            dry_run: Look only, and write nothing.

        Returns:
            Where the run is, and whether it is written now; else it was there already,
            with the same record.

        Raises:
            StorageError: It is damaged, cannot be written, or another run is there.
        """
        if dry_run:
            refuse_offline(self._root)
        else:
            self.check()
        damage = find_damage(folder)
        if damage:
            raise StorageError(f"{folder}: is damaged: {damage[0]}")
        place = self._place(record, folder.name)
        if not self._is_run(place):
            if not dry_run:
                self._send(folder, place, record)
            return place, True
        there = fetch_folder(place)
        written = (folder / RUN_FILE).read_bytes()
        if there is None or (there / RUN_FILE).read_bytes() != written:
            raise StorageError(f"{place}: holds another run, which is kept")
        return place, False

    def _place(self, record: RunRecord, name: str) -> str:
        return join(self._root, folder_name(str(record.dataset)), name)

    def _is_run(self, place: str) -> bool:
        return self._store.stat(join(place, RUN_FILE)) is not None

    def _send(self, folder: Path, place: str, record: RunRecord) -> None:
        """Send a run, `run.json` last."""
        digests = {name: file.sha256 for name, file in record.files.items()}
        for name in (*digests, RUN_FILE):
            uri = join(place, name)
            sha256 = digests.get(name)
            try:
                self._store.put(folder / name, uri, IF_ABSENT, sha256=sha256)
            except ObjectExistsError as error:
                found = self._store.stat(uri)
                is_equal = found is not None and found.digest == f"sha256:{sha256}"
                if not is_equal:  # else an interrupted upload left it
                    raise StorageError(
                        f"{uri}: another file is there. Remove it, or write elsewhere"
                    ) from error


def send_run(folder: Path, root: str, *, dry_run: bool = False) -> tuple[str, bool]:
    """Copy a run folder to a store.

    Args:
        folder: The run folder.
        root: URI of the folder that is to hold runs.
        dry_run: Look only, and write nothing.

    Returns:
        Where the run is, and whether it was written now; else it was there already.

    Raises:
        StorageError: It is no run, is damaged, cannot be written, or another
            evaluation of it is there.
    """
    folder = whole_run(runs_root(folder))
    record, _ = read_record(folder)
    return RemoteStorage(root).send(folder, record, dry_run=dry_run)


def storage_at(root: str | Path) -> LocalStorage | RemoteStorage:
    """Return what keeps runs in a folder.

    Args:
        root: The folder, or the URI of one.
    """
    return RemoteStorage(root) if is_remote(str(root)) else LocalStorage(Path(root))


def check_place(out: str | Path | None) -> None:
    """Refuse a place for runs that no plugin writes to, before anything is computed.

    Args:
        out: A folder, or a URI; None for no place.

    Raises:
        PluginError: The plugin of the URI's scheme is broken.
        StorageError: There is none, the store ignores conditions, or a file is there.
    """
    if out is None:
        return
    if _SCHEME_ALONE.fullmatch(str(out)):  # `s3://` as a path
        raise StorageError(f"{out}//: names no bucket: write {out}//BUCKET/FOLDER")
    if is_remote(str(out)):
        RemoteStorage(out).check()


def runs_root(folder: str | Path) -> Path:
    """Return a folder of runs of which the records can be read.

    Args:
        folder: A folder, or the URI of one, of which the records are fetched.

    Raises:
        PluginError: The plugin of the URI's scheme is broken.
        StorageError: It cannot be fetched.
    """
    if isinstance(folder, Path) and _SCHEME_ALONE.fullmatch(str(folder)):
        raise StorageError(f"{folder}//: names no bucket: write {folder}//BUCKET")
    if isinstance(folder, FetchedPath) or not is_remote(str(folder)):
        return folder if isinstance(folder, Path) else Path(folder)
    uri = uri_of(folder).rstrip("/").removesuffix(f"/{RUN_FILE}")
    found = fetch_folder(uri, RECORDS)
    return nothing_at(uri) if found is None else found


def whole_run(folder: Path) -> Path:
    """Return a run folder that holds all files, also where it is in a store.

    Args:
        folder: The folder, of which a fetched one may hold the record alone.

    Raises:
        StorageError: It cannot be fetched.
    """
    if not isinstance(folder, FetchedPath):
        return folder
    return fetch_folder(folder.uri) or folder
