"""Prints the runs of a folder, each with its main score."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from evalkit_cli.printing.score_cells import score_label, show_interval, show_value
from evalkit_cli.printing.streams import echo_csv, echo_json
from evalkit_cli.printing.tables import NO_VALUE, draw

if TYPE_CHECKING:
    from evalkit.runs import RunSummary

_HEADER = ("run", "evaluated (UTC)", "dataset", "model", "metric", "score", "CI", "n")
_TEXT_COLUMNS = (0, 1, 2, 3, 4, 8)

_CSV_HEADER = (
    *("run_id", "started", "dataset", "task", "split", "model", "status", "metric"),
    *("value", "ci_low", "ci_high", "n", "path", "parent", "fingerprint"),
    *("confidence", "perturbation", "original"),
)


def print_run_list(
    runs: Sequence[RunSummary], as_json: bool, table_format: str
) -> None:
    """Print runs as a list in JSON, or as a table if there are any.

    Args:
        runs: The runs, all of them whole.
        as_json: Print JSON, whatever the format.
        table_format: `table`, `md`, `csv` or `latex`.
    """
    runs = _below_originals(runs)
    if as_json:
        echo_json([_as_json(run) for run in runs])
    elif table_format == "csv":
        echo_csv([_CSV_HEADER, *map(_csv_row, runs)])
    elif runs:
        draw(_table(runs), table_format, _TEXT_COLUMNS)


def _below_originals(runs: Sequence[RunSummary]) -> list[RunSummary]:
    """Put runs of perturbed examples below the run of their originals."""
    listed = {run.fingerprint for run in runs}
    found = []
    for run in runs:
        if run.original is None or run.original not in listed:
            found.append(run)
        if run.original is None:
            own = (each for each in runs if each.original == run.fingerprint)
            found += sorted(own, key=lambda each: str(each.perturbation))
    return found


def _as_json(run: RunSummary) -> dict[str, Any]:
    row = run._asdict()
    del row["problem"], row["record"], row["is_named"]
    headline = run.headline and run.headline._asdict()
    return {**row, "path": str(run.path), "headline": headline}


def _csv_row(run: RunSummary) -> Sequence[object]:
    score = run.headline
    numbers: list[object] = [None] * 5
    if score is not None:
        label = score_label(score)
        numbers = [label, score.value, score.ci_low, score.ci_high, score.n]
    return [
        *(run.run_id, run.started, run.dataset, run.task, run.split, run.model),
        *(run.status, *numbers, run.path, run.parent, run.fingerprint),
        *(run.confidence, run.perturbation, run.original),
    ]


def _table(runs: Sequence[RunSummary]) -> list[list[str]]:
    levels = {run.confidence for run in runs if run.headline and run.headline.ci}
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
        if with_level and score.ci and run.confidence is not None:
            interval += f" ({_percent(run.confidence)})"
        shown = [score_label(score), show_value(score), interval, str(score.n)]
    model = str(run.model)
    if run.perturbation is not None:
        model += f" ({run.perturbation})"
    names = [str(run.dataset), model]
    marks = [str(run.status), *["rescored"] * bool(run.parent)]
    return [run.run_id, _when(run.started), *names, *shown, ", ".join(marks)]


def _when(started: str | None) -> str:
    """Return a recorded time to the minute, in UTC."""
    from datetime import UTC

    if started is None:
        return NO_VALUE
    moment = datetime.fromisoformat(started).astimezone(UTC)
    return f"{moment:%Y-%m-%d %H:%M}"
