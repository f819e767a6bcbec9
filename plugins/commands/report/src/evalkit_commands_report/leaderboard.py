"""`evalkit leaderboard`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from evalkit_cli.commanding import (
    RunsFolder,
    complete_names,
    draw,
    draw_with_notes,
    echo,
    echo_csv,
    echo_json,
    echo_lines,
    plugin_output_to_stderr,
    quiet_with,
    since_option,
    watched,
)

if TYPE_CHECKING:
    from evalkit_commands_report.leaderboard_board import Board

FORMATS = ("table", "md", "csv", "latex", "json", "html")


@click.command("leaderboard")
@click.argument(
    "folders", nargs=-1, metavar="[FOLDER…]", type=RunsFolder(), envvar="EVALKIT_OUT"
)
@click.option(
    "-o",
    "--out",
    "named",
    multiple=True,
    metavar="FOLDER",
    type=RunsFolder(),
    help="The same as the argument, as other commands name it; repeatable.",
)
@click.option(
    "-m",
    "--metric",
    metavar="NAME[:KEY=VALUE,…]",
    shell_complete=complete_names("metrics"),
    help="The score that is shown; default: the main one of each data set.",
)
@click.option(
    "--tag",
    help="Scores of the examples with this tag only, or macro:FACET for the mean over "
    "the tags of a facet.",
)
@click.option(
    "--sort",
    metavar="mean|win-rate|model|DATASET",
    help="What models are sorted by; default: the mean, where all have one, else the "
    "win rate; of one data set its scores.",
)
@click.option(
    "--ranks/--no-ranks",
    default=True,
    show_default=True,
    help="Whether all pairs of models are compared on each data set, which takes time "
    "where they are many.",
)
@since_option
@click.option(
    "--format",
    "table_format",
    type=click.Choice(FORMATS),
    default="table",
    show_default=True,
    envvar="EVALKIT_FORMAT",
    help="How it is printed; html is a page of its own.",
)
@click.option(
    "--json", "as_json", is_flag=True, envvar="EVALKIT_JSON", help="Print JSON."
)
@quiet_with("Print the table and nothing else.")
def leaderboard_command(
    folders: tuple[Path, ...],
    named: tuple[Path, ...],
    metric: str | None,
    tag: str | None,
    sort: str | None,
    ranks: bool,
    since: datetime | None,
    table_format: str,
    as_json: bool,
    quiet: bool,
) -> None:
    """Show models by data sets: scores, their mean, win rates and possible ranks.

    \b
    Examples:
      evalkit leaderboard
      evalkit leaderboard nightly --since 7d --metric accuracy --format md
      evalkit leaderboard runs other-runs --tag length:long --sort win-rate
      evalkit leaderboard --format html > leaderboard.html

    The newest complete run of each model on each data set of the folders counts (`runs`
    by default). The mean over data sets is there for models that have a score on all.
    A range of ranks says where a model may be by comparisons of all pairs on the same
    examples, adjusted for their number.

    Exit codes: 0 done; 1 an error, such as no run with a score; 2 wrong usage.
    """  # noqa: D301 - click reads the backspace
    from evalkit.errors import DataError
    from evalkit_commands_report.leaderboard_board import make_board
    from evalkit_commands_report.leaderboard_runs import (
        choose_runs,
        columns_of,
        is_mean,
    )

    source = click.get_current_context().get_parameter_source("folders")
    if named and source is not ParameterSource.COMMANDLINE:
        folders = ()  # those of the environment
    places = (*folders, *named) or (Path("runs"),)
    with plugin_output_to_stderr(), watched(quiet) as progress:
        chosen = choose_runs(places, since)
        columns, lacking = columns_of(chosen, metric, tag)
        if not columns:
            shown = ", ".join(map(_shown, places))
            said = "; ".join([*lacking, *chosen.notices][:5])
            why = f": {said}" if said else ""
            raise DataError(f"no complete run in {shown} has such a score{why}")
        _check_order(sort, [name for each in columns for name in each.data.names])
        board = make_board(
            columns, None if is_mean(tag) else tag, ranks=ranks, progress=progress
        )
    board.notices[:0] = [*chosen.notices, *lacking]
    if sort is not None:
        _sort(board, sort)
    _print(board, "json" if as_json else table_format, quiet)


def _check_order(by: str | None, datasets: Sequence[str]) -> None:
    from evalkit_commands_report.leaderboard_board import MEAN, MODEL, WIN_RATE

    known = (MEAN, WIN_RATE, MODEL, *datasets)
    if by is not None and by not in known:
        shown = ", ".join((MEAN, WIN_RATE, MODEL, *dict.fromkeys(datasets[::2])))
        raise click.UsageError(f"--sort {by!r} is none of {shown}.")


def _sort(board: Board, by: str) -> None:
    from evalkit_commands_report.leaderboard_board import MEAN, WIN_RATE, sort_board

    numbers = {MEAN: board.means, WIN_RATE: board.win_rates}
    if by in numbers and not numbers[by]:
        board.notices.append(f"not sorted by {by}: no model has one")
        return
    sort_board(board, by)


def _print(board: Board, table_format: str, quiet: bool) -> None:
    from evalkit_commands_report.leaderboard_page import html_page
    from evalkit_commands_report.leaderboard_tables import (
        as_json,
        csv_rows,
        explanations,
        table_of,
    )

    notices = [f"notice: {each}" for each in board.notices]
    notes = [] if quiet else [*explanations(board), *notices]
    if table_format == "json":
        echo_json(as_json(board))
    elif table_format == "html":
        echo_lines(html_page(table_of(board), notes))
    elif table_format == "csv":
        echo_csv(csv_rows(board))
        _say(() if quiet else notices)
    elif table_format == "table":
        lines = ["", *notes] if notes else []
        draw_with_notes(table_of(board), table_format, lines, (0,))
    else:
        draw(table_of(board), table_format, (0,))
        _say(notes)


def _say(notes: Sequence[str]) -> None:
    """Print what is to be known of a table that is data by itself."""
    for note in notes:
        echo(note, err=True)


def _shown(folder: Path) -> str:
    from evalkit.places import is_remote, uri_of

    return uri_of(folder) if is_remote(str(folder)) else str(folder)
