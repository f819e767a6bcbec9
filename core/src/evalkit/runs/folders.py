"""What a run folder is and holds, and how its files are read.

A file that is broken, or that evalkit did not write, is named. Of the statistics there
is one Parquet file for each metric: `position` (the row in `examples.parquet`), the
metric's keys and its number columns. They are kept by example and not as sums, because
intervals need what clusters and resampled examples have, and parts of a set that are
merged may share clusters.

When a run was evaluated again is remembered beside the run, which is immutable: a
repeat is noted in `.evaluated/<run id>` beside the run folder, a file of its own for
each run, replaced in one step, so that writers do not wait for each other. Runs that
were evaluated once have none; what they record themselves is the time.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from evalkit.base.violations import Violation, shorten
from evalkit.errors import StorageError
from evalkit.predictions.problems import (
    FAILED,
    NOT_SCORED,
    STATUSES,
    Problem,
    Problems,
)
from evalkit.runs.record import FORMAT_VERSION, RunRecord
from evalkit.runs.score_columns import Score

if TYPE_CHECKING:
    import polars as pl


RUN_FILE = "run.json"
EXAMPLES_FILE = "examples.parquet"
SCORES_FILE = "scores.parquet"
PROBLEMS_FILE = "problems.jsonl"
PERTURBED_FILE = "perturbed.parquet"
STATISTICS_FOLDER = "statistics"
ANNOTATIONS_FOLDER = "annotations"

_REQUIRED: Mapping[str, type | tuple[type, ...]] = {
    "format": int,
    "run_id": str,
    "status": str,
    "dataset": str,
    "counts": dict,
    "scores": list,
}
"""Keys that every run.json has, and the type of their values."""

EXAMPLE_COLUMNS = ("id", "tags", "status")
"""Columns that every examples.parquet has."""

COPY_COLUMNS = (*EXAMPLE_COLUMNS, "input_id", "perturbation")
"""Columns that every perturbed.parquet has."""

_SHOWN = 5
_LONGEST_NAME = 120


def run_folders(root: Path) -> Iterator[Path]:
    """Give `<root>/<run id>` and `<root>/<data set>/<run id>`, sorted by name.

    Args:
        root: Where runs were written.

    Yields:
        Each folder that is a run or may have been meant as one.
    """
    for child in _folders(root):
        if is_run(child):
            yield child
        else:
            yield from _folders(child)


def _folders(root: Path) -> list[Path]:
    try:
        children = sorted(root.iterdir())
    except OSError:  # it is not there, is no folder, or may not be read
        return []
    # a hidden folder is one that is still being written, or was left so
    return [path for path in children if path.is_dir() and path.name[0] != "."]


def is_run(folder: Path) -> bool:
    """Tell whether a folder is a run: one that is not whole has no `run.json`."""
    return (folder / RUN_FILE).is_file()


def explain_no_run(path: Path) -> str:
    """Say why a path is no run folder, and which runs it holds."""
    if not path.exists():
        return f"there is no run folder {path}"
    held = [run for run in run_folders(path) if is_run(run)]
    hint = f"; it holds the runs {name_runs(held)}: name one of them" if held else ""
    what = f"holds no {RUN_FILE}" if path.is_dir() else "is a file"
    return f"{path} is no run folder: it {what}{hint}"


def name_runs(runs: Sequence[Path]) -> str:
    """Name the first runs by id and data set, and count the rest."""
    shown = ", ".join(f"{run.name} ({run.parent.name})" for run in runs[:_SHOWN])
    more = len(runs) - _SHOWN
    return shown + (f" and {more} more" if more > 0 else "")


def read_record(folder: Path) -> tuple[RunRecord, list[Score]]:
    """Read the `run.json` of a run folder.

    Args:
        folder: The run folder.

    Returns:
        What it records, and the scores. A field that a run of an older evalkit does not
        have yet gets its default; one of a score that this evalkit does not know is
        left out.

    Raises:
        StorageError: It cannot be read, is no record of a run, or is of a newer format.
    """
    from pydantic import TypeAdapter, ValidationError

    path = folder / RUN_FILE
    found = _read_object(path)
    rows = [
        {key: value for key, value in row.items() if key in Score._fields}
        if isinstance(row, dict)
        else row
        for row in found.pop("scores")
    ]
    try:
        record = RunRecord.model_validate(found)
    except ValidationError as error:
        key = error.errors(include_url=False)[0]["loc"][0]
        why = f"{key!r} is {shorten(found.get(str(key)))}"
        raise _foreign(path, why) from error
    try:
        return record, TypeAdapter(list[Score]).validate_python(rows)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise _foreign(path, f"scores.{place}: {first['msg']}") from error


def _read_object(path: Path) -> dict[str, Any]:
    """Read what any version of a record is: an object with some keys, of a format."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise _unreadable(path, error.strerror or str(error)) from error
    except (ValueError, RecursionError) as error:
        raise _unreadable(path, f"is not JSON: {error}") from error
    if not isinstance(found, dict):
        raise _foreign(path, "it holds no object")
    for key, kind in _REQUIRED.items():
        if not isinstance(found.get(key), kind):
            raise _foreign(path, f"{key!r} is {shorten(found.get(key))}")
    if found.get("components") == []:
        raise _foreign(path, "'components' is []")
    if found["format"] > FORMAT_VERSION:
        raise StorageError(
            f"{path}: was written by a newer evalkit, in format {found['format']}; "
            f"this one reads up to format {FORMAT_VERSION}. Upgrade evalkit-core"
        )
    return found


def statistics_file(metric: str) -> str:
    """Name the file of a metric's statistics.

    Args:
        metric: Name of the metric with its parameters.

    Returns:
        A name that any file system takes.
    """
    # %2F would be read as a slash again by some tools; file names may hold = and ,
    name = quote(metric, safe="=,+ ").replace("%", "_")
    if len(name) > _LONGEST_NAME or "_" in name:
        digest = hashlib.sha256(metric.encode()).hexdigest()[:16]
        name = f"{name[:_LONGEST_NAME]}-{digest}"
    return f"{name}.parquet"


def read_table(
    path: Path, columns: Sequence[str] | Mapping[str, str]
) -> pl.DataFrame | None:
    """Read a table of a run folder.

    Args:
        path: The file: of examples, perturbed copies, or a metric's statistics.
        columns: Columns that every such file has; where it is a mapping with the name
            of the type of each.

    Returns:
        The table; None where the run has no such file.

    Raises:
        StorageError: It cannot be read, or is not what evalkit writes.
    """
    import polars as pl

    if not path.exists():
        return None
    try:
        frame = pl.read_parquet(path, glob=False)
    except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        reason = str(error).partition("\n")[0]
        raise _unreadable(path, f"is no Parquet file: {reason}") from error
    missing = [name for name in columns if name not in frame.columns]
    if missing:
        raise StorageError(
            f"{path}: is not what evalkit writes: it has no column {missing[0]!r}"
        )
    for name, kind in columns.items() if isinstance(columns, Mapping) else ():
        if str(frame[name].dtype) != kind:
            raise StorageError(
                f"{path}: is not what evalkit writes: its column {name!r} is of the "
                f"type {frame[name].dtype}, not {kind}"
            )
    return frame


def read_problems(folder: Path) -> Problems:
    """Read the `problems.jsonl` of a run folder.

    Args:
        folder: The run folder.

    Returns:
        The problems, kept on disk once they are many.

    Raises:
        StorageError: It cannot be read, or a line of it is no problem.
    """
    return Problems(_iterate_problems(folder / PROBLEMS_FILE))


def _iterate_problems(path: Path) -> Iterator[Problem]:
    number = 0
    try:
        with path.open("rb") as stream:
            for line in stream:
                number += 1
                yield _problem(json.loads(line))
    except OSError as error:
        raise _unreadable(path, error.strerror or str(error)) from error
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise StorageError(
            f"{path}, line {number}: is no record of a problem: {error!r}"
        ) from error


def _problem(row: Any) -> Problem:
    if row["status"] not in (*STATUSES, NOT_SCORED, FAILED):
        raise ValueError(f"unknown status {row['status']!r}")
    if not isinstance(row["line"], int | None):
        raise TypeError(f"the line is {row['line']!r}")
    violations = tuple(
        Violation(found["field"], found["rule"], found["value"])
        for found in row["violations"]
    )
    newer = {name: row[name] for name in Problem._field_defaults if name in row}
    return Problem(row["status"], row["line"], row["id"], violations, **newer)


def _unreadable(path: Path, why: str) -> StorageError:
    return StorageError(f"{path}: {why}")


def _foreign(path: Path, why: str) -> StorageError:
    return StorageError(f"{path}: is no record of a run: {why}")


_FOLDER = ".evaluated"


class LastTime(NamedTuple):
    """When a run was evaluated last."""

    started: str | None
    """When that began, in ISO 8601; None where nobody recorded it."""
    order: tuple[float, int]
    """Greater for a later evaluation."""
    problem: str | None = None
    """Why it is not known whether it was evaluated again; None where it is."""


def note_evaluation(run: Path, started: str) -> None:
    """Note that a run was evaluated again; an earlier time does not replace a later.

    Args:
        run: The run folder.
        started: When the evaluation began, in ISO 8601.

    Raises:
        OSError: It cannot be written.
    """
    place = _place(run)
    before = _read(place)
    if before is not None and _moment(before) > _moment(started):
        return
    place.parent.mkdir(exist_ok=True)
    staging = place.with_name(f"{place.name}-{uuid.uuid4().hex[:8]}.partial")
    try:
        staging.write_text(started + "\n", encoding="utf-8")
        staging.replace(place)
    finally:
        staging.unlink(missing_ok=True)


def last_evaluation(run: Path, recorded: str | None) -> LastTime:
    """Tell when a run was evaluated last.

    Args:
        run: The run folder.
        recorded: When its record says that the evaluation began; None if it does not.

    Returns:
        The later one of what is recorded and what was noted since; with a problem where
        the note cannot be read.
    """
    place = _place(run)
    times = [(recorded, run / RUN_FILE)]
    noted = _read(place)
    if noted is not None:
        times.append((noted, place))
    last = max((_last_time(*each) for each in times), key=lambda time: time.order)
    if noted is not None or not place.exists():
        return last
    return last._replace(
        problem=f"{place}: holds no time, so that it is not known when the run was "
        "evaluated again; `latest` may be another one"
    )


def read_start(record: RunRecord) -> str | None:
    """Return when the evaluation of a run began.

    Args:
        record: What it recorded.

    Returns:
        The time in ISO 8601; None where there is no such time.
    """
    started = "" if record.timings is None else record.timings.started
    return started if _is_time(started) else None


def _last_time(started: str | None, file: Path) -> LastTime:
    try:
        written = file.stat().st_mtime_ns
    except OSError:  # it was removed just now
        written = 0
    # older records count seconds; of several runs of one the last written is later
    return LastTime(started, (0.0 if started is None else _moment(started), written))


def _place(run: Path) -> Path:
    return run.parent / _FOLDER / run.name


def _read(place: Path) -> str | None:
    try:
        text = place.read_text(encoding="utf-8").strip()
    except (OSError, ValueError):  # most runs have none
        return None
    return text if _is_time(text) else None


def _is_time(text: str) -> bool:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def _moment(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()
