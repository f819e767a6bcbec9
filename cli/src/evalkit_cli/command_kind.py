"""The kind of plugins that are commands of other distributions."""

from __future__ import annotations

from evalkit.catalog import Kind
from evalkit_cli.installed_commands import InstalledCommand


class NoHooks:
    """A command has no hooks: it is a click command (docs/commands.md)."""


COMMANDS = Kind("commands", NoHooks, load=lambda each: InstalledCommand(each).load())
