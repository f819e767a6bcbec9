"""Decides which installed component a name means."""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Sequence

from evalkit.base.names import Reference, normalise_distribution
from evalkit.errors import UnknownPluginError
from evalkit.plugins.commands import choose_usual, matching_components
from evalkit.plugins.components import Catalog, Component, required_distribution
from evalkit.plugins.kinds import kind_named
from evalkit.plugins.local_plugins import is_declared


def find_meant(
    catalog: Catalog, kind: str, reference: Reference, named_by: Component | None = None
) -> Component:
    """Find the one component that a reference means.

    Args:
        catalog: What is installed.
        kind: One of the plugin kinds, or `observers`.
        reference: The name.
        named_by: The plugin that gives this name, if it is not the user's. A name that
            several distributions declare is then taken from its own distribution, else
            from one that it requires. Else, and for a user, it is taken from the
            one that is known to hold it.

    Returns:
        The component.

    Raises:
        UnknownPluginError: There is none, there are several, or it is disabled.
    """
    offered = catalog.of_kind(kind)
    if named_by is not None and not named_by.is_local:
        # a project runs code where its user names it, and for no installed plugin
        offered = [each for each in offered if not is_declared(each)]
    matching: Sequence[Component] = matching_components(offered, reference)
    if not matching:
        withheld = [found for found in catalog.withheld if found.kind == kind]
        for found in matching_components(withheld, reference):
            raise UnknownPluginError(f"{found.origin}: {found.problem}")
        raise UnknownPluginError(_unknown_message(catalog, kind, reference))
    if len(matching) > 1 and named_by is not None:
        matching = _meant_by(named_by, matching)
    if len(matching) > 1:
        return choose_usual(catalog, matching, named_by is None)
    return matching[0]


def tell_of_declared(
    catalog: Catalog, meant: Component, named_by: Component | None
) -> None:
    """Warn where a user named what a `pyproject.toml` declares, or means to.

    Args:
        catalog: What is known.
        meant: What the name means.
        named_by: The plugin that gave the name, if it is not the user's.

    Warns:
        UserWarning: It is declared there, or something of its name is that is not used.
    """
    if is_declared(meant):
        warnings.warn(f"{meant.id} is {meant.value}, {meant.summary}", stacklevel=4)
    for each in catalog.withheld if named_by is None else ():
        if is_declared(each) and each.id == meant.id:
            warnings.warn(
                f"{meant.origin} is used, and not {each.value}, {each.summary}: a "
                "project's plugin never hides another of its name",
                stacklevel=4,
            )


def _meant_by(
    named_by: Component, candidates: Sequence[Component]
) -> Sequence[Component]:
    """Return the one candidate that a plugin means; all where that is not clear."""
    own = normalise_distribution(named_by.distribution)
    required = {required_distribution(text) for text in named_by.requires}
    for owners in ({own}, required):
        meant = [
            found
            for found in candidates
            if normalise_distribution(found.distribution) in owners
        ]
        if len(meant) == 1:
            return meant
    return candidates


def _unknown_message(catalog: Catalog, kind: str, reference: Reference) -> str:
    word = kind_named(kind, catalog).word
    asked = reference.name + (
        f"@{reference.distribution}" if reference.distribution else ""
    )
    components = catalog.of_kind(kind)
    installed = sorted({found.name for found in components})
    near = difflib.get_close_matches(reference.name, installed, n=3)
    near += [name for name in installed if reference.name in name.split("-")]
    near = list(dict.fromkeys(near))
    owners = [
        found.distribution for found in components if found.name == reference.name
    ]
    known = catalog.known_owner(f"{kind}/{reference.name}")
    if reference.name.endswith(".py"):
        hint = f"a plugin in a file is named FILE.py:OBJECT, as {reference.name}:Name"
    elif owners:
        hint = f"{reference.name} is declared by {', '.join(owners)}"
    elif known:
        hint = f"it is part of the distribution {known}, which is not installed"
    elif near:
        hint = f"did you mean {' or '.join(near)}?"
    elif installed:
        hint = f"installed: {', '.join(installed)}"
    else:
        hint = f"no {word} is installed"
    if catalog.problems and not owners:
        hint += "; `evalkit list` warns of installed plugins that cannot be used"
    return f"there is no {word} {asked!r}; {hint}"
