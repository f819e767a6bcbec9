"""A folder that is written whole or not at all."""

from __future__ import annotations

import errno
import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from evalkit.catalog import MANIFEST_FILE, read_manifest
from evalkit.errors import DataError, StorageError


@contextmanager
def new_folder(final: Path, *, overwrite: bool) -> Iterator[Path]:
    """Make a folder beside its place, hidden, and move it there when it is whole."""
    final = final.resolve()
    _refuse_inner(final)
    _refuse_other(final, overwrite)
    staging = final.with_name(f".{final.name}-{uuid.uuid4().hex[:8]}.partial")
    try:
        staging.mkdir(parents=True)
        yield staging
        for path in staging.rglob("*"):
            if path.is_file():
                with path.open("rb") as stream:
                    os.fsync(stream.fileno())
        _publish(staging, final, overwrite)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise StorageError(
            f"{final}: cannot be written: {reason}; what was there before is unchanged"
        ) from error
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def leftovers(final: Path) -> list[Path]:
    """Return hidden folders of writes to a place that did not end, or still run."""
    final = final.resolve()
    return sorted(final.parent.glob(f".{final.name}-*.partial"))


def _refuse_inner(final: Path) -> None:
    """Refuse a place in another data set, which would hold files that it has not."""
    for folder in final.parents:
        if (folder / MANIFEST_FILE).is_file():
            raise StorageError(
                f"{final}: is in the data set {folder} (it holds {MANIFEST_FILE}); "
                "name a folder outside of it"
            )


def _refuse_other(final: Path, overwrite: bool) -> None:
    """Refuse a place that is taken, unless by a data set that may be replaced."""
    try:
        if not os.path.lexists(final):
            return
        found = {path for path in final.rglob("*") if not path.is_dir()}
    except OSError as error:
        raise StorageError(f"{final}: cannot be read: {error.strerror}") from error
    if not final.is_dir():
        raise StorageError(f"{final}: is a file; name a folder")
    if not found:
        return
    if final / MANIFEST_FILE not in found:
        raise StorageError(f"{final}: is a folder with other files, and no data set")
    if not overwrite:
        raise StorageError(f"{final}: is there already; --overwrite replaces it")
    try:
        files = read_manifest(final).files
    except DataError as error:
        raise StorageError(f"{error}; so it is not replaced") from error
    others = found - {final / MANIFEST_FILE, *(final / file.path for file in files)}
    if others:
        raise StorageError(f"{min(others)}: is no file of the data set; move it away")


def _publish(staging: Path, final: Path, overwrite: bool) -> None:
    """Move a folder to its place, also where another one is replaced."""
    try:
        staging.rename(final)
        return
    except OSError as error:
        if error.errno not in (errno.EEXIST, errno.ENOTEMPTY):
            raise
    if not overwrite:
        raise StorageError(f"{final}: another process wrote it meanwhile")
    _refuse_other(final, overwrite)
    # a process that dies between these two steps leaves the old one in a hidden folder
    aside = staging.with_name(f"{staging.stem}-old.partial")
    final.rename(aside)
    try:
        staging.rename(final)
    except OSError:
        aside.rename(final)
        raise
    shutil.rmtree(aside, ignore_errors=True)
