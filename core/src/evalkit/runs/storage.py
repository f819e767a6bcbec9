"""Writes run folders so that what looks like a run is a whole one.

A run is written to a hidden staging folder beside its place and moved there in one
step. A process that dies leaves at most a staging folder, which nothing reads and the
next one removes: it is locked by the process that writes it. A result is compared with
the run of its id that is there already.
"""

from __future__ import annotations

import errno
import fcntl
import io
import os
import shutil
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from evalkit.base.synced_files import make_folder, sync_folder
from evalkit.base.violations import json_value, shorten
from evalkit.errors import StorageError
from evalkit.runs.digests import sealed, to_json, write_file
from evalkit.runs.evaluation_times import note_evaluation, read_start
from evalkit.runs.folders import (
    COLUMNS_FOLDER,
    EXAMPLES_FILE,
    PROBLEMS_FILE,
    RUN_FILE,
    SCORES_FILE,
    STATISTICS_FOLDER,
    find_damage,
    is_run,
    read_record,
    statistics_file,
)
from evalkit.runs.record import RunRecord
from evalkit.runs.recorded import FileDigest
from evalkit.runs.repeats import record_of_repeat, what_differs
from evalkit.runs.score_columns import Score, scores_frame

if TYPE_CHECKING:
    import polars as pl

    from evalkit.predictions.problems import Problem


_STALE_SECONDS = 60


class RunContents(NamedTuple):
    """What a run folder holds."""

    record: RunRecord
    scores: Sequence[Score]
    problems: Iterable[Problem]
    """Every row or example that was not scored."""
    examples: pl.DataFrame | None
    """One row for each example."""
    statistics: Mapping[str, pl.DataFrame]
    """The statistics of each metric, by its name."""
    column_details: Mapping[str, pl.DataFrame] = {}
    """The details of computed columns, by the name of what computed them."""
    tables: Mapping[str, pl.DataFrame] = {}
    """Tables that an analysis adds, by file name."""


class Published(NamedTuple):
    """What became of a run that was to be written."""

    path: Path
    """The run folder."""
    record: RunRecord
    """What the run records now: of a repeat with other numbers, or with a warning."""
    was_there: bool = False
    """Whether the same run was there already, and was kept."""


class LocalStorage:
    """Keeps runs in a folder of the file system.

    Args:
        root: The folder; made when first written to.
    """

    def __init__(self, root: Path) -> None:
        self._root = root

    def publish(self, contents: RunContents) -> Published:
        """Write a run if it is not there yet.

        Args:
            contents: The run. Where the run of its id is there already with
                other numbers, it becomes a run of its own, with another id.

        Returns:
            Where the run is, and as what; an earlier one with the same numbers is kept,
            and becomes the last evaluated one. One whose files are damaged is moved
            aside and written anew, which the record warns of.

        Raises:
            StorageError: It cannot be written; nothing that passes for a run is left.
        """
        final = self._place(contents.record)
        record = _write_new(final, contents) or _repaired(final, contents)
        if record is not None:
            return Published(final, record)
        with _storage_errors(final):
            differs = what_differs(final, contents.record, contents.scores)
        if differs:
            repeat = record_of_repeat(contents.record, contents.scores, differs)
            contents = contents._replace(record=repeat)
            final = self._place(repeat)
            record = _write_new(final, contents) or _repaired(final, contents)
            if record is not None:
                return Published(final, record)
        return Published(final, _noted(final, contents.record), was_there=True)

    def _place(self, record: RunRecord) -> Path:
        return self._root / folder_name(record.dataset) / folder_name(record.run_id)


def folder_name(name: str | None) -> str:
    """Return a name where it becomes a path: records may be edited or of others.

    Args:
        name: Name of a data set, or id of a run.

    Raises:
        StorageError: It is no name of one folder.
    """
    if not name or name[0] == "." or "/" in name or "\0" in name or not _encodes(name):
        raise StorageError(
            f"a run cannot be kept under the name {shorten(name)}: it would be no "
            "folder of its own in the folder of runs"
        )
    return name


def _encodes(name: str) -> bool:
    try:
        os.fsencode(name)
    except UnicodeEncodeError:
        return False
    return True


def _write_new(final: Path, contents: RunContents) -> RunRecord | None:
    """Write a run, unless it is there or another process is faster."""
    with _storage_errors(final):
        if is_run(final):
            return None
        with _staging(final) as staging:
            record = write_run(contents, staging)
            return record if _move(staging, final) else None


def _repaired(final: Path, contents: RunContents) -> RunRecord | None:
    """Write a run anew that is there and damaged; None where it is whole."""
    damage = find_damage(final)
    if not damage:
        return None
    aside = final.with_name(f".{final.name}-{uuid.uuid4().hex[:8]}.damaged")
    warning = (
        f"the run was there and damaged, so it was written anew; what was there is now "
        f"in {aside.name}: {damage[0]}"
    )
    record = contents.record
    record = record.changed(warnings=(*record.warnings, warning))
    with _storage_errors(final), _staging(final) as staging:
        record = write_run(contents._replace(record=record), staging)
        final.rename(aside)
        return record if _move(staging, final) else None


def _noted(final: Path, record: RunRecord) -> RunRecord:
    """Note that a run was evaluated again, which a read-only folder does not let."""
    record = record.changed(files=read_record(final)[0].files)
    started = read_start(record)
    if started is not None:
        try:
            note_evaluation(final, started)
        except OSError as error:
            warning = (
                "the run was there already, and it cannot be noted that it was "
                f"evaluated again ({error.strerror or error}): `latest` may be another "
                "one"
            )
            return record.changed(warnings=(*record.warnings, warning))
    return record


@contextmanager
def _storage_errors(final: Path) -> Iterator[None]:
    from polars.exceptions import PolarsError

    try:
        yield
    except (OSError, PolarsError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise StorageError(f"the run {final} cannot be written: {reason}") from error


@contextmanager
def _staging(final: Path) -> Iterator[Path]:
    staging = final.with_name(f".{final.name}-{uuid.uuid4().hex[:8]}.partial")
    try:
        make_folder(staging)
        with _locked(staging) as is_locked:
            if is_locked:
                _remove_stale(staging.parent)
            yield staging
    finally:
        shutil.rmtree(staging, ignore_errors=True)


@contextmanager
def _locked(folder: Path) -> Iterator[bool]:
    """Lock a folder, as long as its process lives; tell whether nobody else has it."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:  # somebody has it, or the file system has no locks
            yield False
        else:
            yield True
    finally:
        os.close(descriptor)


def _remove_stale(folder: Path) -> None:
    """Remove what processes left that died while they were writing a run."""
    for path in folder.glob(".*.partial"):
        with suppress(OSError):
            # one that is new may not have been locked yet
            if time.time() - path.stat().st_mtime < _STALE_SECONDS:
                continue
            with _locked(path) as is_left:
                if is_left:
                    shutil.rmtree(path)


def write_run(contents: RunContents, folder: Path) -> RunRecord:
    """Write the files of a run into a folder, `run.json` last.

    Args:
        contents: What to write.
        folder: An empty folder.

    Returns:
        The record as it was written, which holds what the other files are.
    """
    tables = [
        (SCORES_FILE, scores_frame(contents.scores)),
        (EXAMPLES_FILE, contents.examples),
        *contents.tables.items(),
        *_named(STATISTICS_FOLDER, contents.statistics),
        *_named(COLUMNS_FOLDER, contents.column_details),
    ]
    written = {name: frame for name, frame in tables if frame is not None}
    for parent in dict.fromkeys((folder / name).parent for name in written):
        parent.mkdir(exist_ok=True)
    lines = map(problem_line, contents.problems)
    # half a surrogate pair, as in a file name that is not UTF-8, becomes JSON's \uXXXX
    encoded = (line.encode("utf-8", "backslashreplace") for line in lines)
    with ThreadPoolExecutor(2, "evalkit-writer") as threads:
        waiting = {
            name: threads.submit(write_parquet, frame, folder / name)
            for name, frame in written.items()
        }
        problems = write_file(folder / PROBLEMS_FILE, encoded)
        files = {name: future.result() for name, future in waiting.items()}
    files = {PROBLEMS_FILE: problems, **files}
    record = contents.record.changed(files=dict(sorted(files.items())))
    write_file(folder / RUN_FILE, [sealed(record.with_scores(contents.scores))])
    for parent in dict.fromkeys((folder / name).parent for name in (*files, RUN_FILE)):
        sync_folder(parent)
    return record


def _named(
    folder: str, tables: Mapping[str, pl.DataFrame]
) -> Iterator[tuple[str, pl.DataFrame]]:
    """Return the tables of plugins by their path in the run folder."""
    for name, frame in tables.items():
        yield f"{folder}/{statistics_file(name)}", frame


def write_parquet(frame: pl.DataFrame, path: Path) -> FileDigest:
    """Write a table.

    Args:
        frame: The table.
        path: Where to.

    Returns:
        Size and SHA-256 of what was written.

    Raises:
        OSError: It cannot be written, with the system's reason, which polars loses
            where it writes the file itself.
    """
    packed = io.BytesIO()
    # nobody filters these files by statistics, and level 1 packs as well as 3
    frame.write_parquet(packed, compression_level=1, statistics=False)
    return write_file(path, [packed.getbuffer()])


def problem_line(problem: Problem) -> str:
    """Return the line of `problems.jsonl` that a problem is written as."""
    row = problem._asdict()
    for name in ("replication", "file", "metric", "reason"):
        if row[name] is None:
            del row[name]
    row["violations"] = [
        {**found._asdict(), "value": json_value(found.value)}
        for found in problem.violations
    ]
    return to_json(row) + "\n"


def _move(staging: Path, final: Path) -> bool:
    """Move a run to its place; say whether it was not there yet."""
    while not _renamed(staging, final):
        if is_run(final):
            return False
        # a folder without run.json is no run: make room for the whole one
        leftover = final.with_name(f".{final.name}-{uuid.uuid4().hex[:8]}.leftover")
        try:
            final.rename(leftover)
        except FileNotFoundError:  # another process was faster
            continue
        if is_run(leftover) and _renamed(leftover, final):  # it became one just now
            return False
        shutil.rmtree(leftover, ignore_errors=True)
    return True


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
