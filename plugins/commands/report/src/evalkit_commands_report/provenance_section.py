"""Where the numbers come from, and what was wrong with rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from evalkit_commands_report.gathering import Gathered, Shown
from evalkit_commands_report.intervals import mark
from evalkit_commands_report.markup import (
    Child,
    Markup,
    element,
    fragment,
    table,
    without_empty_columns,
)
from evalkit_commands_report.numbers import exact

if TYPE_CHECKING:
    from evalkit.runs import Problem, RunRecord


def provenance_section(group: Gathered, name: str) -> Markup:
    """Return data, predictions, components and versions of each run."""
    return element(
        "section",
        element("h2", "Provenance", id=f"{name}-provenance"),
        [_run(run) for run in group.runs],
        aria_labelledby=f"{name}-provenance",
    )


def _run(run: Shown) -> Markup:
    facts = [
        element("div", element("dt", key), element("dd", value))
        for key, value in _facts(run.result.record)
    ]
    components = [
        [
            each.id,
            each.distribution,
            each.version or "",
            ", ".join(f"{key}={value}" for key, value in each.parameters.items()),
            (each.source_sha256 or "")[:16],
        ]
        for each in run.result.record.components
    ]
    header = ("Component", "Distribution", "Version", "Parameters", "Source")
    return element(
        "details",
        element(
            "summary", mark(run.place), " ", f"{run.label}: run {run.result.run_id}"
        ),
        element("dl", facts),
        table(header, components, texts=range(5), caption=f"Plugins of {run.label}"),
    )


def _facts(record: RunRecord) -> Iterator[tuple[str, str]]:
    """Return what is known, each with its name; what is not known is left out."""
    data, policies = record.data, record.policies
    perturbation = record.perturbation
    named = record.predictions.name or "rows"
    facts = {
        "Run": record.run_id,
        "Rescored from": record.parent,
        "Merged of": ", ".join(record.merged),
        "Data set": _joined(record.dataset, data.version, record.split),
        "Task": record.task,
        "Licence": data.license,
        "Source": data.source_url,
        "Content warning": data.content_warning,
        "Data files": ", ".join(f"{f.name} ({_hash(f.sha256)})" for f in data.files),
        "Predictions": f"{named} ({_hash(record.predictions.sha256)})",
        "Perturbation": "" if perturbation is None else perturbation.name,
        "Policies": f"missing: {policies.on_missing}, invalid: {policies.on_invalid}, "
        f"duplicate: {policies.on_duplicate}",
        "Selection": ""
        if record.selection.is_whole
        else str(record.selection.to_dict()),
        "Intervals": f"{100 * record.confidence:g} %, seed {record.seed}",
        **_circumstances(record),
    }
    yield from ((name, text) for name, text in facts.items() if text)


def _circumstances(record: RunRecord) -> dict[str, str]:
    """Return when it was evaluated, and with which versions."""
    found = {}
    if record.timings is not None:
        seconds = f"{record.timings.seconds:g} s"
        found["Evaluated"] = f"{record.timings.started}, in {seconds}"
    if record.core is not None:
        found["evalkit-core"] = record.core.version
    return {**found, **(record.environment or {})}


def _hash(sha256: str | None) -> str:
    return f"SHA-256 {sha256[:16]}…" if sha256 else "no hash"


def _joined(*parts: str | None) -> str:
    return ", ".join(part for part in parts if part)


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
