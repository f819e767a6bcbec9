"""Finds the command of a distribution that a user typed, and other components by name.

Unlike other plugins a command has no hooks: its value is for the command line alone,
which knows how to run it.
"""

from __future__ import annotations

from collections.abc import Sequence

from evalkit.base.failures import described
from evalkit.base.names import Reference, normalise_distribution
from evalkit.errors import PluginError, UnknownPluginError
from evalkit.plugins.components import Component
from evalkit.plugins.discovery import COMMANDS, Catalog


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


def matching_components(
    components: Sequence[Component], reference: Reference
) -> list[Component]:
    """Select the components that a reference may mean.

    Args:
        components: Components of one kind.
        reference: A name, and perhaps a distribution.

    Returns:
        Those with this name, of this distribution where one is given.
    """
    return [
        found
        for found in components
        if found.name == reference.name
        and reference.distribution in (None, normalise_distribution(found.distribution))
    ]


def refusal_of_several(components: Sequence[Component]) -> UnknownPluginError:
    """Make the error for a name that several distributions declare.

    Args:
        components: The components, all of one id.

    Returns:
        An error that names each, and says how to pick one.
    """
    owners = ", ".join(f"{found.distribution} {found.version}" for found in components)
    choices = " or ".join(f"{found.name}@{found.distribution}" for found in components)
    return UnknownPluginError(
        f"{components[0].id} is declared by several distributions: {owners}. "
        f"Name one as {choices}"
    )
