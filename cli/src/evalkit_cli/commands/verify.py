"""`evalkit verify`."""

from __future__ import annotations

from pathlib import Path

import click

from evalkit_cli.options.completion import complete_runs
from evalkit_cli.options.local_plugins import plugin_option
from evalkit_cli.options.run_names import run_paths
from evalkit_cli.options.runs import folder_option, json_option, quiet_option
from evalkit_cli.options.scoring import jobs_option
from evalkit_cli.printing.progress_bar import watched
from evalkit_cli.printing.streams import echo_json, plugin_output_to_stderr


@click.command("verify")
@click.argument("run", metavar="RUN", shell_complete=complete_runs)
@click.option(
    "predictions",
    "-p",
    "--predictions",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Also compare this file with the predictions that the run was made from.",
)
@jobs_option
@folder_option
@json_option
@quiet_option
@plugin_option
def verify_command(
    run: str,
    predictions: Path | None,
    jobs: int,
    folder: Path,
    as_json: bool,
    quiet: bool,
) -> None:
    """Compute the scores of a run again, and say whether they are the same.

    \b
    Examples:
      evalkit verify latest
      evalkit verify 3f2a --json
      evalkit verify my-model -p my-model.jsonl

    A RUN is a path, the start of an id, `latest` or a model, also as MODEL@DATASET.
    First the SHA-256 of every file is checked. Then scores and intervals are computed
    from the answers and predictions in the run folder, by the metrics that are
    installed now. The report also says what has changed since: versions and source
    files of plugins, and the data.

    Exit codes: 0 all numbers that could be computed are the same; 1 some differ, none
    could be computed, the file of predictions is another one, or an error; 2 wrong
    usage.
    """  # noqa: D301 - click reads the backspace
    from evalkit_analysis_upkeep import verify
    from evalkit_cli.printing.verification_report import print_verification

    with plugin_output_to_stderr(), watched(quiet) as progress:
        [path] = run_paths([run], folder, quiet=quiet)
        found = verify(
            path, folder=folder, jobs=jobs, predictions=predictions, progress=progress
        )
    if as_json:
        echo_json(found.to_dict())
    else:
        print_verification(found, quiet=quiet)
    if not found.agrees:
        raise click.exceptions.Exit(1)
