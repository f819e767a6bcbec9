"""`evalkit import`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evalkit_cli.commanding import (
    NO_VALUE,
    RunsFolder,
    draw,
    echo,
    echo_json,
    json_option,
    plugin_output_to_stderr,
    watched,
)

if TYPE_CHECKING:
    from evalkit_commands_exchange.importing import Imported


@click.command("import")
@click.argument("folder", metavar="DIR", type=click.Path(exists=True, path_type=Path))
@click.option(
    "-o",
    "--out",
    type=RunsFolder(),
    default=Path("runs"),
    help="Folder that runs are written to; imported datasets go to `imported` in it.",
)
@click.option(
    "--only",
    multiple=True,
    metavar="PATTERN",
    help="Import only datasets whose name matches, such as 'helm-*'. Repeatable.",
)
@click.option("--dry-run", is_flag=True, help="List the runs, and write nothing.")
@json_option
def import_command(
    folder: Path, out: Path, only: tuple[str, ...], dry_run: bool, as_json: bool
) -> None:
    """Import the runs of other tools in a folder.

    \b
    Examples:
      evalkit import benchmark_output/runs/v1
      evalkit import lm-eval-output/ -o runs --only 'mmlu-*'

    The tools are HELM, lm-evaluation-harness, Inspect, SEA-HELM and the Hugging Face
    hub. Each dataset becomes a benchmark file. The responses are scored again, and the
    tool's numbers are shown beside evalkit's; original.parquet of each run holds them.

    Exit codes: 0 done; 1 a run that could not be imported, or none found.
    """  # noqa: D301 - click reads the backspace
    from evalkit import Registry
    from evalkit.places import is_remote
    from evalkit_commands_exchange.importing import import_runs

    if is_remote(str(out)):
        raise click.UsageError("-o must be a folder of this machine.")
    with plugin_output_to_stderr(), watched(False) as progress:
        imported = import_runs(
            folder, out, Registry(), only=only, dry_run=dry_run, progress=progress
        )
    if as_json:
        echo_json(_record(imported))
    elif imported.runs:
        _print(imported, folder)
    _report(imported, folder)
    if imported.failures or not imported.runs:
        raise click.exceptions.Exit(1)


def _record(imported: Imported) -> dict[str, Any]:
    runs = [
        {"tool": run.tool, "source": str(run.source), "scores": compared}
        | {"dataset": run.dataset, "model": run.model}
        | {"run": result and str(result.path)}
        for run, result, compared in imported.runs
    ]
    unread = [str(path) for path in imported.unread]
    lists = {"failures": imported.failures, "notices": imported.notices}
    return {"runs": runs, **lists, "unread": unread}


def _print(imported: Imported, folder: Path) -> None:
    """Print the tool's numbers beside evalkit's."""
    from evalkit.reporting import count_of

    header = ["dataset", "model", "of", "tool's metric", "tool", "evalkit's metric"]
    rows, hidden = [[*header, "evalkit", "difference", "note", "source"]], 0
    for run, result, compared in imported.runs:
        for each in compared:
            if result is not None and each["evalkit"] is None:
                hidden += 1
                continue
            parts = each["tag"], each["perturbation"], each["computed_on"]
            cells = [run.dataset, run.model, " ".join(filter(None, parts)) or "all"]
            cells += [each["metric"], _number(each["tool"])]
            cells += [each["evalkit_metric"] or NO_VALUE, _number(each["evalkit"])]
            cells += [_number(each["difference"]), each["explanation"]]
            rows.append([*cells, str(run.source.relative_to(folder))])
    if len({tuple(row[:4]) for row in rows}) == len(rows) and not imported.notices:
        rows = [row[:-1] for row in rows]
    draw(rows, "table", texts=(0, 1, 2, 3, 5, 8, 9))
    if hidden:
        more = count_of(hidden, "further number")
        echo(f"{more} without a counterpart; --json lists them", err=True)


def _number(value: float | None) -> str:
    return NO_VALUE if value is None else f"{value:.4f}".rstrip("0").rstrip(".")


def _report(imported: Imported, folder: Path) -> None:
    """Print notices, and what was not imported."""
    from evalkit.reporting import count_of

    for notice in imported.notices:
        echo(f"evalkit: notice: {notice}", err=True)
    for failure in imported.failures:
        echo(f"evalkit: error: {failure}", err=True)
    if not imported.runs and not imported.failures:
        echo(f"evalkit: error: {folder}: no matching run of another tool", err=True)
    written = [result for _, result, _ in imported.runs if result]
    echo(f"{count_of(len(written), 'run')} written", err=True)
    if imported.unread:
        names = ", ".join(str(path.relative_to(folder)) for path in imported.unread[:5])
        count = len(imported.unread)
        unread = "1 file is" if count == 1 else f"{count} files are"
        names += ", …" * (count > 5)
        echo(f"{unread} not part of an imported run: {names}", err=True)
