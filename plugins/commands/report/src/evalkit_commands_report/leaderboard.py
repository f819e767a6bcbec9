"""`evalkit leaderboard`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evalkit_cli.commanding import (
    InputFile,
    RunsFolder,
    complete_names,
    draw,
    draw_with_notes,
    echo,
    echo_csv,
    echo_json,
    echo_lines,
    json_option,
    plugin_output_to_stderr,
    quiet_with,
    refuse_given,
    since_option,
    watched,
)

if TYPE_CHECKING:
    from evalkit_analysis_ratings.pairwise import PairwiseMethod
    from evalkit_analysis_suites.records import Board

FORMATS = ("table", "md", "csv", "latex", "json", "html")

MOST_NOTICES = 20
"""Notices that are printed beside a table."""


@click.command("leaderboard")
@click.argument(
    "folders", nargs=-1, metavar="[RUNS…]", type=RunsFolder(), envvar="EVALKIT_OUT"
)
@click.option(
    "--suite",
    metavar="NAME|FILE",
    shell_complete=complete_names("suites"),
    help="Suite that defines means, rating and ranks. Default: the mean of all "
    "datasets.",
)
@click.option(
    "--depth",
    type=click.IntRange(min=0),
    default=1,
    show_default=True,
    help="Levels of the suite below the total.",
)
@click.option(
    "-m",
    "--metric",
    metavar="NAME[:KEY=VALUE,…]",
    shell_complete=complete_names("metrics"),
    help="Metric. Default: the main score of each dataset.",
)
@click.option(
    "--tag",
    help="Score only the examples with this tag; macro:FACET is the mean over a facet.",
)
@click.option(
    "--language",
    "languages",
    multiple=True,
    help="Keep only datasets of this language. Repeatable.",
)
@click.option(
    "--round",
    "rounds",
    type=int,
    multiple=True,
    help="Keep only datasets of this round. Repeatable.",
)
@click.option(
    "--perturbed",
    is_flag=True,
    help="Show the worst-case score under perturbation beside each dataset.",
)
@click.option(
    "--verdicts",
    metavar="FILE",
    type=InputFile(),
    help="Rate models by pairwise verdicts instead of runs: rows with model_a, "
    "model_b and winner (a, b or tie).",
)
@click.option(
    "--rating",
    "method",
    type=click.Choice(("bradley-terry", "elo", "win-rate", "length-controlled")),
    default="bradley-terry",
    show_default=True,
    help="Rating of --verdicts.",
)
@click.option(
    "--reference",
    metavar="MODEL",
    help="Model that win rates of --verdicts are against.",
)
@click.option(
    "--sort",
    metavar="COLUMN",
    help="Column to sort by. Default: the rating of the suite, else the mean.",
)
@click.option(
    "--ranks/--no-ranks",
    default=True,
    show_default=True,
    help="Compute ranges of ranks, which takes longer.",
)
@since_option
@click.option(
    "--format",
    "table_format",
    type=click.Choice(FORMATS),
    default="table",
    show_default=True,
    envvar="EVALKIT_FORMAT",
    help="Output format; html is a self-contained page.",
)
@json_option
@quiet_with("Print only the table.")
def leaderboard_command(
    verdicts: Path | None,
    method: PairwiseMethod,
    reference: str | None,
    sort: str | None,
    depth: int,
    table_format: str,
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Compare models on all datasets: scores, means, ratings and ranks.

    \b
    Examples:
      evalkit leaderboard
      evalkit leaderboard --suite tweeteval --depth 2
      evalkit leaderboard nightly --since 7d --metric accuracy --format md
      evalkit leaderboard --verdicts verdicts.jsonl --rating elo
      evalkit leaderboard --format html > leaderboard.html

    RUNS are folders of runs (default: `runs`) or single runs. The newest complete run
    of each model on each dataset counts.

    Exit codes: 0 done; 1 an error, such as no run with a score; 2 wrong usage.
    """  # noqa: D301 - click reads the backspace
    from evalkit_commands_report.leaderboard_columns import sort_keys, sort_models

    if verdicts is None:
        refuse_given(("method", "reference"), "is an option of --verdicts.")
        with plugin_output_to_stderr(), watched(quiet) as progress:
            board = _board_of_runs(**options, progress=progress)
    else:
        others = options.keys() | {"depth"}
        refuse_given(others, "is an option of runs, not of verdicts.")
        board = _board_of_verdicts(verdicts, method, reference)
    if sort is not None:
        keys = sort_keys(board)
        if sort not in keys:
            names = ", ".join(keys)
            raise click.UsageError(f"--sort: unknown column {sort!r}. Columns: {names}")
        board = sort_models(board, sort)
    _print(board, depth, "json" if as_json else table_format, quiet)


def _board_of_runs(
    folders: tuple[Path, ...], suite: str | None, perturbed: bool, **options: Any
) -> Board:
    from evalkit.places import is_remote
    from evalkit.runs import find_run
    from evalkit_analysis_suites import find_suite, make_board
    from evalkit_commands_report.leaderboard_perturbed import with_worst_cases

    places = [
        place if place.is_dir() or is_remote(str(place)) else find_run(place)
        for place in folders or (Path("runs"),)
    ]
    rules = None if suite is None else find_suite(suite)
    board = make_board(rules, places, **options)
    return with_worst_cases(board) if perturbed else board


def _board_of_verdicts(
    path: Path, method: PairwiseMethod, reference: str | None
) -> Board:
    from evalkit_analysis_ratings.pairwise import rate_verdicts, read_verdicts
    from evalkit_analysis_suites.records import Board, Member
    from evalkit_commands_report.leaderboard_columns import sort_models

    verdicts = read_verdicts(path)
    rating = rate_verdicts(verdicts, method, reference=reference)
    board = Board("", Member("", (), {}, 0), verdicts.models, rating, 0.95, ())
    return sort_models(board, method)


def _print(board: Board, depth: int, table_format: str, quiet: bool) -> None:
    from evalkit_commands_report.leaderboard_columns import (
        board_rows,
        explanations,
        notices_of,
    )
    from evalkit_commands_report.leaderboard_page import board_page
    from evalkit_commands_report.leaderboard_values import as_json, csv_rows

    notices = [f"notice: {each}" for each in notices_of(board)]
    if len(notices) > MOST_NOTICES:
        rest = f"notice: {len(notices) - MOST_NOTICES} more; --json has all"
        notices = [*notices[:MOST_NOTICES], rest]
    notes = [] if quiet else [*explanations(board, depth), *notices]
    if table_format == "json":
        echo_json(as_json(board))
    elif table_format == "html":
        echo_lines(board_page(board, depth))
    elif table_format == "table":
        lines = ["", *notes] if notes else []
        draw_with_notes(board_rows(board, depth), table_format, lines, (0,))
    else:
        if table_format == "csv":
            echo_csv(csv_rows(board))
        else:
            draw(board_rows(board, depth), table_format, (0,))
        for note in notes:  # apart from a table that is data by itself
            echo(note, err=True)
