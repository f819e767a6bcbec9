"""What is known of perturbations: their effect on answers, their families, `expect`.

Rows that `evalkit perturb` writes say the first two themselves, so that the machine
that evaluates need not have the perturbation. Its plugin is asked where they do not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple

from evalkit import Registry
from evalkit.base.copies import FAMILY, LabelEffect, effect_on, joint_effect, read_step
from evalkit.catalog import (
    BoundPerturbation,
    import_component,
    load_component,
    split_composition,
)
from evalkit.errors import PluginError, UnknownPluginError
from evalkit.examples.copy_columns import Statement
from evalkit.plugins.registry import takes_path

_KIND = "perturbations"


class Effect(NamedTuple):
    """What is known of one perturbation."""

    identity: str
    """As the column `perturbation` gives it; several steps are joined by `+`."""
    label_effect: LabelEffect
    """Of several steps the least certain."""
    families: tuple[str, ...]
    """The families that all steps belong to, sorted."""
    told_by: Literal["rows", "plugin"] | None
    """Who said so; None where nobody did."""
    steps: tuple[BoundPerturbation, ...] = ()
    """The plugins that were loaded."""
    problem: str | None = None
    """Why the plugin could not be asked."""

    @property
    def expecting(self) -> BoundPerturbation | None:
        """The plugin whose `expect` is asked; a composition has none."""
        is_one = len(self.steps) == 1 and self.steps[0].has("expect")
        return self.steps[0] if is_one else None


def find_effects(
    identities: Iterable[str],
    statements: Mapping[str, Statement],
    task: str,
    registry: Registry,
) -> dict[str, Effect]:
    """Say what perturbations do to the answers of a task.

    Args:
        identities: Names of perturbations with their parameters.
        statements: What the rows of copies say, by identity.
        task: Name of the task.
        registry: Where the plugins of others are found; those of the rows' are only
            built where they define `expect`.

    Returns:
        What is known, by identity, sorted. A perturbation that neither the rows nor an
        installed plugin tell of is `uncertain` and of no family.
    """
    return {
        identity: _stated(statements[identity], registry)
        if identity in statements
        else _asked(identity, task, registry)
        for identity in sorted(dict.fromkeys(identities))
    }


def _stated(statement: Statement, registry: Registry) -> Effect:
    identity, label_effect, families, _, _ = statement
    effect = Effect(identity, label_effect, families, "rows")
    names = split_composition(identity)
    if len(names) > 1:
        return effect
    try:
        name, parameters = read_step(names[0])
        component = registry.select(_KIND, name, parameters).component
        plugin = import_component(component)
        if "expect" not in registry.kind(_KIND).implemented(plugin):
            return effect
        return effect._replace(steps=(_load(names[0], registry),))
    except PluginError as error:
        return effect._replace(problem=_problem(names[0], error, registry))


def _load(step: str, registry: Registry) -> BoundPerturbation:
    """Build a perturbation as its rows name it, but read no file that they name."""
    component, parameters = registry.select(_KIND, *read_step(step))
    model = getattr(import_component(component), "Parameters", None)
    for name in parameters:
        if takes_path(model, name):
            raise PluginError(
                f"{component.origin}: the parameter {name} is a path, and files that a "
                "file of copies names are not read; `evalkit perturb` writes into the "
                "rows what there is to know"
            )
    return BoundPerturbation.of(load_component(component, parameters))


def _problem(step: str, error: PluginError, registry: Registry) -> str:
    """Say why a plugin cannot be loaded; in the same words for all not installed."""
    name = step.partition(":")[0]
    known = {component.name for component in registry.catalog.of_kind(_KIND)}
    is_absent = isinstance(error, UnknownPluginError) and name not in known
    return "not installed here" if is_absent else str(error)


def _asked(identity: str, task: str, registry: Registry) -> Effect:
    try:
        steps = tuple(_load(step, registry) for step in split_composition(identity))
    except PluginError as error:
        return Effect(identity, "uncertain", (), None, problem=str(error))
    families = [frozenset(step.families) for step in steps]
    return Effect(
        identity,
        joint_effect([effect_on(step.label_effect, task) for step in steps]),
        tuple(sorted(frozenset.intersection(*families))),
        "plugin",
        steps,
    )


def effect_notices(effects: Iterable[Effect]) -> list[str]:
    """Say what was not told by the rows, and which `expect` was not asked."""
    asked: list[str] = []
    notices: list[str] = []
    without: dict[str, list[str]] = {}
    for effect in effects:
        if effect.told_by == "plugin":
            asked.append(effect.identity)
        elif effect.told_by is None:
            notices.append(
                f"{effect.identity}: its effect on answers is unknown, so it "
                f"counts as uncertain and belongs to no family: {effect.problem}"
            )
        elif effect.problem is not None:
            without.setdefault(effect.problem, []).append(effect.identity)
    if asked:
        notices.append(
            f"{', '.join(asked)}: the rows do not say label_effect and families, so "
            "what is installed here was asked; `evalkit perturb` writes both"
        )
    notices += [
        f"{', '.join(names)}: `expect`, if it is defined, was not asked: {reason}"
        for reason, names in without.items()
    ]
    return notices


class View(NamedTuple):
    """Some of the copies, whose scores are reported together."""

    name: str
    """The perturbation's identity, or `family:NAME`."""
    members: tuple[Effect, ...]
    is_family: bool = False

    @property
    def is_uncertain(self) -> bool:
        """Whether nobody knows if the answers still hold."""
        return any(member.label_effect == "uncertain" for member in self.members)

    @property
    def invariant(self) -> tuple[str, ...]:
        """The identities of its perturbations that leave answers as they are."""
        return self._with_effect("invariant")

    @property
    def transforming(self) -> tuple[str, ...]:
        """The identities of its perturbations that change answers."""
        return self._with_effect("transforms")

    def _with_effect(self, effect: LabelEffect) -> tuple[str, ...]:
        return tuple(m.identity for m in self.members if m.label_effect == effect)


def make_views(effects: Iterable[Effect]) -> list[View]:
    """Say which copies are reported together."""
    views = []
    families: dict[str, list[Effect]] = {}
    for effect in effects:
        views.append(View(effect.identity, (effect,)))
        if effect.label_effect != "uncertain":
            for family in effect.families:
                families.setdefault(family, []).append(effect)
    views += [
        View(FAMILY + family, tuple(members), True)
        for family, members in sorted(families.items())
    ]
    return views
