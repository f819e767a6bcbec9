"""Options of the commands that read runs."""

from __future__ import annotations

from pathlib import Path

import click

from evalkit_cli.options.choices import Decorator, RunsFolder, apply, setting

FORMATS = ("table", "md", "csv", "latex")


def folder_with(help_text: str, name: str = "folder") -> Decorator:
    """Return the option `--out` of a command, with what the folder is."""
    return setting(
        "-o",
        "--out",
        name,
        type=RunsFolder(),
        default=Path("runs"),
        help=f"{help_text}, or its URI, such as s3://bucket/runs.",
    )


def json_with(help_text: str) -> Decorator:
    """Return the option `--json` of a command, with what it prints."""
    return setting("--json", "as_json", is_flag=True, help=help_text)


def format_with(help_text: str) -> Decorator:
    """Return the option `--format` of a command, with what it formats."""
    return setting(
        "--format",
        "table_format",
        type=click.Choice(FORMATS),
        default="table",
        help=help_text,
    )


def quiet_with(help_text: str) -> Decorator:
    """Return the option `--quiet` of a command, with what it leaves."""
    return setting("-q", "--quiet", is_flag=True, help=help_text)


def verbose_with(help_text: str) -> Decorator:
    """Return the option `--verbose` of a command, with what it adds."""
    return setting("-v", "--verbose", is_flag=True, help=help_text)


json_option = json_with("Print JSON.")
format_option = format_with("How tables are printed.")
quiet_option = quiet_with("Print the scores of the whole set and nothing else.")
verbose_option = verbose_with(
    "Print every tag, metric and notice, not only the worst tags, and how intervals "
    "were made."
)

folder_option = folder_with("Folder that runs were written to")

new_run_options = apply(
    folder_with("Folder that runs are found in, and that the new one is written to"),
    *(json_option, format_option, quiet_option, verbose_option),
)
"""Options of a command that makes a run of others: where it is, how it is printed."""
