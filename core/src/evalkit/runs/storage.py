"""Writes run folders so that what looks like a run is a whole one.

A run is written to a hidden staging folder beside its place and moved there in one
step. A process that dies leaves at most a staging folder, which nothing reads.
"""

from __future__ import annotations

import errno
import io
import shutil
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalkit.base.synced_files import make_folder, sync_folder
from evalkit.base.violations import json_value
from evalkit.errors import StorageError
from evalkit.predictions.problems import Problem, Problems
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


class RunContents:
    """What a run folder holds."""

    def __init__(
        self,
        record: RunRecord | Mapping[str, Any],
        scores: Sequence[Score],
        problems: Iterable[Problem],
        examples: pl.DataFrame | None,
        statistics: Mapping[str, pl.DataFrame] | None = None,
        column_details: Mapping[str, pl.DataFrame] | None = None,
    ) -> None:
        self._record = RunRecord.model_validate(record)
        self.statistics = dict(statistics or {})
        self.scores = tuple(scores)
        self.problems = (
            problems if isinstance(problems, Problems) else Problems(problems)
        )
        self.examples = examples
        self.column_details = dict(column_details or {})
        self.responses_of: Callable[[], pl.DataFrame | None] = lambda: None
        self.tables: dict[str, pl.DataFrame] = {}
        """Tables that an analysis adds to the run folder, by file name."""
        self.perturbed: list[Any] | None = []
        self.path: Path | None = None
        """The run folder, once it has been saved."""

    @cached_property
    def responses(self) -> pl.DataFrame | None:
        """The rows of predictions as they came, before adapters and extractors.

        None for a run without examples, and for one that was made of others.
        """
        return self.responses_of()

    @property
    def record(self) -> RunRecord:
        """All that `run.json` holds but the scores."""
        return self._record


def publish_here(run: RunContents, root: Path) -> tuple[Path, RunRecord]:
    """Write a run into a new folder below a folder, which is made where needed.

    Returns:
        The run folder, and the record as it was written.

    Raises:
        StorageError: It cannot be written; nothing that passes for a run is left.
    """
    parent = root / folder_name(str(run.record.dataset))
    names = run_names(run.record)
    final = parent / next(names)
    with _storage_errors(final), _staging(final) as staging:
        record = write_run(run, staging)
        while not _renamed(staging, final):
            final = parent / next(names)
    return final, record


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
        yield staging
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def write_run(run: RunContents, folder: Path) -> RunRecord:
    """Write the files of a run into an empty folder, `run.json` last.

    Returns:
        The record as it was written, which holds what the other files are.
    """
    tables = [
        (SCORES_FILE, scores_frame(run.scores)),
        (EXAMPLES_FILE, run.examples),
        (RESPONSES_FILE, run.responses),
        *run.tables.items(),
        *_named(STATISTICS_FOLDER, run.statistics),
        *_named(COLUMNS_FOLDER, run.column_details),
    ]
    written = {name: frame for name, frame in tables if frame is not None}
    for parent in dict.fromkeys((folder / name).parent for name in written):
        parent.mkdir(exist_ok=True)
    lines = map(problem_line, run.problems)
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
    record = run.record.changed(files=dict(sorted(files.items())))
    text = to_json(record.with_scores(run.scores), indent=2) + "\n"
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
    for name in ("replication", "metric", "reason"):
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
