"""Writes run folders so that what looks like a run is a whole one.

On this machine a run is written to a hidden staging folder beside its place and moved
there in one step: a process that dies leaves at most a staging folder, which nothing
reads. At a place such as a bucket `run.json` is written last: a folder without it is
not a run.
"""

from __future__ import annotations

import errno
import io
import re
import shutil
import uuid
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

from evalkit.base.files import make_folder, sync_folder, write_synced
from evalkit.base.json_text import dumps
from evalkit.base.violations import json_value
from evalkit.errors import ObjectExistsError, StorageError
from evalkit.places.access import (
    exists,
    local_folder,
    nothing_at,
    put,
    refuse_offline,
    refuse_present,
)
from evalkit.places.names import FetchedPath, is_remote, join, uri_of
from evalkit.predictions.problems import Problem
from evalkit.runs.folders import (
    PROBLEMS_FILE,
    RUN_FILE,
    find_damage,
    folder_name,
    read_record,
    run_folder_name,
)
from evalkit.runs.record import RunRecord
from evalkit.runs.recorded import FileDigest
from evalkit.runs.score_columns import Score

if TYPE_CHECKING:
    import polars as pl


class RunContents(NamedTuple):
    """What a run folder holds."""

    record: RunRecord
    headline: Score | None
    problems: Iterable[Problem]
    tables: Mapping[str, pl.DataFrame]
    """All tables, by their path in the folder."""


def publish(run: RunContents, root: str | Path) -> tuple[Path, RunRecord]:
    """Write a run into a folder of its own, below a folder or the URI of one.

    Returns:
        The run folder, and the record as it was written.

    Raises:
        StorageError: It cannot be written; nothing that passes for a run is left.
    """
    dataset = folder_name(str(run.record.dataset))
    names = _names(run.record)
    if is_remote(str(root)):
        return _publish_there(run, join(uri_of(root), dataset), names)
    parent = Path(root) / dataset
    final = parent / next(names)
    with _storage_errors(f"the run {final} cannot be written"), _staging(final) as here:
        record = _write(run, here)
        while not _renamed(here, final):
            final = parent / next(names)
    return final, record


def _publish_there(
    run: RunContents, parent: str, names: Iterator[str]
) -> tuple[Path, RunRecord]:
    with TemporaryDirectory(prefix="evalkit-run-") as name:
        with _storage_errors(f"{name}: the run cannot be put together"):
            record = _write(run, Path(name))
        place = join(parent, next(names))
        while not _sent(Path(name), place, record):
            place = join(parent, next(names))
    written = local_folder(place)
    if written is None:
        raise StorageError(f"{place}: the run was removed while being written")
    return written, record


def _names(record: RunRecord) -> Iterator[str]:
    """Yield names for a run's folder, each a millisecond later than the one before."""
    timings = record.timings
    now = datetime.now(UTC)
    started = now if timings is None else datetime.fromisoformat(timings.started)
    while True:
        yield run_folder_name(record, started)
        started += timedelta(milliseconds=1)


@contextmanager
def _storage_errors(what: str) -> Iterator[None]:
    from polars.exceptions import PolarsError

    try:
        yield
    except (OSError, PolarsError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise StorageError(f"{what}: {reason}") from error


@contextmanager
def _staging(final: Path) -> Iterator[Path]:
    staging = final.with_name(f".{final.name}-{uuid.uuid4().hex[:8]}.partial")
    try:
        make_folder(staging)
        yield staging
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _renamed(folder: Path, final: Path) -> bool:
    """Rename a folder, unless something is there already."""
    try:
        folder.rename(final)
        (final / RUN_FILE).stat()  # a plugin may have replaced `os.rename`
        sync_folder(final.parent)
    except OSError as error:
        if error.errno not in (errno.EEXIST, errno.ENOTEMPTY):
            raise
        return False
    return True


def _sent(folder: Path, place: str, record: RunRecord) -> bool:
    """Send a run folder to a place, unless a run is there already."""
    try:
        if not exists(join(place, RUN_FILE)):
            send_files(folder, place, record)
            return True
    except ObjectExistsError:  # another process wrote a run of this name meanwhile
        pass
    return False


def send_files(folder: Path, place: str, record: RunRecord) -> None:
    """Write the files of a run folder to a place, `run.json` last."""
    for name in (*record.files, RUN_FILE):
        put(folder / name, join(place, name))


def _write(run: RunContents, folder: Path) -> RunRecord:
    """Write the files of a run into an empty folder, `run.json` last."""
    for parent in dict.fromkeys((folder / name).parent for name in run.tables):
        parent.mkdir(exist_ok=True)
    with ThreadPoolExecutor(2, "evalkit-writer") as threads:
        waiting = {
            name: threads.submit(write_parquet, frame, folder / name)
            for name, frame in run.tables.items()
        }
        lines = map(problem_line, run.problems)
        problems = write_file(folder / PROBLEMS_FILE, map(_encoded, lines))
        files = {name: future.result() for name, future in waiting.items()}
    files[PROBLEMS_FILE] = problems
    record = run.record.changed(
        files=dict(sorted(files.items())), headline_score=run.headline
    )
    text = _json(record.to_dict(), indent=2) + "\n"
    write_file(folder / RUN_FILE, [_encoded(text)])
    for parent in dict.fromkeys((folder / name).parent for name in (*files, RUN_FILE)):
        sync_folder(parent)
    return record


def _encoded(text: str) -> bytes:
    """Encode JSON; half a surrogate pair, as in a file name, is escaped."""
    return text.encode("utf-8", "backslashreplace")


def _json(value: Any, indent: int | None = None) -> str:
    return dumps(value, ensure_ascii=False, indent=indent, allow_nan=False, default=str)


def write_file(path: Path, chunks: Iterable[bytes | memoryview]) -> FileDigest:
    """Write a new file, through no symlink, that is there after a loss of power."""
    size, sha256 = write_synced(path, chunks)
    return FileDigest(size=size, sha256=sha256)


def write_parquet(frame: pl.DataFrame, path: Path) -> FileDigest:
    """Write a table; raise OSError with the system's reason, which polars loses."""
    packed = io.BytesIO()
    # nobody filters these files by statistics, and level 1 packs as well as 3
    frame.write_parquet(packed, compression_level=1, statistics=False)
    return write_file(path, [packed.getbuffer()])


def problem_line(problem: Problem) -> str:
    """Return the line of `problems.jsonl` that a problem is written as."""
    row = problem._asdict()
    for name in ("replication", "metric", "reason"):
        if row[name] is None:
            del row[name]
    row["violations"] = [
        {**found._asdict(), "value": json_value(found.value)}
        for found in problem.violations
    ]
    return _json(row) + "\n"


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
