"""Finds runs at a place such as a bucket, and sends them there."""

from __future__ import annotations

import re
from pathlib import Path

from evalkit.errors import ObjectExistsError, StorageError
from evalkit.places.access import (
    exists,
    local_folder,
    nothing_at,
    refuse_offline,
    refuse_present,
)
from evalkit.places.fetched import FetchedPath
from evalkit.places.names import is_remote, join, uri_of
from evalkit.runs.folders import RUN_FILE, find_damage, folder_name, read_record
from evalkit.runs.storage import send_files

_SCHEME_ALONE = re.compile(r"[a-z][a-z0-9+.-]*:")


def send_run(folder: Path, root: str, *, dry_run: bool = False) -> tuple[str, bool]:
    """Copy a run folder to a place, or to another folder of runs.

    Args:
        folder: The run folder.
        root: Path or URI of the folder that is to hold runs.
        dry_run: Look only, and write nothing.

    Returns:
        Where the run is, and whether it was written now; else it was there already.

    Raises:
        StorageError: It is no run, is damaged, cannot be written, or another
            evaluation of it is there.
    """
    folder = whole_run(runs_root(folder))
    record = read_record(folder)
    refuse_offline(root)
    damage = find_damage(folder)
    if damage:
        raise StorageError(f"{folder}: is damaged: {damage[0]}")
    place = join(root, folder_name(str(record.dataset)), folder.name)
    if not exists(join(place, RUN_FILE)):
        if not dry_run:
            check_place(root)
            send_files(folder, place, record)
        return place, True
    there = whole_run(runs_root(place))
    if (there / RUN_FILE).read_bytes() != (folder / RUN_FILE).read_bytes():
        raise StorageError(f"{place}: holds another run, which is kept")
    return place, False


def check_place(out: str | Path | None) -> None:
    """Refuse a place for runs that no plugin writes to, before anything is computed."""
    if out is None:
        return
    if _SCHEME_ALONE.fullmatch(str(out)):  # `s3://` as a path
        raise StorageError(f"{out}//: names no bucket: write {out}//BUCKET/FOLDER")
    if is_remote(str(out)):
        uri = uri_of(out).rstrip("/")
        refuse_offline(uri)
        try:
            refuse_present(uri, overwrite=False)
        except ObjectExistsError as error:
            raise StorageError(
                f"{uri}: is a file; runs are written to a folder"
            ) from error


def runs_root(folder: str | Path) -> Path:
    """Return a folder of runs; of a URI, the records are fetched."""
    if isinstance(folder, Path) and _SCHEME_ALONE.fullmatch(str(folder)):
        raise StorageError(f"{folder}//: names no bucket: write {folder}//BUCKET")
    if isinstance(folder, FetchedPath) or not is_remote(str(folder)):
        return folder if isinstance(folder, Path) else Path(folder)
    uri = uri_of(folder).rstrip("/").removesuffix(f"/{RUN_FILE}")
    found = local_folder(uri, lambda name: name.rpartition("/")[2] == RUN_FILE)
    return found or nothing_at(uri)


def whole_run(folder: Path) -> Path:
    """Return a run folder that holds all files, also where it is in a store."""
    if not isinstance(folder, FetchedPath):
        return folder
    return local_folder(folder.uri) or folder
