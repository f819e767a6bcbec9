"""Writes run folders so that what looks like a run is a whole one.

A run is written to a hidden staging folder beside its place and moved there in one
step. A process that dies leaves at most a staging folder, which nothing reads.
"""

from __future__ import annotations

import errno
import json
import math
import os
import shutil
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TextIO

from evalkit.errors import StorageError
from evalkit.parquet_files import write_parquet
from evalkit.run_statistics import STATISTICS_FOLDER, write_statistics
from evalkit.violations import json_value

if TYPE_CHECKING:
    from evalkit.problems import Problem
    from evalkit.results import Result

RUN_FILE = "run.json"
EXAMPLES_FILE = "examples.parquet"
SCORES_FILE = "scores.parquet"
PROBLEMS_FILE = "problems.jsonl"
PERTURBED_FILE = "perturbed.parquet"


class Storage(Protocol):
    """Where runs are kept."""

    def publish(self, result: Result) -> Path:
        """Write a run if it is not there yet.

        Args:
            result: The result to write.

        Returns:
            Where the run is; an earlier one of the same id is kept.

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

    def publish(self, result: Result) -> Path:
        """Write a run if it is not there yet (see `Storage.publish`)."""
        final = self._root / str(result.dataset) / result.run_id
        with _storage_errors(final):
            if _is_run(final):
                _check_same(final, result)
                return final
            with _staging(final) as staging:
                write_run(result, staging)
                _move(staging, final)
        return final


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


def write_run(result: Result, folder: Path) -> None:
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


def _write_examples(result: Result, folder: Path) -> None:
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


def _check_same(final: Path, result: Result) -> None:
    """Refuse to pass off a run with other scores as this one."""
    stored = _stored_values(final / RUN_FILE)
    for score in result.scores:
        before = stored.get(
            (
                score.metric,
                score.tag,
                score.aggregate,
                score.perturbation,
                score.computed_on,
            )
        )
        if (before is None) != (score.value is None) or not math.isclose(
            before or 0.0, score.value or 0.0, rel_tol=1e-9, abs_tol=1e-12
        ):
            raise StorageError(
                f"{final} holds another value of {score.metric} ({before}, now "
                f"{score.value}), although all that its id is made of is the same. A "
                "metric depends on something else: a random number, a file, or the "
                "state of an object that is no parameter"
            )


def _stored_values(path: Path) -> dict[tuple[Any, ...], Any]:
    """Read the value of each score of a run; a broken run is not passed off either."""
    try:
        return {
            (
                row["metric"],
                row["tag"],
                row.get("aggregate"),
                row["perturbation"],
                row["computed_on"],
            ): row["value"]
            for row in json.loads(path.read_text(encoding="utf-8"))["scores"]
        }
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise StorageError(
            f"{path}: is no record of a run ({error!r}), so that this run cannot be "
            "kept in its place; move the folder away"
        ) from error


def _open_text(path: Path) -> TextIO:
    # half a surrogate pair, as in a file name that is not UTF-8, becomes JSON's \uXXXX
    return path.open("w", encoding="utf-8", errors="backslashreplace")


def _to_json(value: Any, indent: int | None = None) -> str:
    return json.dumps(
        value, ensure_ascii=False, indent=indent, allow_nan=False, default=str
    )


def _move(staging: Path, final: Path) -> None:
    while not _renamed(staging, final):
        if _is_run(final):
            return
        # a folder without run.json is no run: make room for the whole one
        leftover = final.with_name(f".{final.name}-{uuid.uuid4().hex[:8]}.leftover")
        try:
            final.rename(leftover)
        except FileNotFoundError:  # another process was faster
            continue
        if _is_run(leftover) and _renamed(leftover, final):  # it became one just now
            return
        shutil.rmtree(leftover, ignore_errors=True)


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
