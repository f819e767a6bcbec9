"""Names of the columns of perturbed copies, and what perturbations do to answers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, cast
from urllib.parse import unquote

from evalkit.base.names import parse_reference

INPUT_ID = "input_id"
"""The column with the uid of a copy's original; copies of one are not independent."""

PERTURBATION = "perturbation"
"""The column with the identity of the perturbation that made a copy."""

LABEL_EFFECT = "label_effect"
"""The column with what the perturbation does to answers."""

FAMILIES = "families"
"""The column with the families of the perturbation, as a list."""

FAMILY = "family:"
"""Before the name of a family, where a score is of all its perturbations."""

TAGS = "tags"
"""The column with a copy's own tags."""

COPY_COLUMNS = (INPUT_ID, PERTURBATION, LABEL_EFFECT, FAMILIES, TAGS)
"""The columns of the data that copies are read from."""

AS_STORED = "input/"
"""Before the name of a column of the data that a run keeps under another name, as one
of its own or a field of responses has it; no field can be called so, for the slash."""

LabelEffect = Literal["invariant", "transforms", "uncertain"]
"""What a perturbation does to the answer of an example."""

LABEL_EFFECTS: tuple[LabelEffect, ...] = ("invariant", "transforms", "uncertain")
"""From the one that says most about the answer to the one that says least."""


_SETTINGS = re.compile(r"\{[^{}]*\}")

_JOINT = re.compile(r"\+(?=[a-z0-9]+(?:-[a-z0-9]+)*(?:[@:+]|\Z))")
"""A plus before what may be the name of a component."""


class Edit(NamedTuple):
    """One replacement; an insertion where start and end are the same."""

    start: int
    """Where it begins in the original, in characters (Unicode code points)."""
    end: int
    """Where it ends there; the character at this place is kept."""
    text: str
    """What stands there instead."""


def effect_on(effects: Mapping[str, Any], task: str) -> LabelEffect:
    """Return the effect for the task, or else for `*`; `uncertain` without either."""
    return cast("LabelEffect", effects.get(task, effects.get("*", "uncertain")))


def joint_effect(effects: Sequence[LabelEffect]) -> LabelEffect:
    """Return what several steps do to the answer together: the least certain."""
    return max(effects, key=LABEL_EFFECTS.index)


def split_composition(name: str) -> list[str]:
    """Split `a+b`, several perturbations one after the other, into its steps.

    Args:
        name: Names with their parameters, joined by `+`.

    Returns:
        The name of each step; one for a name without `+`.
    """
    return _JOINT.split(_SETTINGS.sub("", name))


def read_step(text: str) -> tuple[str, dict[str, Any]]:
    """Read name (with its distribution) and parameters of one step of a composition."""
    reference = parse_reference(text)
    name = reference.name
    if reference.distribution is not None:
        name = f"{name}@{reference.distribution}"
    return name, {key: _unquoted(value) for key, value in reference.parameters.items()}


def _unquoted(value: Any) -> Any:
    if isinstance(value, list):
        return [_unquoted(item) for item in value]
    return unquote(value) if isinstance(value, str) else value
