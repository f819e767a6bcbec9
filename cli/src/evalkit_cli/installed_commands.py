"""Commands, imported when they run: evalkit's own, and those of distributions."""

from __future__ import annotations

from collections import UserDict
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, NamedTuple

import click

from evalkit_cli.printing.descriptions import describe_component
from evalkit_cli.printing.escapes import for_terminal
from evalkit_cli.printing.streams import plugin_output_to_stderr

if TYPE_CHECKING:
    from evalkit import Component
    from evalkit.catalog import Catalog


class InstalledCommand(click.Command):
    """Stands for the command of a distribution until it runs; nothing is imported.

    In lists of commands it is described by the first sentence of its own help, which
    is read from its source, or else by the summary of the distribution.
    """

    def __init__(self, component: Component) -> None:
        mark = "(unusable) " if component.problem else ""
        super().__init__(component.name, help=mark + for_terminal(component.summary))
        self.component = component

    def get_short_help_str(self, limit: int = 45) -> str:
        """Return the beginning of what the command says of itself."""
        described = describe_component(self.component)
        if described == self.component.summary:
            return super().get_short_help_str(limit)
        mark = "(unusable) " if self.component.problem else ""
        text = for_terminal(f"{mark}{described}.")
        return click.Command(self.name, help=text).get_short_help_str(limit)

    def load(self) -> click.Command:
        """Import the command; what is printed meanwhile goes to stderr."""
        from evalkit.catalog import import_component
        from evalkit.errors import PluginContractError

        with plugin_output_to_stderr():
            loaded = import_component(self.component)
        if not isinstance(loaded, click.Command):
            raise PluginContractError(
                f"{self.component.origin}: {self.component.value} is of the type "
                f"{type(loaded).__name__}, not a click command; decorate "
                "a function with @click.command('NAME')"
            )
        return loaded


_OWN = (
    *("adapt", "cache", "compare", "eval", "help", "inputs", "list", "merge"),
    *("perturb", "plan", "publish", "rescore", "runs", "show", "validate", "verify"),
)


class OwnCommands(UserDict[str, click.Command]):
    """evalkit's own commands by name, imported when they are looked up."""

    def __init__(self) -> None:
        from evalkit import Component

        super().__init__()
        for name in _OWN:
            value = f"evalkit_cli.commands.{name}:{name}_command"
            own = Component("commands", name, value, "evalkit-cli", "")
            self.data[name] = InstalledCommand(own)

    def __getitem__(self, name: str) -> click.Command:
        """Return a command, imported if it was not yet."""
        command = self.data[name]
        if isinstance(command, InstalledCommand):
            command = self.data[name] = command.load()
        return command


class InstalledCommands(NamedTuple):
    """The commands of all distributions."""

    catalog: Catalog
    """What the metadata of distributions say."""
    by_name: Mapping[str, InstalledCommand]
    """Stand-ins by what is typed: the name, or `NAME@DISTRIBUTION` where several
    distributions declare the name or evalkit's own command has it."""

    def hidden(self) -> list[str]:
        """Say of each command that cannot be named why that is so."""
        return [
            for_terminal(f"{found.name}: {found.problem}")
            for found in self.catalog.withheld
            if found.kind == "commands"
        ]


def find_installed(taken: Collection[str]) -> InstalledCommands:
    """Read the metadata of all distributions; no command is imported."""
    from evalkit import find_components

    catalog = find_components()
    ambiguous = catalog.only_with_distribution()
    by_name = {
        f"{found.name}@{found.distribution}"
        if found.name in taken or found in ambiguous
        else found.name: InstalledCommand(found)
        for found in catalog.of_kind("commands")
    }
    return InstalledCommands(catalog, by_name)


def with_shadowed(catalog: Catalog, taken: Collection[str]) -> Catalog:
    """Add a problem for each command that has the name of one of evalkit's own."""
    from evalkit.catalog import DiscoveryProblem

    shadowed = tuple(
        DiscoveryProblem(
            found.distribution,
            f"{found.id}: evalkit's own command {found.name} comes first; this one "
            f"runs as {found.name}@{found.distribution}",
        )
        for found in catalog.of_kind("commands")
        if found.name in taken
    )
    return catalog._replace(problems=catalog.problems + shadowed)
