"""Says what became of predictions: notices, and why they were refused."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from evalkit.base.jobs import Job as KnownJob
from evalkit.base.violations import describe, shorten
from evalkit.base.wording import count_of, first_of
from evalkit.predictions.alignment import Alignment, Policies
from evalkit.predictions.beside import job_file_name
from evalkit.predictions.problems import STATUSES
from evalkit.runs import recorded
from evalkit.runs.recorded import Job
from evalkit.runs.results import Result

if TYPE_CHECKING:
    from evalkit.diagnosis import Diagnosis


_SHOWN_PROBLEMS = 3
_SHOWN_KEYS = 10


_LEFT_OUT = (
    ("unknown", "no example has its id", "no example has their ids"),
    ("unreadable", "it cannot be read", "they cannot be read"),
    ("unselected", "its example is not evaluated", "their examples are not evaluated"),
)


def alignment_notices(alignment: Alignment, policies: Policies, task: str) -> list[str]:
    """Say what a user should know about predictions that is no error."""
    counts = alignment.counts
    notices = [*_undeclared_notices(alignment, task), *alignment.notices]
    for status, one, several in _LEFT_OUT:
        if count := counts.get(status):
            why = one if count == 1 else several
            notices.append(f"{count_of(count, 'row')} left out, as {why}")
    notices += unparsed_notice(counts["unparsed"], alignment.unparsed)
    notices += cell_notices(counts, policies)
    if counts["duplicate"] and policies.on_duplicate != "error":
        rows = count_of(counts["duplicate"], "row")
        which = policies.on_duplicate
        notices.append(f"{rows} with a repeated id; of each id the {which} row counts")
    return notices


_DONE = {"wrong": "counted as wrong", "skip": "left out of the scores"}


def cell_notices(
    counts: Mapping[str, int], policies: Policies | recorded.Policies
) -> list[str]:
    """Say in at most two sentences what became of examples without a prediction."""
    noun = "answer" if counts.get("replications") else "example"
    return [
        f"{count_of(counts[status], f'{status} {noun}')} {_DONE[policy]}"
        for status in ("missing", "invalid")
        if counts[status] and (policy := getattr(policies, f"on_{status}")) in _DONE
    ]


_NO_ANSWER = "counted as wrong, as no answer could be extracted"


def unparsed_notice(number: int, reasons: Mapping[str, int]) -> list[str]:
    """Say how many answers could not be extracted, and why as far as it is known."""
    if not number:
        return []
    return [f"{count_of(number, 'response')} {_NO_ANSWER}{_reasons(reasons)}"]


def _reasons(known: Mapping[str, int]) -> str:
    """Say why answers could not be extracted, with the most frequent reason first."""
    if not known:
        return ""
    shown = [f"{shorten(reason)} ({known[reason]})" for reason in known]
    return f": {first_of(shown, _SHOWN_KEYS)}"


def _undeclared_notices(alignment: Alignment, task: str) -> list[str]:
    undeclared = sorted(alignment.undeclared.items(), key=str)
    notices = [
        f"{count_of(count, 'row')} with the key {key!r}, which the task {task} does "
        "not declare; the key was left out"
        for key, count in undeclared[:_SHOWN_KEYS]
    ]
    if len(undeclared) > _SHOWN_KEYS:
        more = count_of(len(undeclared) - _SHOWN_KEYS, "other undeclared key")
        notices.append(f"{more} left out")
    return notices


def _adapted_hint(alignment: Alignment) -> list[str]:
    """Say that adapters may be why fields or rows are not there."""
    shows = "`evalkit adapt --explain` shows what each makes of a row"
    if not alignment.counts["predictions"]:
        return [f"  notice: the adapters left no row of the predictions; {shows}"]
    if alignment.absent:
        return [f"  notice: rows are as the adapters left them; {shows}"]
    return []


def refusal_message(
    result: Result, refused: Sequence[str], alignment: Alignment, diagnosis: Diagnosis
) -> str:
    """Say why predictions were refused, with the first few rows of each kind."""
    refused = [*diagnosis.causes, *refused]
    lines = [f"the predictions of {result.model} were refused: {'; '.join(refused)}"]
    shown = [
        problem
        for status in STATUSES
        for problem in alignment.problems.first(status, _SHOWN_PROBLEMS)
        if not alignment.absent
    ]
    for problem in sorted(shown, key=lambda found: found.line or sys.maxsize):
        where = [f"{alignment.place} {problem.line}"] if problem.line else []
        where += [f"id {problem.id!r}"] if problem.id is not None else []
        if problem.replication is not None:
            where.append(f"replication {problem.replication!r}")
        why = f": {describe(problem.violations)}" if problem.line else ""
        lines.append(f"  {problem.status}: {', '.join(where)}{why}")
    hidden = [
        f"{alignment.counts[status] - _SHOWN_PROBLEMS} more {status}"
        for status in STATUSES
        if alignment.counts[status] > _SHOWN_PROBLEMS and not alignment.absent
    ]
    if hidden:
        lines.append(f"  and {', '.join(hidden)}")
    notices = [*_undeclared_notices(alignment, str(result.task)), *diagnosis.notices]
    lines += [f"  notice: {text}" for text in notices]
    if result.record.predictions.adapters:
        lines += _adapted_hint(alignment)
    if result.path:
        lines.append(f"all of them are in {result.path / 'problems.jsonl'}")
    return "\n".join(lines)


OF_PARTS = "the job of all parts"
"""Stands for the file that tells of the job of a merged run."""


def known_job(predictions: str | None, recorded: Job | None) -> KnownJob | None:
    """Return what metrics are told of the job of a run."""
    if predictions is None and recorded is None:
        return None
    return KnownJob(_name(predictions), recorded)


def _name(predictions: str | None) -> str:
    return OF_PARTS if predictions is None else job_file_name(predictions)


def job_notices(given: Mapping[str, Any], counts: Mapping[str, int]) -> Iterator[str]:
    """Say that the job gave another number of responses than there are predictions."""
    job = given.get("job") or {}
    rows = counts["predictions"] + counts.get("unselected", 0)
    if job.get("examples") not in (None, rows):
        yield (
            f"{_name(given['name'])} says that the job gave "
            f"{count_of(job['examples'], 'response')}, and there are "
            f"{count_of(rows, 'prediction')}: rates and means by example are of the "
            "former"
        )
