"""Writes run folders so that what looks like a run is a whole one.

A run is written to a hidden staging folder beside its place and moved there in one
step. A process that dies leaves at most a staging folder, which nothing reads and the
next one removes: it is locked by the process that writes it.
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
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from evalkit.base.synced_files import make_folder, sync_folder
from evalkit.base.violations import json_value
from evalkit.errors import StorageError
from evalkit.runs.digests import to_json, write_file
from evalkit.runs.folders import (
    COLUMNS_FOLDER,
    EXAMPLES_FILE,
    PROBLEMS_FILE,
    RESPONSES_FILE,
    RUN_FILE,
    SCORES_FILE,
    STATISTICS_FOLDER,
    folder_name,
    run_folder_name,
    statistics_file,
)
from evalkit.runs.record import RunRecord
from evalkit.runs.recorded import FileDigest
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
    responses: pl.DataFrame | None = None
    """The rows of predictions as they came."""
    tables: Mapping[str, pl.DataFrame] = {}
    """Tables that an analysis adds, by file name."""


class Published(NamedTuple):
    """A run that was written."""

    path: Path
    """The run folder."""
    record: RunRecord
    """The record as it was written."""


class LocalStorage:
    """Keeps runs in a folder of the file system.

    Args:
        root: The folder; made when first written to.
    """

    def __init__(self, root: Path) -> None:
        self._root = root

    def publish(self, contents: RunContents) -> Published:
        """Write a run into a folder of its own.

        Args:
            contents: The run.

        Returns:
            Where the run is, and its record.

        Raises:
            StorageError: It cannot be written; nothing that passes for a run is left.
        """
        parent = self._root / folder_name(str(contents.record.dataset))
        names = run_names(contents.record)
        final = parent / next(names)
        with _storage_errors(final), _staging(final) as staging:
            record = write_run(contents, staging)
            while not _renamed(staging, final):
                final = parent / next(names)
        return Published(final, record)


def run_names(record: RunRecord) -> Iterator[str]:
    """Return names for a run's folder; a later one where an earlier one is taken.

    Args:
        record: What the run recorded.

    Yields:
        `<UTC time>-<model>-<8 hex>`, each a millisecond later than the one before.
    """
    timings = record.timings
    now = datetime.now(UTC)
    started = now if timings is None else datetime.fromisoformat(timings.started)
    while True:
        yield run_folder_name(record, started)
        started += timedelta(milliseconds=1)


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
        (RESPONSES_FILE, contents.responses),
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
    text = to_json(record.with_scores(contents.scores), indent=2) + "\n"
    # half a surrogate pair, as in a file name that is not UTF-8, is escaped
    write_file(folder / RUN_FILE, [text.encode("utf-8", "backslashreplace")])
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
