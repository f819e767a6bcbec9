"""Keeps runs in a store, such as a bucket, under the same names as in a folder.

The files of a run are written first, each only if it is not there, and `run.json` last,
only if it is not there: a folder without it is no run. What two writers of one run
write is equal but for times; where a file is there that is not equal, its writer is
waited for, and its file is removed when the writer seems to be dead.
"""

from __future__ import annotations

import re
import tempfile
import time
from pathlib import Path

from evalkit.errors import ObjectExistsError, StorageError
from evalkit.runs.evaluation_times import read_start
from evalkit.runs.folders import RUN_FILE, find_damage, read_record
from evalkit.runs.record import RunRecord
from evalkit.runs.repeats import record_of_repeat, what_differs
from evalkit.runs.storage import (
    LocalStorage,
    Published,
    RunContents,
    folder_name,
    write_run,
)
from evalkit.storage.fetched import FetchedPath
from evalkit.storage.fetching import fetch_folder, nothing_at
from evalkit.storage.finding import store_of
from evalkit.storage.places import is_remote, join, uri_of
from evalkit.storage.sending import refuse_offline
from evalkit.storage.stores import ALWAYS, IF_ABSENT, Store, StoredObject

_SCHEME_ALONE = re.compile(r"[a-z][a-z0-9+.-]*:")

RECORDS = (RUN_FILE, f"*/{RUN_FILE}", "*.evaluated/*")
"""Names of the files that tell which runs there are, from a folder of runs on."""

_EVALUATED = ".evaluated"

STALE_SECONDS = 60.0
"""How long the writer of a file is waited for that is in the way."""

_OLD_SECONDS = 3600.0
"""Age of such a file from which it is not waited for: no clocks differ so much."""

_WAIT_SECONDS = 0.5


class RemoteStorage:
    """Keeps runs below a URI.

    Args:
        root: The URI.
        stale_seconds: How long the writer of a file is waited for that is in the way.
    """

    def __init__(self, root: str | Path, stale_seconds: float = STALE_SECONDS) -> None:
        self._root = uri_of(root)
        self._stale_seconds = stale_seconds
        self._store: Store = store_of(self._root)

    def check(self) -> None:
        """Refuse a store in which two writers of a run could damage it.

        Raises:
            StorageError: It ignores conditions, or cannot be written to.
        """
        refuse_offline(self._root)
        if not self._store.honours_conditions(self._root):
            raise StorageError(
                f"{self._root}: runs cannot be kept here: the server ignores the "
                "condition that nothing is there yet (If-None-Match), so that two "
                "writers of one run would damage it. Write to a folder, and copy it"
            )

    def publish(self, contents: RunContents) -> Published:
        """Write a run if it is not there yet.

        Args:
            contents: The run. Where the run of its id is there already with
                other numbers, it becomes a run of its own, with another id.

        Returns:
            Where the run is, and as what; an earlier one with the same numbers is kept,
            and becomes the last evaluated one.

        Raises:
            StorageError: It cannot be written, the store ignores conditions, or the run
                that is there is damaged; nothing that passes for a run is left.
        """
        self.check()
        place = self._place(contents.record)
        record = self._write_new(place, contents)
        if record is None:
            differs = what_differs(self._whole(place), contents.record, contents.scores)
            if differs:
                repeat = record_of_repeat(contents.record, contents.scores, differs)
                contents = contents._replace(record=repeat)
                place = self._place(repeat)
                record = self._write_new(place, contents)
        there = self._whole(place)
        if record is not None:
            return Published(there, record)
        return Published(there, self._noted(place, contents.record), was_there=True)

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
            StorageError: It is damaged, cannot be written, or the run that is there is
                another one of its id.
        """
        if dry_run:
            refuse_offline(self._root)
        else:
            self.check()
        damage = find_damage(folder)
        if damage:
            raise StorageError(f"{folder}: is damaged: {damage[0]}")
        place = self._place(record)
        if self._store.stat(join(place, RUN_FILE)) is None and (
            dry_run or self._send(folder, place, record)
        ):
            return place, True
        there = self._whole(place)
        if (there / RUN_FILE).read_bytes() != (folder / RUN_FILE).read_bytes():
            raise StorageError(
                f"{place}: holds another evaluation of the same run, which is kept"
            )
        return place, False

    def _place(self, record: RunRecord) -> str:
        names = (folder_name(record.dataset), folder_name(record.run_id))
        return join(self._root, *names)

    def _whole(self, place: str) -> FetchedPath:
        """Return a copy of a run that is there; refuse one that is damaged."""
        folder = fetch_folder(place)
        if folder is None:
            raise StorageError(f"{place}: the run was removed while it was written")
        damage = find_damage(folder)
        if damage:
            raise StorageError(
                f"{place}: the run that is there is damaged, so this one cannot be "
                f"kept in its place: {damage[0]}. Move it away, or write elsewhere (-o)"
            )
        return folder

    def _write_new(self, place: str, contents: RunContents) -> RunRecord | None:
        """Write a run, unless it is there or another process is faster."""
        if self._store.stat(join(place, RUN_FILE)) is not None:
            return None
        with tempfile.TemporaryDirectory(prefix="evalkit-run-") as name:
            folder = Path(name)
            try:
                record = write_run(contents, folder)
            except OSError as error:
                reason = error.strerror or error
                raise StorageError(
                    f"{folder}: the run cannot be put together: {reason}"
                ) from error
            return record if self._send(folder, place, record) else None

    def _send(self, folder: Path, place: str, record: RunRecord) -> bool:
        """Send a run, `run.json` last; tell whether no other writer was faster."""
        run_file = join(place, RUN_FILE)
        sent = []
        for name, file in record.files.items():
            uri = join(place, name)
            found = self._send_file(folder / name, uri, file.sha256, run_file)
            if found is None:
                return False
            sent.append(found)
        for found in sent:  # another writer may have taken this one for a dead one
            now = self._store.stat(found.uri)
            if now is None or now.etag != found.etag:
                raise StorageError(
                    f"{found.uri}: was removed while the run was written, by another "
                    "writer of the same run: start again"
                )
        try:
            self._store.put(folder / RUN_FILE, run_file, IF_ABSENT)
        except ObjectExistsError:
            return False
        return True

    def _send_file(
        self, path: Path, uri: str, sha256: str, run_file: str
    ) -> StoredObject | None:
        """Send a file, unless an equal one is there; None where the run is whole."""
        waited = 0.0
        while True:
            try:
                return self._store.put(path, uri, IF_ABSENT, sha256=sha256)
            except ObjectExistsError:
                found = self._store.stat(uri)
            if found is not None and found.digest == f"sha256:{sha256}":
                return found
            if self._store.stat(run_file) is not None:
                return None
            if found is not None and self._is_left(found, waited):
                self._store.delete(uri)
                continue
            if found is None and waited > self._stale_seconds:
                raise StorageError(
                    f"{uri}: cannot be written: the server says that it is there, and "
                    "that it is not"
                )
            # its writer is at work; or it was removed just now
            time.sleep(_WAIT_SECONDS)
            waited += _WAIT_SECONDS

    def _is_left(self, found: StoredObject, waited: float) -> bool:
        """Tell whether the writer of a file that is in the way is taken for dead."""
        is_old = time.time() - found.modified > _OLD_SECONDS
        return is_old or waited > self._stale_seconds

    def _noted(self, place: str, record: RunRecord) -> RunRecord:
        """Note that a run was evaluated again."""
        started = read_start(record)
        if started is None:
            return record
        root, _, name = place.rpartition("/")
        with tempfile.TemporaryDirectory(prefix="evalkit-run-") as folder:
            note = Path(folder) / name
            note.write_text(f"{started}\n", encoding="utf-8")
            try:
                self._store.put(note, join(root, _EVALUATED, name), ALWAYS)
            except StorageError as error:
                warning = (
                    "the run was there already, and it cannot be noted that it was "
                    f"evaluated again ({error}): `latest` may be another one"
                )
                return record.changed(warnings=(*record.warnings, warning))
        return record


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
        StorageError: There is none, or the store ignores conditions.
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
