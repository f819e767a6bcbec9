"""Prints a run that was made of other runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from evalkit_cli.printing.run_views import print_run
from evalkit_cli.printing.streams import echo

if TYPE_CHECKING:
    from evalkit import Result


def print_new_run(result: Result, *, quiet: bool, **how: Any) -> None:
    """Print the report of a new run, and which runs it was made of."""
    print_run(result, quiet=quiet, **how)
    if not quiet and not how["as_json"]:
        echo(_origin(result), err=how["table_format"] != "table")
    if result.is_failed:
        raise click.exceptions.Exit(1)


def _origin(result: Result) -> str:
    record = result.record
    if record.parent is not None:
        return f"new run {result.run_id}, parent {record.parent[:8]}"
    parts = ", ".join(fingerprint[:8] for fingerprint in record.merged)
    return f"new run {result.run_id}, merged from {parts}"
