"""What adapters say of rows that they cannot use."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from evalkit.errors import AdapterError

_MOST_NAMES = 12


def object_row(row: Any) -> dict[str, Any]:
    """Return a row that is an object."""
    if isinstance(row, dict):
        return row
    raise AdapterError(f"the row must be an object with fields, is {word_for(row)}")


def missing(name: str, names: Iterable[str]) -> AdapterError:
    """Return the error of a row that lacks a field."""
    known = list(names)
    more = f" and {len(known) - _MOST_NAMES} more" if len(known) > _MOST_NAMES else ""
    has = ", ".join(map(repr, known[:_MOST_NAMES])) + more if known else "no fields"
    return AdapterError(f"there is no field {name!r}; the row has {has}", field=name)


def collection(row: dict[str, Any], name: str) -> list[Any]:
    """Return a field of a row that is a list."""
    if name not in row:
        raise missing(name, row)
    value = row[name]
    if not isinstance(value, list):
        raise AdapterError(f"{name!r} must be a list, is {word_for(value)}", field=name)
    return value


def word_for(value: Any) -> str:
    """Return what a person calls a value of JSON, such as "a text"."""
    if value is None:
        return "null"
    for kind, word in _WORDS.items():
        if isinstance(value, kind):
            return word
    return f"of the type {type(value).__name__}"


_WORDS = {
    bool: "true or false",
    str: "a text",
    int: "a number",
    float: "a number",
    list: "a list",
    dict: "an object",
}
