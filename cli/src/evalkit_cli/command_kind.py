"""The kind of plugins that are commands of other distributions."""

from __future__ import annotations

import click

from evalkit import Component
from evalkit.catalog import Kind
from evalkit_cli.installed_commands import InstalledCommand


class NoHooks:
    """A command has no hooks: it is a click command (docs/commands.md)."""


def _load(component: Component) -> click.Command:
    return InstalledCommand(component).load()


COMMANDS = Kind("commands", NoHooks, load=_load)
