"""`evalkit compare`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from evalkit_cli.commands.thresholds import exit_if_worse
from evalkit_cli.options.choices import setting
from evalkit_cli.options.completion import complete_runs
from evalkit_cli.options.local_plugins import plugin_option
from evalkit_cli.options.metrics import metric_with
from evalkit_cli.options.run_names import run_paths
from evalkit_cli.options.runs import (
    folder_option,
    format_option,
    json_option,
    quiet_with,
    verbose_with,
)
from evalkit_cli.options.scoring import confidence_with, min_n_with, seed_with
from evalkit_cli.printing.progress_bar import watched
from evalkit_cli.printing.streams import echo_json, plugin_output_to_stderr

_FEWEST_RUNS = 2


@click.command("compare")
@click.argument("runs", nargs=-1, metavar="RUN RUN…", shell_complete=complete_runs)
@metric_with("Compare this metric instead of all that the runs share; repeatable.")
@setting("--by-tag/--no-tags", "tags", default=True, help="Compare every tag, too.")
@min_n_with(
    "Leave out tags of fewer examples; every tag that is compared widens the "
    "intervals of all."
)
@setting(
    "--common",
    is_flag=True,
    help="Compare the examples that both runs have, although their data differ.",
)
@click.option(
    "--allow",
    multiple=True,
    metavar="FIELD",
    help="Compare runs that differ in this field, such as extraction. Repeatable.",
)
@setting("--all-pairs", is_flag=True, help="Compare each run with every other.")
@setting(
    "--margin",
    type=click.FloatRange(min=0, min_open=True),
    help="Differences up to this count as none; as stored: 0.01 is one point.",
)
@setting(
    "--fail-if-worse",
    is_flag=True,
    help="Exit with 3 where the first run is shown to be worse than another, by more "
    "than --margin if that is given, by any metric on the whole set.",
)
@confidence_with("Probability of the intervals; 1 less it is the level of the tests.")
@seed_with("Seed of what is drawn.")
@folder_option
@json_option
@format_option
@quiet_with("Print what is concluded of the whole set and nothing else.")
@verbose_with("Print every tag, metric and notice, not only the worst tags.")
@plugin_option
def compare_command(
    runs: tuple[str, ...],
    metrics: tuple[str, ...],
    folder: Path,
    as_json: bool,
    table_format: str,
    quiet: bool,
    verbose: bool,
    fail_if_worse: bool,
    **options: Any,
) -> None:
    """Compare runs on the same examples, each with the first or all in pairs.

    \b
    A RUN is the path of a run, the start of its id, `latest`, or a model: its newest
    complete run, also as MODEL@DATASET.
    \b
    Examples:
      evalkit compare 3f2a 91bc
      evalkit compare gpt@hatecheck roberta@hatecheck
      evalkit compare base new newest --all-pairs --no-tags
      evalkit compare base new newest --metric macro-f1 --min-n 20
      evalkit compare new base -m accuracy --fail-if-worse --margin 0.01

    Runs of other data, or read in another way, are refused with what differs.
    Comparisons that are read together (of several runs, or on several tags) have
    p-values and intervals that are adjusted for their number.

    Exit codes: 0 done, whatever is concluded; 1 an error or runs that cannot be
    compared; 2 wrong usage; 3 the first run is worse, with --fail-if-worse.
    """  # noqa: D301 - click reads the backspace
    if len(runs) < _FEWEST_RUNS:
        raise click.UsageError("name at least two runs (see `evalkit runs`).")
    from evalkit_analysis_compare import compare
    from evalkit_cli.printing.comparison_report import print_comparison

    paths = run_paths(runs, folder, quiet=quiet)
    with plugin_output_to_stderr(), watched(quiet) as progress:
        comparison = compare(
            *paths,
            metrics=list(metrics) or None,
            runs=folder,
            progress=progress,
            **options,
        )
    if as_json:
        echo_json(comparison.to_dict())
    else:
        print_comparison(comparison, table_format, verbose=verbose, quiet=quiet)
    if fail_if_worse:
        exit_if_worse(comparison)
