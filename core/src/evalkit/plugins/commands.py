"""Finds the command of a distribution that a user typed.

Unlike other plugins a command has no hooks: its value is for the command line alone,
which knows how to run it.
"""

from __future__ import annotations

from evalkit.base.failures import described
from evalkit.base.names import Reference, normalise_distribution
from evalkit.errors import PluginError, UnknownPluginError
from evalkit.plugins.components import Component
from evalkit.plugins.discovery import COMMANDS, Catalog
from evalkit.plugins.matching import matching_components, refusal_of_several


def find_command(catalog: Catalog, name: str) -> Component | None:
    """Find an installed command, without importing it.

    Args:
        catalog: What is installed.
        name: `NAME[@DISTRIBUTION]`.

    Returns:
        The command; None if nobody declares it.

    Raises:
        UnknownPluginError: Several distributions declare it, it is hidden, or it is
            known to be part of a distribution that is not installed.
    """
    plain, at, distribution = name.partition("@")
    owner = normalise_distribution(distribution) if at else None
    reference = Reference(plain, owner)
    found = matching_components(catalog.of_kind(COMMANDS), reference)
    if len(found) > 1:
        raise refusal_of_several(found)
    if found:
        return found[0]
    hidden = [each for each in catalog.withheld if each.kind == COMMANDS]
    for each in matching_components(hidden, reference):
        raise UnknownPluginError(f"{each.origin}: {each.problem}")
    known = catalog.known_owner(f"{COMMANDS}/{name}")
    if known:
        raise UnknownPluginError(
            f"there is no command {name!r}; it is part of the distribution {known}, "
            "which is not installed"
        )
    return None


def command_failure(component: Component, error: BaseException) -> PluginError:
    """Make the error for what a command raised while it ran.

    Args:
        component: The command.
        error: What it raised.

    Returns:
        An error that names it with its distribution and version.
    """
    return PluginError(f"{component.origin}: running it failed with {described(error)}")
