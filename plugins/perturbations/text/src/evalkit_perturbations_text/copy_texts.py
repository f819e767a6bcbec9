"""The texts of an original and of its copy, for what tags say about them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

_KEPT = frozenset(
    (
        *("uid", "id", "input_id", "perturbation", "label_effect", "families"),
        *("tags", "cluster", "edits"),
    )
)
"""Columns that hold no text of an example."""


def texts_of(row: Mapping[str, Any]) -> Iterator[str]:
    """Return the texts of an example, those in lists too."""
    for name, value in row.items():
        if name in _KEPT:
            continue
        for item in value if isinstance(value, list | tuple) else (value,):
            if isinstance(item, str):
                yield item


def is_changed(original: Mapping[str, Any], copy: Mapping[str, Any]) -> bool:
    """Tell whether a text of the original is another one in its copy."""
    return [*texts_of(original)] != [*texts_of({**original, **copy})]
