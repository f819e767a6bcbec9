"""Finds the perturbations that a user asks for, by name or by family."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from evalkit import Component
from evalkit.base.copies import read_step
from evalkit.catalog import (
    BoundPerturbation,
    Resolver,
    import_component,
    split_composition,
)
from evalkit.errors import (
    EvalkitError,
    PluginContractError,
    PluginError,
    UnknownPluginError,
)

PRESET = "preset"
"""Name of the parameter that sets how strong a perturbation is."""


class Choice(NamedTuple):
    """The perturbations of one command."""

    perturbations: Sequence[Sequence[BoundPerturbation]]
    """For each its steps, one after the other; one step for most."""
    notices: Sequence[str]


def choose_perturbations(
    resolver: Resolver,
    named: Sequence[Any],
    families: Sequence[str] = (),
    preset: str | None = None,
) -> Choice:
    """Find and bind perturbations."""
    notices: list[str] = []
    found: dict[str, list[BoundPerturbation]] = {}
    for what in named:
        _add(found, _bind_steps(resolver, what, preset))
    if preset is not None:
        notices += _without_preset(found, preset)
    for family in families:
        members, problems = _members(resolver, family, preset)
        notices += problems
        for bound in members:
            _add(found, [bound])
    if not found:
        raise EvalkitError("no perturbation was named, and no family")
    for steps in found.values():
        notices += _unknown_tasks(resolver, steps)
    return Choice(list(found.values()), list(dict.fromkeys(notices)))


def _without_preset(
    found: Mapping[str, Sequence[BoundPerturbation]], preset: str
) -> list[str]:
    """Say which perturbations that were named one by one have no presets."""
    named = [
        name
        for name, steps in found.items()
        if not any(PRESET in _parameter_names(step) for step in steps)
    ]
    if not named:
        return []
    has = "has" if len(named) == 1 else "have"
    return [f"{', '.join(named)} {has} no presets; {preset!r} changes nothing there"]


def _unknown_tasks(resolver: Resolver, steps: Sequence[BoundPerturbation]) -> list[str]:
    """Say which tasks are named that are not installed, as they may be misspelt."""
    return [
        f"{step.component.id}: its label_effect names {name!r}, and no task of this "
        "name is installed or known"
        for step in steps
        for name in resolver.unknown_tasks(step)
    ]


def _parameter_names(bound: BoundPerturbation) -> Collection[str]:
    return () if bound.parameters is None else type(bound.parameters).model_fields


def _add(
    found: dict[str, list[BoundPerturbation]], steps: list[BoundPerturbation]
) -> None:
    name = "+".join(step.name for step in steps)
    earlier = found.setdefault(name, steps)
    if [step.component for step in earlier] != [step.component for step in steps]:
        owners = [
            ", ".join(s.component.origin for s in each) for each in (earlier, steps)
        ]
        raise PluginContractError(
            f"two perturbations are called {name!r}, {owners[0]} and {owners[1]}; "
            "their copies could not be told apart"
        )


def _bind_steps(
    resolver: Resolver, what: Any, preset: str | None
) -> list[BoundPerturbation]:
    if isinstance(what, str):
        steps: Sequence[Any] = split_composition(what)
    else:
        steps = what if isinstance(what, list | tuple) else [what]
    return [_bind(resolver, step, preset) for step in steps]


def _bind(resolver: Resolver, what: Any, preset: str | None) -> BoundPerturbation:
    if not isinstance(what, str):
        return resolver.perturbation(what)
    name, parameters = read_step(what)
    bound = resolver.perturbation(name, parameters)
    if preset is None or PRESET in parameters:
        return bound
    if PRESET not in _parameter_names(bound):
        return bound
    return resolver.perturbation(name, {**parameters, PRESET: preset})


def _declared_families(component: Component, otherwise: set[str]) -> Collection[str]:
    """Return the families of a perturbation that cannot be built as it is."""
    try:
        families = getattr(import_component(component), "families", otherwise)
    except PluginError:
        return otherwise
    return families if isinstance(families, set | frozenset | list | tuple) else ()


def _members(
    resolver: Resolver, family: str, preset: str | None
) -> tuple[list[BoundPerturbation], list[str]]:
    """Load the perturbations of a family; say which ones could not be asked."""
    members = []
    problems = []
    known: set[str] = set()
    for component in resolver.registry.catalog.of_kind("perturbations"):
        try:
            bound = _bind(
                resolver, f"{component.name}@{component.distribution}", preset
            )
        except PluginError as error:
            declared = _declared_families(component, otherwise={family})
            known.update(declared)
            if family in declared:
                problems.append(f"left out: {error}")
            continue
        families = bound.families
        known.update(families)
        if family in families:
            members.append(bound)
    if not members:
        near = difflib.get_close_matches(family, sorted(known), n=1)
        hint = f"did you mean {near[0]}? " if near else ""
        hint += f"there are: {', '.join(sorted(known)) or 'none'}"
        raise UnknownPluginError(
            f"no installed perturbation is of the family {family!r}; {hint}"
        )
    return members, problems
