"""What perturbations say of themselves: their effect on answers, and their families."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from evalkit.errors import PluginError
from evalkit.perturbation_names import read_step, split_composition
from evalkit.perturbation_steps import LabelEffect, effect_of, joint_effect
from evalkit.registry import Bound, Registry

FAMILY = "family:"
"""Before the name of a family, where a score is of all its perturbations."""


class Effect(NamedTuple):
    """What is known of one perturbation."""

    identity: str
    """As the column `perturbation` gives it; several steps are joined by `+`."""
    label_effect: LabelEffect
    """Of several steps the least certain."""
    families: tuple[str, ...]
    """The families that all steps belong to, sorted."""
    steps: tuple[Bound, ...]
    """The plugins; none where one of them cannot be loaded."""
    notice: str | None = None
    """Why nothing is known of it."""


def find_effects(
    identities: Iterable[str], task: str, registry: Registry
) -> dict[str, Effect]:
    """Ask the plugins of perturbations what they do to the answers of a task.

    Args:
        identities: Names of perturbations with their parameters.
        task: Name of the task.
        registry: Where plugins are found.

    Returns:
        What is known, by identity, sorted. A perturbation whose plugin cannot be
        loaded is `uncertain` and of no family.
    """
    return {
        identity: _effect(identity, task, registry)
        for identity in sorted(dict.fromkeys(identities))
    }


def _effect(identity: str, task: str, registry: Registry) -> Effect:
    try:
        steps = tuple(
            registry.load("perturbations", *read_step(step))
            for step in split_composition(identity)
        )
    except PluginError as error:
        notice = (
            f"{identity}: nothing is known of its effect on answers, so it counts as "
            f"uncertain and in no family: {error}"
        )
        return Effect(identity, "uncertain", (), (), notice)
    families = [frozenset(step.attributes["families"]) for step in steps]
    return Effect(
        identity,
        joint_effect([effect_of(step, task) for step in steps]),
        tuple(sorted(frozenset.intersection(*families))),
        steps,
    )


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
    """Say which copies are reported together.

    Args:
        effects: What is known of each perturbation.

    Returns:
        One for each perturbation, then one for each family of those that are not
        uncertain.
    """
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
