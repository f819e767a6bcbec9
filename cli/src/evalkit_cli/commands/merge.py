"""`evalkit merge`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from evalkit_cli.options.completion import complete_runs
from evalkit_cli.options.local_plugins import plugin_option
from evalkit_cli.options.run_names import run_paths
from evalkit_cli.options.runs import new_run_options
from evalkit_cli.printing.progress_bar import watched
from evalkit_cli.printing.streams import plugin_output_to_stderr

_FEWEST_RUNS = 2


@click.command("merge")
@click.argument("runs", nargs=-1, metavar="RUN RUN…", shell_complete=complete_runs)
@click.option(
    "--dataset",
    metavar="NAME",
    help="Name of the data set of the new run; needed where the runs' differ.",
)
@click.option(
    "--model",
    metavar="NAME",
    help="Name of the model of the new run; needed where the runs' differ.",
)
@new_run_options
@plugin_option
def merge_command(
    runs: tuple[str, ...],
    dataset: str | None,
    model: str | None,
    folder: Path,
    quiet: bool,
    **how: Any,
) -> None:
    """Put runs over disjoint examples together, as one run over all of them.

    \b
    Examples:
      evalkit merge 3f2a 91bc
      evalkit merge runs/part-1/* runs/part-2/* --dataset whole --model my-model

    A RUN is a path, the start of an id, `latest` or a model, also as MODEL@DATASET.
    Neither data nor predictions are needed: the examples in the run folders are joined
    and scored. Scores and intervals are those of a single run over all examples. Runs
    that share examples, were made in other ways, or hold no answers are refused.

    Exit codes: 0 done; 1 an error, runs that do not go together, or a metric that
    failed; 2 wrong usage.
    """  # noqa: D301 - click reads the backspace
    if len(runs) < _FEWEST_RUNS:
        raise click.UsageError("name at least two runs (see `evalkit runs`).")
    from evalkit_analysis_upkeep import merge
    from evalkit_cli.printing.run_views import print_new_run

    with plugin_output_to_stderr(), watched(quiet) as progress:
        where: Any = {"folder": folder, "out": folder, "progress": progress}
        paths = run_paths(runs, folder, quiet=quiet)
        result = merge(paths, dataset=dataset, model=model, **where)
    print_new_run(result, quiet=quiet, **how)
