"""Decides which installed component a name means."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

from evalkit.base.names import Reference, normalise_distribution
from evalkit.errors import UnknownPluginError
from evalkit.plugins.components import Catalog, Component, required_distribution
from evalkit.plugins.local_plugins import is_declared


def find_meant(
    catalog: Catalog, kind: str, reference: Reference, named_by: Component | None = None
) -> Component:
    """Find the one component that a reference means.

    A name that several distributions declare is taken from the distribution of the
    plugin that gives it, or else from one that this requires. Otherwise, and for a
    user, it is taken from the distribution that is known to hold it.
    """
    found = _find(catalog, kind, reference, named_by)
    if found is None:
        raise UnknownPluginError(_unknown_message(catalog, kind, reference))
    return found


def find_component(catalog: Catalog, kind: str, name: str) -> Component | None:
    """Find an installed component of a kind without hooks, without importing it.

    Args:
        catalog: What is installed.
        kind: Such as `commands` or `schemas`.
        name: `NAME[@DISTRIBUTION]`.

    Returns:
        The component; None if nobody declares it.

    Raises:
        UnknownPluginError: Several distributions declare it and none ships with
            evalkit, it is hidden, or it is known to be part of a distribution that is
            not installed.
    """
    plain, at, distribution = name.partition("@")
    reference = Reference(plain, normalise_distribution(distribution) if at else None)
    found = _find(catalog, kind, reference)
    owner = None if found else catalog.known_owner(f"{kind}/{name}")
    if owner:
        word = kind.removesuffix("s")
        raise UnknownPluginError(f"there is no {word} {name!r}; {_part_of(owner)}")
    return found


def _find(
    catalog: Catalog, kind: str, reference: Reference, named_by: Component | None = None
) -> Component | None:
    offered = catalog.of_kind(kind)
    if named_by is not None and not named_by.is_local:
        # a project runs code where its user names it, and for no installed plugin
        offered = [each for each in offered if not is_declared(each)]
    matching = _matching(offered, reference)
    if not matching:
        withheld = [each for each in catalog.withheld if each.kind == kind]
        for each in _matching(withheld, reference):
            raise UnknownPluginError(f"{each.origin}: {each.problem}")
        return None
    if len(matching) > 1 and named_by is not None:
        matching = _meant_by(named_by, matching)
    if len(matching) > 1:
        return _choose_usual(catalog, matching, by_user=named_by is None)
    return matching[0]


def tell_of_declared(
    catalog: Catalog, meant: Component, named_by: Component | None
) -> None:
    """Warn if a user named what a `pyproject.toml` declares, or what hides that."""
    if is_declared(meant):
        warnings.warn(f"{meant.id} is {meant.value}, {meant.summary}", stacklevel=4)
    for each in catalog.withheld if named_by is None else ():
        if is_declared(each) and each.id == meant.id:
            warnings.warn(
                f"{meant.origin} is used, and not {each.value}, {each.summary}: a "
                "project's plugin never hides another of its name",
                stacklevel=4,
            )


def _matching(
    components: Sequence[Component], reference: Reference
) -> Sequence[Component]:
    return [
        each
        for each in components
        if each.name == reference.name
        and reference.distribution in (None, normalise_distribution(each.distribution))
    ]


def _meant_by(
    named_by: Component, candidates: Sequence[Component]
) -> Sequence[Component]:
    """Return the one candidate that a plugin means; all if that is not clear."""
    own = normalise_distribution(named_by.distribution)
    required = {required_distribution(text) for text in named_by.requires}
    names = {each: normalise_distribution(each.distribution) for each in candidates}
    for owners in ({own}, required):
        meant = [each for each in candidates if names[each] in owners]
        if len(meant) == 1:
            return meant
    return candidates


def _choose_usual(
    catalog: Catalog, candidates: Sequence[Component], by_user: bool
) -> Component:
    """Choose the candidate that ships with evalkit, and warn a user of the others."""
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
            stacklevel=4,
        )
    return usual


def _full_name(component: Component) -> str:
    return f"{component.name}@{component.distribution}"


def _part_of(owner: str) -> str:
    return f"it is part of the distribution {owner}, which is not installed"


def _unknown_message(catalog: Catalog, kind: str, reference: Reference) -> str:
    from difflib import get_close_matches

    from evalkit.plugins.kinds import kind_named

    word = kind_named(kind, catalog).word
    name, distribution = reference.name, reference.distribution
    components = catalog.of_kind(kind)
    installed = sorted({each.name for each in components})
    near = get_close_matches(name, installed, n=3)
    near += [each for each in installed if name in each.split("-")]
    owners = [each.distribution for each in components if each.name == name]
    known = catalog.known_owner(f"{kind}/{name}")
    if name.endswith(".py"):
        hint = f"a plugin in a file is named FILE.py:OBJECT, as {name}:Name"
    elif owners:
        hint = f"{name} is declared by {', '.join(owners)}"
    elif known:
        hint = _part_of(known)
    elif near:
        hint = f"did you mean {' or '.join(dict.fromkeys(near))}?"
    elif installed:
        hint = f"installed: {', '.join(installed[:20])}{', …' * (len(installed) > 20)}"
    else:
        hint = f"no {word} is installed"
    if catalog.problems and not owners:
        hint += "; `evalkit list` warns of installed plugins that cannot be used"
    asked = name + (f"@{distribution}" if distribution else "")
    return f"there is no {word} {asked!r}; {hint}"
