"""`evalkit schema`."""

from __future__ import annotations

import click

from evalkit_cli.commanding import echo_lines
from evalkit_schemas_standard.named import schema_names


@click.group("schema")
def schema_command() -> None:
    """Show the schemas of data, and check files."""


@schema_command.command("list")
def list_command() -> None:
    """List the schemas that are installed."""
    echo_lines("\n".join(schema_names()))
