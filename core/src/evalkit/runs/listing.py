"""Lists the runs of a folder, and reads what a user says of a time."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from evalkit.errors import EvalkitError, StorageError
from evalkit.runs.folders import (
    RUN_FILE,
    id_of,
    is_run,
    read_record,
    run_folders,
    runs_root,
)
from evalkit.runs.record import RunRecord
from evalkit.runs.score_columns import Score


class RunSummary(NamedTuple):
    """What a list of runs says about one of them, from its `run.json` alone."""

    path: Path
    """The run folder."""
    run_id: str
    """The 8 hex digits with which the folder's name ends."""
    problem: str | None = None
    """Why the run cannot be read; None where it can. Then only `path` and `run_id`
    are known."""
    record: RunRecord = RunRecord(status="refused")
    """All that `run.json` holds."""
    started: datetime | None = None
    """When the evaluation began, with a time zone; None where it was not recorded."""

    @property
    def headline(self) -> Score | None:
        """The main score; None where there is none."""
        return self.record.headline_score

    @property
    def is_named(self) -> bool:
        """Whether the name of its model may mean it.

        It is complete, or partial for nothing but responses that a metric had a reason
        not to score, such as a judge's.
        """
        record = self.record
        is_cut = record.errors or record.merged or not record.selection.is_whole
        is_partial = record.status == "partial" and record.not_scored and not is_cut
        return bool(is_partial) or record.status == "complete"


def list_runs(folder: str | Path = "runs") -> list[RunSummary]:
    """List the evaluations of a folder, from their `run.json` alone.

    Args:
        folder: The folder that runs were written to; `<folder>/<dataset>/<run>`.

    Returns:
        One summary for each fingerprint, of its latest run that was not refused, or
        else of its latest; the last evaluated first. A folder that is not a run or
        whose record is broken comes last, with its `problem`.
    """
    every = [_summarize(run) for run in run_folders(runs_root(folder))]
    every.sort(key=_order, reverse=True)
    return list(_latest(every))


def _latest(runs: list[RunSummary]) -> Iterator[RunSummary]:
    """Leave out runs whose evaluation was done again later, unless that was refused."""
    latest: dict[str, RunSummary] = {}
    for run in sorted(runs, key=lambda run: run.record.status == "refused"):
        latest.setdefault(run.record.fingerprint, run)
    for run in runs:
        if run.problem is not None or latest[run.record.fingerprint] is run:
            yield run


def _order(run: RunSummary) -> tuple[bool, float, str]:
    time = 0.0 if run.started is None else run.started.timestamp()
    return run.problem is None, time, str(run.path)


def _summarize(folder: Path) -> RunSummary:
    if not is_run(folder):
        why = f"{folder}: not a run folder ({RUN_FILE} is missing)"
        return RunSummary(folder, id_of(folder), why)
    try:
        record = read_record(folder)
    except StorageError as error:
        return RunSummary(folder, id_of(folder), str(error))
    return RunSummary(folder, record.run_id, None, record, _start(record))


def _start(record: RunRecord) -> datetime | None:
    """Return when the evaluation of a run began; None where there is no such time."""
    text = record.timings.started if record.timings else ""
    try:
        started = datetime.fromisoformat(text)
    except ValueError:
        return None
    return started if started.tzinfo else started.astimezone()


_AGO = re.compile(r"(\d+)\s*(min|h|d|w)")

_UNITS = {"min": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def read_moment(text: str, now: datetime | None = None) -> datetime:
    """Read a moment that a user names.

    Args:
        text: How long ago it is (`30min`, `12h`, `7d`, `2w`), or a date or time in ISO
            8601, in UTC where it names no time zone.
        now: What `ago` counts from; the present by default.

    Returns:
        The moment, with a time zone.

    Raises:
        EvalkitError: It is neither.
    """
    ago = _AGO.fullmatch(text.strip())
    try:
        if ago is not None:
            length = timedelta(**{_UNITS[ago[2]]: int(ago[1])})
            return (now or datetime.now(UTC)) - length
        moment = datetime.fromisoformat(text.strip())
    except (ValueError, OverflowError) as error:
        raise EvalkitError(
            f"{text!r} is neither a length of time, such as 7d (min, h, d or w), nor a "
            "date or time, such as 2026-11-18"
        ) from error
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
