"""Options of the commands that read runs."""

from __future__ import annotations

from pathlib import Path

import click

FORMATS = ("table", "md", "csv", "latex")

folder_option = click.option(
    "-o",
    "--out",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("runs"),
    show_default=True,
    envvar="EVALKIT_OUT",
    help="Folder that runs were written to.",
)

json_option = click.option(
    "--json", "as_json", is_flag=True, envvar="EVALKIT_JSON", help="Print JSON."
)

format_option = click.option(
    "--format",
    "table_format",
    type=click.Choice(FORMATS),
    default="table",
    show_default=True,
    envvar="EVALKIT_FORMAT",
    help="How tables are printed.",
)

store_option = click.option(
    "-o",
    "--out",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("runs"),
    show_default=True,
    envvar="EVALKIT_OUT",
    help="Folder that runs are found in, and that the new one is written to.",
)

quiet_option = click.option(
    "-q",
    "--quiet",
    is_flag=True,
    envvar="EVALKIT_QUIET",
    help="Print the scores and nothing else.",
)

verbose_option = click.option(
    "-v",
    "--verbose",
    is_flag=True,
    envvar="EVALKIT_VERBOSE",
    help="Print every metric for every tag.",
)
