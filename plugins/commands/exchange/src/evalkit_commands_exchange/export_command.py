"""`evalkit export`."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import click

from evalkit_cli.commanding import (
    RunsFolder,
    complete_runs,
    echo,
    echo_json,
    json_option,
    plugin_output_to_stderr,
    run_paths,
)
from evalkit_commands_exchange.exported import Format


@click.command("export")
@click.argument("format", type=click.Choice(get_args(Format)))
@click.argument(
    "runs", metavar="RUN…", nargs=-1, required=True, shell_complete=complete_runs
)
@click.option(
    "-o",
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("exported"),
    show_default=True,
    help="Folder to write to.",
)
@click.option(
    "--runs",
    "folder",
    type=RunsFolder(),
    default=Path("runs"),
    show_default=True,
    envvar="EVALKIT_OUT",
    help="Folder that runs were written to.",
)
@click.option("--overwrite", is_flag=True, help="Replace files that exist.")
@json_option
def export_command(
    format: Format,
    runs: tuple[str, ...],
    out: Path,
    folder: Path,
    overwrite: bool,
    as_json: bool,
) -> None:
    """Write runs in the format of another evaluation tool.

    \b
    Examples:
      evalkit export helm latest -o benchmark_output
      evalkit export lm-eval gpt@sample-nli gpt@sample-qa
      evalkit export hub 3f2a -o my-model

    A RUN is the path of a run folder, the start of its id, `latest`, or a model: its
    newest complete run, also as MODEL@DATASET. Nothing is written if the format cannot
    hold one of the runs. A notice says what is left out.
    """  # noqa: D301 - click reads the backspace
    from evalkit_commands_exchange.exporting import export_runs

    paths = run_paths(runs, folder, quiet=as_json)
    with plugin_output_to_stderr():
        export = export_runs(format, paths, out, overwrite=overwrite)
    if as_json:
        files = [str(path) for path in export.files]
        echo_json({"files": files, "notices": [*export.notices]})
        return
    for path in export.files:
        echo(str(path))
    for notice in export.notices:
        echo(f"evalkit: notice: {notice}", err=True)
