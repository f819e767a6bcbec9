"""`evalkit runs`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evalkit_cli.options.runs import folder_option, format_option, json_option
from evalkit_cli.printing.score_cells import score_label, show_interval, show_value
from evalkit_cli.printing.streams import echo, echo_csv, echo_json
from evalkit_cli.printing.tables import NO_VALUE, draw

if TYPE_CHECKING:
    from evalkit.runs import RunSummary

_MOST_PROBLEMS = 5

_HEADER = ("run", "evaluated (UTC)", "dataset", "model", "metric", "score", "CI", "n")
_TEXT_COLUMNS = (0, 1, 2, 3, 4, 8)

_CSV_HEADER = (
    *("run_id", "started", "dataset", "task", "split", "model", "status", "metric"),
    *("value", "ci_low", "ci_high", "n", "path", "parent", "evaluated", "repeat_of"),
    "confidence",
)


@click.command("runs")
@click.option("--dataset", metavar="NAME", help="Only runs on this data set.")
@click.option("--model", metavar="NAME", help="Only runs of this model.")
@folder_option
@json_option
@format_option
def runs_command(
    dataset: str | None,
    model: str | None,
    folder: Path,
    as_json: bool,
    table_format: str,
) -> None:
    """List the runs of a folder with their main score, the last evaluated first.

    \b
    Examples:
      evalkit runs
      evalkit runs --dataset hatecheck --format md
      evalkit runs -o old-runs --model my-model --json

    A run that was evaluated again is not written again; its time is that of the last
    evaluation. A repeat that gave other numbers is a run of its own, an "other repeat".
    A folder that is no whole run is named on the standard error, and the exit code is
    1 then; the other runs are listed all the same.
    """  # noqa: D301 - click reads the backspace
    from evalkit.runs import list_runs

    everything = list_runs(folder)
    problems = [run.problem for run in everything if run.problem is not None]
    garbled = [run.warning for run in everything if run.warning is not None]
    whole = [run for run in everything if run.problem is None]
    chosen = [
        run
        for run in whole
        if dataset in (None, run.dataset) and model in (None, run.model)
    ]
    if as_json:
        echo_json([_as_json(run) for run in chosen])
    elif table_format == "csv":
        echo_csv([_CSV_HEADER, *map(_csv_row, chosen)])
    elif chosen:
        draw(_table(chosen), table_format, _TEXT_COLUMNS)
    if not chosen:
        echo(f"evalkit: {_why_none(folder, len(whole))}", err=True)
    most = _MOST_PROBLEMS if table_format == "table" and not as_json else None
    _tell([*problems, *garbled], most)
    if problems:
        click.get_current_context().exit(1)


def _as_json(run: RunSummary) -> dict[str, Any]:
    row = run._asdict()
    del row["problem"], row["bounds"], row["warning"]
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
        *(run.status, *numbers, run.path, run.parent, run.evaluated, run.repeat_of),
        run.confidence,
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
        interval = show_interval(score, run.bounds)
        if with_level and score.ci and run.confidence is not None:
            interval += f" ({_percent(run.confidence)})"
        shown = [score_label(score), show_value(score), interval, str(score.n)]
    names = [str(name) for name in (run.dataset, run.model)]
    marks = [str(run.status)]
    marks += ["rescored"] * bool(run.parent) + ["other repeat"] * bool(run.repeat_of)
    return [run.run_id, _when(run.evaluated), *names, *shown, ", ".join(marks)]


def _when(evaluated: str | None) -> str:
    """Return a recorded time to the minute, in UTC."""
    from datetime import UTC, datetime

    if evaluated is None:
        return NO_VALUE
    moment = datetime.fromisoformat(evaluated).astimezone(UTC)
    return f"{moment:%Y-%m-%d %H:%M}"


def _why_none(folder: Path, runs: int) -> str:
    if runs:
        return f"none of the {runs} runs in {folder} is of this data set and model"
    if not folder.exists():
        return f"there is no folder {folder}; `evalkit eval` writes runs, -o says where"
    return f"there are no runs in {folder}; `evalkit eval` writes them, -o says where"


def _tell(problems: Sequence[str], most: int | None) -> None:
    for problem in problems[:most]:
        echo(f"evalkit: warning: {problem}", err=True)
    more = len(problems) - len(problems[:most])
    if more > 0:
        echo(f"evalkit: warning: and {more} more like these", err=True)
