"""Writes run folders so that what looks like a run is a whole one.

A run is written to a hidden staging folder beside its place and moved there in one
step. A process that dies leaves at most a staging folder, which nothing reads. A result
is compared with the run of its id that is there already.
"""

from __future__ import annotations

import errno
import io
import json
import math
import os
import shutil
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

from evalkit.base.violations import json_value
from evalkit.errors import StorageError
from evalkit.plugins.provenance import run_id_of
from evalkit.runs.folders import (
    EXAMPLES_FILE,
    PERTURBED_FILE,
    PROBLEMS_FILE,
    RUN_FILE,
    SCORES_FILE,
    STATISTICS_FOLDER,
    is_run,
    note_evaluation,
    read_record,
    read_start,
    statistics_file,
)
from evalkit.runs.record import RunRecord
from evalkit.runs.score_columns import COMPUTED, Score, scores_frame

if TYPE_CHECKING:
    import polars as pl

    from evalkit.predictions.problems import Problem


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
    perturbed_examples: pl.DataFrame | None
    """One row for each perturbed copy."""


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
            and becomes the last evaluated one.

        Raises:
            StorageError: It cannot be written; nothing that passes for a run is left.
        """
        final = self._place(contents.record)
        if _write_new(final, contents):
            return Published(final, contents.record)
        with _storage_errors(final):
            differs = what_differs(final, contents.record, contents.scores)
        if differs:
            record = record_of_repeat(contents.record, contents.scores, differs)
            contents = contents._replace(record=record)
            final = self._place(record)
            if _write_new(final, contents):
                return Published(final, record)
        return Published(final, _noted(final, contents.record), was_there=True)

    def _place(self, record: RunRecord) -> Path:
        return self._root / str(record.dataset) / record.run_id


def _write_new(final: Path, contents: RunContents) -> bool:
    """Write a run, unless it is there or another process is faster."""
    with _storage_errors(final):
        if is_run(final):
            return False
        with _staging(final) as staging:
            write_run(contents, staging)
            return _move(staging, final)


def _noted(final: Path, record: RunRecord) -> RunRecord:
    """Note that a run was evaluated again, which a read-only folder does not let."""
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
    staging.mkdir(parents=True)
    try:
        yield staging
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def write_run(contents: RunContents, folder: Path) -> None:
    """Write the files of a run into a folder, `run.json` last.

    Args:
        contents: What to write.
        folder: An empty folder.
    """
    with ThreadPoolExecutor(2, "evalkit-writer") as threads:
        waiting = [
            threads.submit(_write_examples, contents, folder),
            threads.submit(
                write_statistics, contents.statistics, folder / STATISTICS_FOLDER
            ),
        ]
        write_parquet(scores_frame(contents.scores), folder / SCORES_FILE)
        for future in waiting:
            future.result()
    with _open_text(folder / PROBLEMS_FILE) as stream:
        stream.writelines(map(problem_line, contents.problems))
    with _open_text(folder / RUN_FILE) as stream:
        found = contents.record.with_scores(contents.scores)
        stream.write(_to_json(found, indent=2) + "\n")
        stream.flush()
        os.fsync(stream.fileno())


def _write_examples(contents: RunContents, folder: Path) -> None:
    if contents.examples is not None:
        write_parquet(contents.examples, folder / EXAMPLES_FILE)
    if contents.perturbed_examples is not None:
        write_parquet(contents.perturbed_examples, folder / PERTURBED_FILE)


def write_statistics(statistics: Mapping[str, pl.DataFrame], folder: Path) -> None:
    """Write the statistics of every metric.

    Args:
        statistics: Statistics by name of the metric.
        folder: Where to; made if there are any.

    Raises:
        OSError: They cannot be written.
    """
    if statistics:
        folder.mkdir()
    for metric, frame in statistics.items():
        write_parquet(frame, folder / statistics_file(metric))


def write_parquet(frame: pl.DataFrame, path: Path) -> None:
    """Write a table.

    Args:
        frame: The table.
        path: Where to.

    Raises:
        OSError: It cannot be written, with the system's reason, which polars loses
            where it writes the file itself.
    """
    packed = io.BytesIO()
    # nobody filters these files by statistics, and level 1 packs as well as 3
    frame.write_parquet(packed, compression_level=1, statistics=False)
    path.write_bytes(packed.getbuffer())


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
    except OSError as error:
        if error.errno not in (errno.EEXIST, errno.ENOTEMPTY):
            raise
        return False
    return True


COUNTS = "the counts of examples"
"""Stands for the counts where they differ."""

_MOST_NAMES = 5
_RELATIVE = 1e-9
_ABSOLUTE = 1e-12
_DIGITS = ".9g"

Numbers = Mapping[str, float | None]


def what_differs(folder: Path, record: RunRecord, scores: Sequence[Score]) -> list[str]:
    """Name the metrics of which a run has other numbers than a result.

    Args:
        folder: The folder of a run whose id is made of the same inputs.
        record: What the result records.
        scores: Its scores.

    Returns:
        Names of scores, and `COUNTS`; empty where all is the same within 1e-9.

    Raises:
        StorageError: It is no run; a broken one is not passed off either.
    """
    try:
        before, stored_scores = read_record(folder)
    except StorageError as error:
        raise StorageError(
            f"{error}; so this run cannot be kept in its place: move the folder away"
        ) from error
    stored, computed = _numbers(stored_scores), _numbers(scores)
    names = dict.fromkeys(
        str(key[0])
        for key in (*computed, *stored)
        if not _are_equal(stored.get(key), computed.get(key))
    )
    return [*names, *([COUNTS] if before.counts != record.counts else [])]


def record_of_repeat(
    record: RunRecord, scores: Sequence[Score], differs: Sequence[str]
) -> RunRecord:
    """Return the record of a result that differs from the run of its id.

    Args:
        record: What the result records.
        scores: Its scores.
        differs: What `what_differs` gave.

    Returns:
        The record of a run of its own. Its id is made of the other id and the numbers,
        so that a further repeat with the same numbers has the same one.
    """
    rows = [
        [*key, {name: _rounded(number) for name, number in numbers.items()}]
        for key, numbers in _numbers(scores).items()
    ]
    counts = record.counts.to_dict()
    made_of = {"repeat_of": record.run_id, "counts": counts, "numbers": rows}
    notice = _notice(record.run_id, differs)
    return record.changed(
        run_id=run_id_of(made_of),
        repeat_of=record.run_id,
        notices=(*record.notices, notice),
    )


def _notice(run_id: str, differs: Sequence[str]) -> str:
    """Say of a repeat that it gave other numbers."""
    shown = ", ".join(differs[:_MOST_NAMES])
    more = len(differs) - _MOST_NAMES
    shown += f" and {more} more" if more > 0 else ""
    return (
        f"{shown}: not as in the run {run_id}, although all that its id is made of is "
        "the same; so this is a run of its own. A plugin depends on something else: a "
        "random number, a file, the version of a library, or the state of an object "
        "that is no parameter"
    )


def _numbers(scores: Sequence[Score]) -> dict[tuple[Any, ...], Numbers]:
    return {
        _key(score): {name: getattr(score, name) for name in COMPUTED}
        for score in scores
    }


def _key(score: Score) -> tuple[Any, ...]:
    # the worst tag may be another one: then it is the same score with other numbers
    tag = None if score.aggregate else score.tag
    return score.metric, tag, score.aggregate, score.perturbation, score.computed_on


def _are_equal(first: Numbers | None, second: Numbers | None) -> bool:
    if first is None or second is None:
        return False
    return all(_is_close(first[name], second[name]) for name in COMPUTED)


def _is_close(first: float | None, second: float | None) -> bool:
    if first is None or second is None:
        return first is second
    return math.isclose(first, second, rel_tol=_RELATIVE, abs_tol=_ABSOLUTE)


def _rounded(number: float | None) -> str | None:
    return None if number is None else format(number, _DIGITS)
