"""The section of problems: what was not scored, and what a reader should know."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING

from evalkit_commands_report.gathering import Gathered, Shown
from evalkit_commands_report.intervals import mark
from evalkit_commands_report.markup import Child, Markup, element, fragment
from evalkit_commands_report.numbers import exact
from evalkit_commands_report.tables import table, without_empty_columns

if TYPE_CHECKING:
    from evalkit.runs import Problem

MOST_PROBLEMS = 25
"""Problems of a run that are listed; all are in its `problems.jsonl`."""


def problem_section(group: Gathered, name: str) -> Markup:
    """Return what was scored and what was not, with notices and warnings."""
    common = _common(group)
    return element(
        "section",
        element("h2", "Problems and notices", id=f"{name}-problems"),
        _counts(group),
        [_listed(run) for run in group.runs],
        _list(element("h3", "All runs"), common),
        [_said(run, common) for run in group.runs],
        aria_labelledby=f"{name}-problems",
    )


def _counts(group: Gathered) -> Markup:
    names = list(dict.fromkeys(key for run in group.runs for key in run.result.counts))
    rows = [
        [
            fragment(mark(run.place), " ", run.label),
            run.result.status,
            *(_count(run, key) for key in names),
        ]
        for run in group.runs
    ]
    caption = "Examples and rows of predictions"
    return table(["Model", "Status", *names], rows, texts=(0, 1), caption=caption)


def _count(run: Shown, key: str) -> Child:
    count = run.result.counts.get(key)
    if count is None:
        return ""
    kind = "zero" if not count else None
    return exact(
        str(count), count, data_run=run.result.run_id, data_count=key, class_=kind
    )


def _listed(run: Shown) -> Markup | None:
    from evalkit import EvalkitError

    try:
        problems = run.result.problems
        total = len(problems)
        rows = [_row(problem) for problem in islice(problems, MOST_PROBLEMS)]
    except EvalkitError as error:
        why = f": the rows that were not scored cannot be read: {error}"
        return element("p", run.label, why, class_="warning")
    if not rows:
        return None
    header: list[Child] = ["Status", "Line", "Id", "Replication", "Why"]
    header, rows = without_empty_columns(header, rows)
    shown = f"first {len(rows)} of {total}" if len(rows) < total else str(total)
    title = f"{run.label}: rows and examples that were not scored ({shown})"
    return element(
        "details",
        element("summary", mark(run.place), " ", title),
        table(header, rows, texts=range(len(header)), caption=title),
    )


def _row(problem: Problem) -> list[Child]:
    """Return a problem without the value that was found, which may be private."""
    rules = [f"{found.field}: {found.rule}" for found in problem.violations]
    why = "; ".join([*rules, *([problem.reason] if problem.reason else [])])
    if problem.metric:
        why = f"{problem.metric}: {why}"
    return [
        problem.status,
        "" if problem.line is None else str(problem.line),
        problem.id or "",
        problem.replication or "",
        why,
    ]


def _lines(run: Shown) -> list[str]:
    lines = [f"notice: {text}" for text in run.result.notices]
    return lines + [f"warning: {text}" for text in run.result.warnings]


def _common(group: Gathered) -> list[str]:
    """Return what is said of each of several runs in the same words."""
    first, *others = map(_lines, group.runs)
    return [line for line in first if others and all(line in each for each in others)]


def _said(run: Shown, common: Sequence[str]) -> Markup | None:
    lines = [line for line in _lines(run) if line not in common]
    return _list(element("h3", mark(run.place), " ", run.label), lines)


def _list(title: Markup, lines: Sequence[str]) -> Markup | None:
    if not lines:
        return None
    items = [element("li", line) for line in lines]
    return fragment(title, element("ul", items, class_="notices"))
