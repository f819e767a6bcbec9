"""Refuses an option that is given again although only its last value would count."""

from __future__ import annotations

from collections.abc import Sequence

import click


def refuse_repeated_options(context: click.Context, arguments: Sequence[str]) -> None:
    """Refuse options that are given several times and take one value.

    click keeps the last value in silence. An option that collects its values or counts
    its uses may be repeated, and so may a switch that can only be turned on: it says
    the same twice. A value of an environment variable is no repetition.
    """
    command = context.command
    _, rest, given = command.make_parser(context).parse_args(args=list(arguments))
    by_target: dict[str | None, list[click.Option]] = {}
    for parameter in given:
        if isinstance(parameter, click.Option) and not _may_be_repeated(parameter):
            by_target.setdefault(parameter.name, []).append(parameter)
    for options in by_target.values():
        if len(options) > 1:
            raise click.UsageError(_message(options), context)
    if isinstance(command, click.Group) and rest and not command.chain:
        _check_subcommand(command, context, rest)


def _check_subcommand(
    group: click.Group, context: click.Context, arguments: Sequence[str]
) -> None:
    """Refuse repeated options of a command within a group."""
    name, *rest = arguments
    command = group.get_command(context, name)
    if command is not None:
        settings = command.context_settings
        inner = click.Context(command, parent=context, info_name=name, **settings)
        refuse_repeated_options(inner, rest)


def _may_be_repeated(option: click.Option) -> bool:
    only_turns_on = option.is_bool_flag and not option.secondary_opts
    return option.multiple or option.count or only_turns_on


def _message(options: Sequence[click.Option]) -> str:
    names = [
        name
        for option in dict.fromkeys(options)
        for name in (*option.opts, *option.secondary_opts)
    ]
    spelled = " / ".join(dict.fromkeys(names))
    return f"{spelled} was given {len(options)} times; give it once."
