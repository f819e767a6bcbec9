"""When a run was evaluated last.

It is remembered beside the run, which is immutable: a repeat is noted in
`.evaluated/<run id>` beside the run folder, a file of its own for each run, replaced in
one step, so that writers do not wait for each other. Runs that were evaluated once have
none; what they record themselves is the time.
"""

from __future__ import annotations

import errno
import uuid
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from evalkit.base.regular_files import regular_file
from evalkit.runs.digests import write_file
from evalkit.runs.folders import RUN_FILE
from evalkit.runs.record import RunRecord

_FOLDER = ".evaluated"
_LONGEST = 100
"""Bytes of a time, and more."""


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
    if place.parent.is_symlink():
        raise OSError(errno.ELOOP, f"{place.parent} is a symlink")
    place.parent.mkdir(exist_ok=True)
    staging = place.with_name(f"{place.name}-{uuid.uuid4().hex[:8]}.partial")
    try:
        write_file(staging, [f"{started}\n".encode()])
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
        problem=f"{_shown(run)}: holds no time, so that it is not known when the run "
        "was evaluated again; `latest` may be another one"
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


def _shown(run: Path) -> str:
    """Return the place of a note as people read it; of a fetched run its URI."""
    return f"{str(run).rpartition('/')[0] or '.'}/{_FOLDER}/{run.name}"


def _read(place: Path) -> str | None:
    try:
        with regular_file(place) as stream:
            text = stream.read(_LONGEST).decode().strip()
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
