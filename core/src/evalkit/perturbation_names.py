"""How perturbations, and the rows that they make, are named."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

_JOINT = re.compile(r"\+(?=[a-z0-9]+(?:-[a-z0-9]+)*(?:[@:+]|\Z))")
"""A plus before what may be the name of a component."""

SETTINGS_DIGITS = 8
"""Hex digits of settings in a uid."""


def split_composition(name: str) -> list[str]:
    """Split `a+b`, several perturbations one after the other, into its steps.

    Args:
        name: Names with their parameters, joined by `+`.

    Returns:
        The name of each step; one for a name without `+`.
    """
    return _JOINT.split(name)


def camel_case(name: str) -> str:
    """Write the name of a component in CamelCase: `gender-swap` as `GenderSwap`."""
    return "".join(part[:1].upper() + part[1:] for part in name.split("-"))


def row_suffix(names: Sequence[str], settings: Mapping[str, Any]) -> str:
    """Give what is appended to the uid of an original.

    Args:
        names: Names of the steps, without parameters.
        settings: All that is not at its default, as JSON values.

    Returns:
        `Name`, joined by `+` where there are several steps, and with eight hex digits
        of the settings where there are any.
    """
    name = "+".join(map(camel_case, names))
    if not settings:
        return name
    text = json.dumps(settings, sort_keys=True, ensure_ascii=True)
    digits = hashlib.sha256(text.encode()).hexdigest()[:SETTINGS_DIGITS]
    return f"{name}-{digits}"
