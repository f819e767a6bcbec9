"""Values within rows, found by their path, and what is said where there are none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evalkit.errors import AdapterError
from evalkit_adapters_rows.row_values import word_for

_MOST_NAMES = 12


def value_at(row: Mapping[str, Any], path: str) -> Any:
    """Return the value at a path, such as `doc.key`."""
    found: Any = row
    for part in path.split("."):
        if isinstance(found, Mapping) and part in found:
            found = found[part]
        elif isinstance(found, list) and part.isdecimal() and int(part) < len(found):
            found = found[int(part)]
        else:
            raise AdapterError(
                f"there is no {path!r}: {part!r} is not among {_named(found)}",
                field=path,
            )
    return found


def list_at(row: Mapping[str, Any], path: str) -> list[Any]:
    """Return the list at a path."""
    found = value_at(row, path)
    if isinstance(found, list):
        return found
    raise AdapterError(f"{path!r} must be a list, got {word_for(found)}", field=path)


def text_of(value: Any, field: str) -> str:
    """Return a value that is a text."""
    if isinstance(value, str):
        return value
    raise AdapterError(f"{field!r} must be a text, got {word_for(value)}", field=field)


def object_of(value: Any, field: str) -> dict[str, Any]:
    """Return a value that is an object."""
    if isinstance(value, dict):
        return value
    problem = f"{field!r} must be an object, got {word_for(value)}"
    raise AdapterError(problem, field=field)


def answers(texts: Sequence[str], field: str) -> dict[str, Any]:
    """Return the fields of a response with one answer or several."""
    found = [{field: text} for text in texts]
    return found[0] if len(found) == 1 else {"responses": found}


def _named(value: Any) -> str:
    if isinstance(value, Mapping):
        names = [repr(name) for name in value]
        more = ["…"] if len(names) > _MOST_NAMES else []
        return ", ".join([*names[:_MOST_NAMES], *more]) or "no fields"
    if isinstance(value, list):
        return f"the {len(value):,} items of a list"
    return f"the fields of a value that is {word_for(value)}"
