"""Finds a command or a schema that a user typed, and other components by name.

Unlike other plugins these two have no hooks: a command is for the command line, which
knows how to run it, and a schema is a pydantic model.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

from evalkit.base.names import Reference, normalise_distribution
from evalkit.errors import UnknownPluginError
from evalkit.plugins.components import Catalog, Component


def find_component(catalog: Catalog, kind: str, name: str) -> Component | None:
    """Find an installed component that has no hooks, without importing it.

    Args:
        catalog: What is installed.
        kind: `commands` or `schemas`.
        name: `NAME[@DISTRIBUTION]`.

    Returns:
        The component; None if nobody declares it.

    Raises:
        UnknownPluginError: Several distributions declare it and none ships with
            evalkit, it is hidden, or it is known to be part of a distribution that is
            not installed.
    """
    plain, at, distribution = name.partition("@")
    owner = normalise_distribution(distribution) if at else None
    reference = Reference(plain, owner)
    found = matching_components(catalog.of_kind(kind), reference)
    if len(found) > 1:
        return choose_usual(catalog, found)
    if found:
        return found[0]
    hidden = [each for each in catalog.withheld if each.kind == kind]
    for each in matching_components(hidden, reference):
        raise UnknownPluginError(f"{each.origin}: {each.problem}")
    known = catalog.known_owner(f"{kind}/{name}")
    if known:
        raise UnknownPluginError(
            f"there is no {kind.removesuffix('s')} {name!r}; it is part of the "
            f"distribution {known}, which is not installed"
        )
    return None


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


def choose_usual(
    catalog: Catalog, candidates: Sequence[Component], by_user: bool = True
) -> Component:
    """Choose what a name alone means of several components that have it.

    Args:
        catalog: What is installed.
        candidates: The components, all of one id.
        by_user: Whether a user gave the name, who is warned.

    Returns:
        The one that ships with evalkit.

    Raises:
        UnknownPluginError: None does; the message names each, and how to pick one.
    """
    usual = catalog.usual(candidates)
    if usual is None:
        owners = ", ".join(f"{each.distribution} {each.version}" for each in candidates)
        choices = " or ".join(map(_full_name, candidates))
        raise UnknownPluginError(
            f"{candidates[0].id} is declared by several distributions: {owners}. "
            f"Name one as {choices}"
        )
    if by_user:
        others = " and ".join(_full_name(each) for each in candidates if each != usual)
        warnings.warn(
            f"{usual.id} is declared by several distributions; the one of "
            f"{usual.distribution} is used, which ships with evalkit, and not {others}",
            stacklevel=2,
        )
    return usual


def _full_name(component: Component) -> str:
    return f"{component.name}@{component.distribution}"
