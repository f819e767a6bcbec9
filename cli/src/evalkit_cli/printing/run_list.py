"""Prints the runs of a folder, each with its main score."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from evalkit_cli.printing.score_cells import score_label, show_interval, show_value
from evalkit_cli.printing.streams import echo_csv, echo_json
from evalkit_cli.printing.tables import NO_VALUE, draw

if TYPE_CHECKING:
    from datetime import datetime

    from evalkit.runs import RunSummary

_HEADER = ("run", "evaluated (UTC)", "dataset", "model", "metric", "score", "CI", "n")
_TEXT_COLUMNS = (0, 1, 2, 3, 4, 8)

_RECORDED = (
    *("fingerprint", "dataset", "task", "split", "model", "status"),
    *("parent", "confidence", "original"),
)
_CSV_HEADER = (
    *("run_id", "started", "dataset", "task", "split", "model", "status", "metric"),
    *("value", "ci_low", "ci_high", "n", "path", "parent", "fingerprint"),
    *("confidence", "perturbation", "original"),
)


def print_run_list(
    runs: Sequence[RunSummary], as_json: bool, table_format: str
) -> None:
    """Print runs as a list in JSON, or as a table if there are any."""
    runs = _below_originals(runs)
    if as_json:
        echo_json([*map(_facts, runs)])
    elif table_format == "csv":
        echo_csv([_CSV_HEADER, *map(_csv_row, runs)])
    elif runs:
        draw(_table(runs), table_format, _TEXT_COLUMNS)


def _below_originals(runs: Sequence[RunSummary]) -> list[RunSummary]:
    """Put runs of perturbed examples below the run of their originals."""
    listed = {run.record.fingerprint for run in runs}
    found = []
    for run in runs:
        if run.record.original is None or run.record.original not in listed:
            found.append(run)
        if run.record.original is None:
            key = run.record.fingerprint
            own = (each for each in runs if each.record.original == key)
            found += sorted(own, key=lambda each: str(each.record.perturbation))
    return found


def _facts(run: RunSummary) -> dict[str, Any]:
    """Return what JSON holds of a run."""
    perturbation = run.record.perturbation
    return {
        **{"run_id": run.run_id, "path": str(run.path)},
        **{name: getattr(run.record, name) for name in _RECORDED},
        "started": run.started and run.started.isoformat(),
        "perturbation": None if perturbation is None else perturbation.name,
        "headline": run.headline and run.headline._asdict(),
    }


def _csv_row(run: RunSummary) -> Sequence[object]:
    facts, label = _facts(run), run.headline and score_label(run.headline)
    row = {**(facts["headline"] or {}), **facts, "metric": label}
    return [row.get(name) for name in _CSV_HEADER]


def _table(runs: Sequence[RunSummary]) -> list[list[str]]:
    levels = {run.record.confidence for run in runs if run.headline and run.headline.ci}
    [level] = levels if len(levels) == 1 else [None]
    named = f"{_percent(level)} CI" if level is not None else "CI"
    header = [named if name == "CI" else name for name in _HEADER]
    rows = [_table_row(run, with_level=len(levels) > 1) for run in runs]
    return [[*header, "status"], *rows]


def _percent(confidence: float) -> str:
    return f"{100 * confidence:g} %"


def _table_row(run: RunSummary, *, with_level: bool) -> list[str]:
    shown = [NO_VALUE] * 4
    if run.headline is not None:
        score = run.headline
        interval = show_interval(score, run.record.bounds)
        if with_level and score.ci:
            interval += f" ({_percent(run.record.confidence)})"
        shown = [score_label(score), show_value(score), interval, str(score.n)]
    model = str(run.record.model)
    if (perturbation := run.record.perturbation) is not None:
        model += f" ({perturbation.name})"
    names = [str(run.record.dataset), model]
    marks = [run.record.status, *["rescored"] * bool(run.record.parent)]
    return [run.run_id, _when(run.started), *names, *shown, ", ".join(marks)]


def _when(started: datetime | None) -> str:
    """Return a time to the minute, in UTC."""
    from datetime import UTC

    return f"{started.astimezone(UTC):%Y-%m-%d %H:%M}" if started else NO_VALUE
