"""The texts of an example by their names, found apart from what perturbs them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


def texts_by_name(
    example: Mapping[str, Any], fields: Iterable[str], lists: bool = True
) -> dict[str, str]:
    """Give the texts of some fields.

    Args:
        example: An example.
        fields: Names of its fields.
        lists: Whether also the texts in lists.

    Returns:
        Texts by the field's name, with the place in a list in brackets.
    """
    found: dict[str, Any] = {}
    for name in fields:
        value = example.get(name)
        if isinstance(value, list | tuple) and lists:
            found |= {f"{name}[{place}]": item for place, item in enumerate(value)}
        else:
            found[name] = value
    return {name: text for name, text in found.items() if isinstance(text, str)}
