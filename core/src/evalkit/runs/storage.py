"""Writes run folders so that what looks like a run is a whole one.

A run is written to a hidden staging folder beside its place and moved there in one
step. A process that dies leaves at most a staging folder, which nothing reads.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TextIO

from evalkit.base.violations import json_value
from evalkit.errors import StorageError
from evalkit.runs.last_evaluations import note_evaluation, read_start
from evalkit.runs.parquet import write_parquet
from evalkit.runs.repeated_runs import own_run_id, what_differs
from evalkit.runs.statistics import STATISTICS_FOLDER, write_statistics

if TYPE_CHECKING:
    from evalkit.predictions.problems import Problem
    from evalkit.runs.contents import RunContents

RUN_FILE = "run.json"
EXAMPLES_FILE = "examples.parquet"
SCORES_FILE = "scores.parquet"
PROBLEMS_FILE = "problems.jsonl"
PERTURBED_FILE = "perturbed.parquet"


class Storage(Protocol):
    """Where runs are kept."""

    def publish(self, result: RunContents) -> Path:
        """Write a run if it is not there yet.

        Args:
            result: The result to write. Where the run of its id is there already with
                other numbers, it becomes a run of its own, with another id.

        Returns:
            Where the run is; an earlier one with the same numbers is kept, and becomes
            the last evaluated one.

        Raises:
            StorageError: It cannot be written; nothing that passes for a run is left.
        """


class LocalStorage:
    """Keeps runs in a folder of the file system.

    Args:
        root: The folder; made when first written to.
    """

    def __init__(self, root: Path) -> None:
        self._root = root

    def publish(self, result: RunContents) -> Path:
        """Write a run if it is not there yet (see `Storage.publish`)."""
        final = self._place(result)
        if _write_new(final, result):
            return final
        with _storage_errors(final):
            differs = what_differs(final / RUN_FILE, result)
        if differs:
            result.record_repeat(own_run_id(result), differs)
            final = self._place(result)
            if _write_new(final, result):
                return final
        result.was_there = True
        _note(final, result)
        return final

    def _place(self, result: RunContents) -> Path:
        return self._root / str(result.dataset) / result.run_id


def _write_new(final: Path, result: RunContents) -> bool:
    """Write a run, unless it is there or another process is faster."""
    with _storage_errors(final):
        if _is_run(final):
            return False
        with _staging(final) as staging:
            write_run(result, staging)
            return _move(staging, final)


def _note(final: Path, result: RunContents) -> None:
    """Note that a run was evaluated again, which a read-only folder does not let."""
    started = read_start(result.to_dict())
    if started is None:
        return
    try:
        note_evaluation(final, started)
    except OSError as error:
        result.record_warning(
            "the run was there already, and it cannot be noted that it was evaluated "
            f"again ({error.strerror or error}): `latest` may be another one"
        )


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
    staging.mkdir(parents=True)
    try:
        yield staging
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def write_run(result: RunContents, folder: Path) -> None:
    """Write the files of a run into a folder, `run.json` last.

    Args:
        result: The result.
        folder: An empty folder.
    """
    with ThreadPoolExecutor(2, "evalkit-writer") as threads:
        waiting = [
            threads.submit(_write_examples, result, folder),
            threads.submit(
                write_statistics, result.statistics, folder / STATISTICS_FOLDER
            ),
        ]
        write_parquet(result.frame, folder / SCORES_FILE)
        for future in waiting:
            future.result()
    with _open_text(folder / PROBLEMS_FILE) as stream:
        stream.writelines(map(problem_line, result.problems))
    with _open_text(folder / RUN_FILE) as stream:
        stream.write(_to_json(result.to_dict(), indent=2) + "\n")
        stream.flush()
        os.fsync(stream.fileno())


def _write_examples(result: RunContents, folder: Path) -> None:
    if result.examples is not None:
        write_parquet(result.examples, folder / EXAMPLES_FILE)
    if result.perturbed_examples is not None:
        write_parquet(result.perturbed_examples, folder / PERTURBED_FILE)


def problem_line(problem: Problem) -> str:
    """Give the line of `problems.jsonl` that a problem is written as."""
    row = problem._asdict()
    for name in ("replication", "file"):
        if row[name] is None:
            del row[name]
    row["violations"] = [
        {**found._asdict(), "value": json_value(found.value)}
        for found in problem.violations
    ]
    return _to_json(row) + "\n"


def _open_text(path: Path) -> TextIO:
    # half a surrogate pair, as in a file name that is not UTF-8, becomes JSON's \uXXXX
    return path.open("w", encoding="utf-8", errors="backslashreplace")


def _to_json(value: Any, indent: int | None = None) -> str:
    return json.dumps(
        value, ensure_ascii=False, indent=indent, allow_nan=False, default=str
    )


def _move(staging: Path, final: Path) -> bool:
    """Move a run to its place; say whether it was not there yet."""
    while not _renamed(staging, final):
        if _is_run(final):
            return False
        # a folder without run.json is no run: make room for the whole one
        leftover = final.with_name(f".{final.name}-{uuid.uuid4().hex[:8]}.leftover")
        try:
            final.rename(leftover)
        except FileNotFoundError:  # another process was faster
            continue
        if _is_run(leftover) and _renamed(leftover, final):  # it became one just now
            return False
        shutil.rmtree(leftover, ignore_errors=True)
    return True


def _renamed(folder: Path, final: Path) -> bool:
    """Rename a folder, unless something is there already."""
    try:
        folder.rename(final)
    except OSError as error:
        if error.errno not in (errno.EEXIST, errno.ENOTEMPTY):
            raise
        return False
    return True


def _is_run(folder: Path) -> bool:
    return (folder / RUN_FILE).is_file()
