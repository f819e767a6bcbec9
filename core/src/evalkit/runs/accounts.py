"""Says what became of predictions: notices, and why they were refused."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from evalkit.base.violations import describe, shorten
from evalkit.base.wording import count_of
from evalkit.predictions.alignment import Alignment, Policies
from evalkit.predictions.problems import STATUSES
from evalkit.predictions.written_forms import is_about_forms
from evalkit.runs.results import Result

_SHOWN_PROBLEMS = 3
_SHOWN_KEYS = 10


def alignment_notices(alignment: Alignment, policies: Policies, task: str) -> list[str]:
    """Say what a user should know about predictions that is no error.

    Args:
        alignment: The outcome.
        policies: What happens to examples without a valid response.
        task: Name of the task.

    Returns:
        One sentence for each fact.
    """
    counts = alignment.counts
    notices = [*_undeclared_notices(alignment, task), *alignment.notices]
    if counts["unknown"]:
        rows = count_of(counts["unknown"], "row")
        notices.append(f"{rows} with the id of no example; left out")
    if counts["unreadable"]:
        rows = count_of(counts["unreadable"], "row")
        notices.append(f"{rows} that cannot be read; left out")
    if counts.get("unselected"):
        rows = count_of(counts["unselected"], "row")
        notices.append(f"{rows} with the id of an example that is not evaluated")
    if counts["unparsed"]:
        responses = count_of(counts["unparsed"], "response")
        notices.append(
            f"{responses} without an answer that could be extracted; counted as wrong"
            f"{_reasons(alignment)}"
        )
    for status in ("missing", "invalid"):
        policy = getattr(policies, f"on_{status}")
        noun = "answer" if alignment.replications else "example"
        cells = count_of(counts[status], f"{status} {noun}")
        if counts[status] and policy == "wrong":
            notices.append(f"{cells} counted as wrong")
        elif counts[status] and policy == "skip":
            notices.append(f"{cells} left out of the scores")
    if counts["duplicate"] and policies.on_duplicate != "error":
        rows = count_of(counts["duplicate"], "row")
        which = policies.on_duplicate
        notices.append(f"{rows} with a repeated id; the {which} one counts")
    return notices


def _reasons(alignment: Alignment) -> str:
    """Say why answers could not be extracted, with the most frequent reason first."""
    known = alignment.unparsed
    if not known:
        return ""
    shown = [f"{shorten(reason)} ({known[reason]})" for reason in known][:_SHOWN_KEYS]
    more = len(known) - len(shown)
    return f": {', '.join(shown)}" + (f", and {more} more" if more > 0 else "")


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


def refusal_message(
    result: Result,
    refused: Sequence[str],
    alignment: Alignment,
    further: Sequence[str] = (),
) -> str:
    """Say why predictions were refused, with the first few rows of each kind.

    Args:
        result: The refused result.
        refused: The reasons.
        alignment: The problems.
        further: Lines about other files.

    Returns:
        Several lines.
    """
    lines = [f"the predictions of {result.model} were refused: {'; '.join(refused)}"]
    shown = [
        problem
        for status in STATUSES
        for problem in alignment.problems.first(status, _SHOWN_PROBLEMS)
        if not alignment.absent
    ]
    for problem in sorted(shown, key=lambda found: found.line or sys.maxsize):
        where = [f"line {problem.line}"] if problem.line else []
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
    lines += [
        f"  notice: {notice}"
        for notice in _undeclared_notices(alignment, str(result.task))
    ]
    lines += [f"  notice: {text}" for text in result.notices if is_about_forms(text)]
    if alignment.absent and result.record.predictions.adapters:
        shows = "`evalkit adapt --explain` shows what each makes of a row"
        lines.append(f"  notice: rows are as the adapters left them; {shows}")
    lines += further
    if result.path:
        lines.append(f"all of them are in {result.path / 'problems.jsonl'}")
    return "\n".join(lines)
