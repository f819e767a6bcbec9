"""The command that was given, with the options that would mend it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import click

from evalkit_cli.printing.streams import echo_lines

if TYPE_CHECKING:
    from evalkit.errors import EvalkitError

_ARGUMENTS = "evalkit.arguments"


def remember_arguments(context: click.Context, arguments: Sequence[str]) -> None:
    """Keep what was written after `evalkit`."""
    context.meta[_ARGUMENTS] = ("evalkit", *arguments)


def echo_error(error: EvalkitError, message: str | None = None) -> None:
    """Print an error, and the command that would mend it where one is plausible."""
    echo_lines(f"evalkit: error: {error if message is None else message}", err=True)
    mapping = getattr(error, "mapping", None)
    if mapping:
        echo_correction(mapping, error.place)  # type: ignore[attr-defined]


def echo_correction(mapping: Mapping[str, str], place: str) -> None:
    """Print the command that was given, with columns mapped to fields."""
    from evalkit.reporting import map_options

    context = click.get_current_context(silent=True)
    given = () if context is None else context.meta.get(_ARGUMENTS, ())
    if not given:
        return
    option, *options = map_options(place, mapping)
    if not _takes(option):
        return
    kept = [*_without(given, option, mapping)]
    at = kept.index("--") if "--" in kept else len(kept)
    corrected = [*kept[:at], option, *options, *kept[at:]]
    echo_lines(f"evalkit: try: {shlex.join(corrected)}", err=True)


def _takes(option: str) -> bool:
    """Tell whether the command has an option; others name it and cannot take it."""
    context = click.get_current_context().find_root()
    group = context.command
    name = context.invoked_subcommand
    if name is None or not isinstance(group, click.Group):
        return False
    command = group.get_command(context, name)
    return command is not None and any(option in each.opts for each in command.params)


def _without(
    words: Sequence[str], option: str, fields: Mapping[str, str]
) -> Iterator[str]:
    """Leave out what was said before of the same fields."""
    waiting = iter(words)
    for word in waiting:
        if word == option:
            value = next(waiting, "")
            if value.partition("=")[0] not in fields:
                yield from (word, value)
        elif not (
            word.startswith(f"{option}=")
            and word.removeprefix(f"{option}=").partition("=")[0] in fields
        ):
            yield word
