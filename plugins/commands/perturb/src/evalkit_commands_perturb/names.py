"""How perturbations, and the rows that they make, are named."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from evalkit.base.names import score_name

_SPECIAL = re.compile(r"[%+,={}]|\A\s+|\s+\Z")
"""What would be taken for a part of a name."""

SETTINGS_DIGITS = 8
"""Hex digits of settings in a uid."""


def identity_of(
    steps: Sequence[tuple[str, Mapping[str, Any]]], settings: Mapping[str, Any]
) -> str:
    """Name a perturbation so that it can be applied again by that name."""
    name = "+".join(
        score_name(name, {key: _quoted(value) for key, value in parameters.items()})
        for name, parameters in steps
    )
    if not settings:
        return name
    return f"{name}{{{score_name('', settings).removeprefix(':')}}}"


def _quoted(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_quoted(item) for item in value]
    if not isinstance(value, str):
        return value
    return _SPECIAL.sub(lambda found: quote(found.group(), safe=""), value)


def camel_case(name: str) -> str:
    """Write the name of a component in CamelCase: `gender-swap` as `GenderSwap`."""
    return "".join(part[:1].upper() + part[1:] for part in name.split("-"))


def row_suffix(names: Sequence[str], settings: Mapping[str, Any]) -> str:
    """Return what is appended to the uid of an original."""
    name = "+".join(map(camel_case, names))
    if not settings:
        return name
    text = json.dumps(settings, sort_keys=True, ensure_ascii=True)
    digits = hashlib.sha256(text.encode()).hexdigest()[:SETTINGS_DIGITS]
    return f"{name}-{digits}"
