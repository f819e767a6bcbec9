"""`evalkit runs`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import click

from evalkit_cli.options.run_names import since_option
from evalkit_cli.options.runs import folder_option, format_option, json_option
from evalkit_cli.printing.streams import echo

_MOST_PROBLEMS = 5


@click.command("runs")
@click.option("--dataset", metavar="NAME", help="Only runs on this data set.")
@click.option("--model", metavar="NAME", help="Only runs of this model.")
@since_option
@folder_option
@json_option
@format_option
def runs_command(
    dataset: str | None,
    model: str | None,
    since: datetime | None,
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
      evalkit runs --since 7d

    Of runs with the same inputs (the same fingerprint) the latest is listed.
    A folder that is no whole run is named on the standard error, and the exit code is
    1 then; the other runs are listed all the same.
    """  # noqa: D301 - click reads the backspace
    from evalkit.runs import list_runs
    from evalkit_cli.printing.run_list import print_run_list

    everything = list_runs(folder)
    problems = [run.problem for run in everything if run.problem is not None]
    whole = [run for run in everything if run.problem is None]
    chosen = [
        run
        for run in whole
        if dataset in (None, run.record.dataset)
        and model in (None, run.record.model)
        and (since is None or (run.started is not None and run.started >= since))
    ]
    print_run_list(chosen, as_json, table_format)
    if not chosen:
        echo(f"evalkit: {_why_none(folder, len(whole))}", err=True)
    most = _MOST_PROBLEMS if table_format == "table" and not as_json else None
    _tell(problems, most)
    if problems:
        click.get_current_context().exit(1)


def _why_none(folder: Path, runs: int) -> str:
    from evalkit.places import is_offline, is_remote, missing, uri_of

    is_far = is_remote(str(folder))
    where = uri_of(folder) if is_far else str(folder)
    if runs:
        return f"none of the {runs} runs in {where} is of this data set, model and time"
    if is_far and is_offline():
        return missing(where)
    if not is_far and not folder.exists():
        return f"there is no folder {where}; `evalkit eval` writes runs, -o says where"
    return f"there are no runs in {where}; `evalkit eval` writes them, -o says where"


def _tell(problems: Sequence[str], most: int | None) -> None:
    for problem in problems[:most]:
        echo(f"evalkit: warning: {problem}", err=True)
    more = len(problems) - len(problems[:most])
    if more > 0:
        echo(f"evalkit: warning: and {more} more like these", err=True)
