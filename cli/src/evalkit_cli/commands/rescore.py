"""`evalkit rescore`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from evalkit_cli.options.completion import complete_runs
from evalkit_cli.options.local_plugins import plugin_option
from evalkit_cli.options.metrics import chosen_metrics, metric_with, params_option
from evalkit_cli.options.run_names import run_paths
from evalkit_cli.options.runs import new_run_options
from evalkit_cli.options.scoring import jobs_option, observer_option
from evalkit_cli.printing.progress_bar import watched
from evalkit_cli.printing.streams import plugin_output_to_stderr


@click.command("rescore")
@click.argument("run", metavar="RUN", shell_complete=complete_runs)
@metric_with("Compute this metric; repeatable.")
@click.option(
    "--data",
    metavar="FILE",
    help="The file of examples that RUN was made from, where that was no installed "
    "data set and a metric reads a field of the input.",
)
@params_option
@jobs_option
@observer_option
@new_run_options
@plugin_option
def rescore_command(
    run: str,
    metrics: tuple[str, ...],
    params: Path | None,
    data: str | None,
    jobs: int,
    observers: tuple[str, ...],
    folder: Path,
    quiet: bool,
    **how: Any,
) -> None:
    """Compute further metrics of a run from its folder.

    \b
    A RUN is the path of a run, the start of its id, `latest`, or a model: its newest
    complete run, also as MODEL@DATASET.
    \b
    Examples:
      evalkit rescore latest -m macro-f1
      evalkit rescore 3f2a -m macro-f1:labels=seen -m accuracy
      evalkit rescore gpt@hatecheck -m my-metric -o runs --json

    The predictions are not needed any more, and the data only by metrics that ask for
    a field of the input. What is written is a new run that names RUN as its parent and
    holds its scores too; RUN stays as it is. To read the responses of RUN in another
    way, evaluate them again: evalkit eval DATASET --predictions RUN --extract ….

    Exit codes: 0 done; 1 an error, such as a run that is not there, or a metric that
    failed; 2 wrong usage.
    """  # noqa: D301 - click reads the backspace
    from evalkit import Registry, rescore
    from evalkit_cli.printing.run_views import print_new_run

    if not metrics:
        raise click.UsageError("name a metric (-m NAME).")
    registry = Registry()
    with plugin_output_to_stderr(), watched(quiet) as progress:
        [path] = run_paths([run], folder, quiet=quiet)
        result = rescore(
            path,
            chosen_metrics(registry, metrics, params) or (),
            data=data,
            folder=folder,
            out=folder,
            jobs=jobs,
            observers=observers,
            registry=registry,
            progress=progress,
        )
    print_new_run(result, quiet=quiet, **how)
