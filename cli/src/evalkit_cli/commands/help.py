"""`evalkit help`."""

from __future__ import annotations

import click

from evalkit_cli.options.completion import complete_commands
from evalkit_cli.printing.streams import echo_lines


@click.command("help")
@click.argument(
    "words", metavar="[COMMAND]...", nargs=-1, shell_complete=complete_commands
)
@click.pass_context
def help_command(context: click.Context, /, words: tuple[str, ...]) -> None:
    """Print the help of evalkit, or of one of its commands, as --help does."""
    described = context.find_root()
    for word in words:
        group = described.command
        if not isinstance(group, click.Group):
            raise click.UsageError(
                f"{described.command_path} has no commands.", described
            )
        _, command, _ = group.resolve_command(described, [word])
        assert command is not None  # else it has failed
        described = click.Context(
            command, info_name=word, parent=described, **command.context_settings
        )
    echo_lines(described.get_help())
