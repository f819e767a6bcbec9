"""Finds the runs that a user names, and says which they are."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from evalkit_cli.options.choices import setting
from evalkit_cli.printing.streams import echo

if TYPE_CHECKING:
    from evalkit.runs import FoundRun


def read_since(
    _context: click.Context, _option: click.Parameter, given: str | None
) -> datetime | None:
    """Read `--since`: a callback of click."""
    if given is None:
        return None
    from evalkit.errors import EvalkitError
    from evalkit.runs import read_moment

    try:
        return read_moment(given)
    except EvalkitError as error:
        raise click.UsageError(f"--since {error}.") from error


since_option = setting(
    "--since",
    metavar="AGO|DATE",
    callback=read_since,
    help="Only runs evaluated since then: 7d (min, h, d or w) ago, or a date in UTC.",
)
"""The option `--since` of a command that lists runs; it passes a moment or None."""


def run_paths(
    references: Sequence[str], folder: Path, *, quiet: bool = False
) -> list[Path]:
    """Find runs, and say on the standard error which run a model's name means.

    Args:
        references: What the runs are called.
        folder: The folder that they are looked for in.
        quiet: Say nothing.

    Returns:
        The run folders, in the same order.

    Raises:
        StorageError: One is not found.
    """
    from evalkit.runs import find_runs

    found = find_runs(references, folder)
    for run in found:
        if run.chosen is not None and not quiet:
            echo(f"evalkit: {_which(run)}", err=True)
    return [run.path for run in found]


def _which(run: FoundRun) -> str:
    assert run.chosen is not None
    status, facts = run.chosen.record.status, [str(run.chosen.record.dataset)]
    if run.chosen.started is not None:
        moment = run.chosen.started.astimezone(UTC)
        facts.append(f"evaluated {moment:%Y-%m-%d %H:%M} UTC")
    if status == "partial":
        facts.append("partial: a metric did not score all responses")
    if run.older:
        what = "complete runs" if status == "complete" else "runs"
        facts.append(f"the newest of {run.older + 1} {what}")
    return f"{run.reference} is {run.path} ({', '.join(facts)})"
