"""Which of the installed components have the name that somebody typed."""

from __future__ import annotations

from collections.abc import Sequence

from evalkit.base.names import Reference, normalise_distribution
from evalkit.errors import UnknownPluginError
from evalkit.plugins.components import Component


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
