"""Rows of a model that are damaged, one field at a time."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel


def damaged_rows(
    model: type[BaseModel], row: Mapping[str, Any], key: str | None
) -> list[tuple[str, dict[str, Any]]]:
    """Return copies of a row that lack a required field, or hold an object in it."""
    required = [
        info.alias or name
        for name, info in model.model_fields.items()
        if info.is_required() and (info.alias or name) in row
    ]
    copies = []
    for name in required:
        if name == key:
            continue
        without = {other: value for other, value in row.items() if other != name}
        copies.append((name, without))
        if not isinstance(row[name], Mapping):
            copies.append((name, {**row, name: {"strange": [1]}}))
    return copies


def names_field(text: str, name: str) -> bool:
    """Tell whether a message names a field, and not only as a part of a word."""
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None
