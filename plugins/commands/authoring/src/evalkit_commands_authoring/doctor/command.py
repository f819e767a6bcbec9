"""`evalkit doctor`."""

from __future__ import annotations

import click

from evalkit_cli.commanding import echo, echo_json, for_terminal, json_option


@click.command("doctor")
@click.option(
    "--no-imports",
    "imports",
    is_flag=True,
    flag_value=False,
    default=True,
    help="Import no plugin, which takes most of the time.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=60.0,
    show_default=True,
    help="Seconds that importing a distribution may take.",
)
@click.option(
    "-v",
    "--verbose",
    is_flag=True,
    help="Also print each distribution, and how long importing it took.",
)
@json_option
def doctor_command(imports: bool, timeout: float, verbose: bool, as_json: bool) -> None:
    """Examine the environment: versions, installations, names, variables, folders.

    \b
    Examples:
      evalkit doctor
      evalkit doctor --no-imports --json

    Each finding says what follows from it and what to do. It ends with 1 where there is
    an error, and with 0 otherwise. `evalkit list --check` judges the plugins
    themselves. Where evalkit cannot start: python -m evalkit_commands_authoring.doctor
    """  # noqa: D301 - click reads the backspace
    from evalkit_commands_authoring.doctor import examination

    environment = examination.Environment(own_commands=_own_commands())
    found = examination.examine(environment, imports, timeout)
    if as_json:
        echo_json(examination.as_json(found))
    else:
        for line in examination.report(found, verbose):
            echo(for_terminal(line))
    if examination.counts(found)["error"]:
        raise click.exceptions.Exit(1)


def _own_commands() -> frozenset[str]:
    group = click.get_current_context().find_root().command
    return frozenset(group.commands if isinstance(group, click.Group) else ())
