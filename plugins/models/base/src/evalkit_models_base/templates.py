"""Texts with places for fields: `Statement: {statement}`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from string import Formatter
from typing import Any

from evalkit.errors import DataError


def fields_of(template: str) -> list[str]:
    """Return the names of the fields of a template, each once.

    In a template `{name}` stands for a field, `{name.key}` for a value within one, and
    `{{` and `}}` for braces. A malformed one is a `DataError`.
    """
    return list(dict.fromkeys(name for _, name in _parts(template) if name is not None))


def fill(template: str, values: Mapping[str, Any]) -> str:
    """Put values into a template; braces in values stand for themselves.

    Raises:
        DataError: The template is malformed, or a value is missing or null.
    """
    return "".join(
        literal if name is None else literal + written(name, values)
        for literal, name in _parts(template)
    )


@lru_cache(maxsize=1_000)
def _parts(template: str) -> tuple[tuple[str, str | None], ...]:
    try:
        return tuple(_parsed(template))
    except ValueError as error:
        raise DataError(
            f"the template {template!r} is malformed: {error}; a brace that stands for "
            "itself is written twice"
        ) from error


def _parsed(template: str) -> Iterator[tuple[str, str | None]]:
    for literal, name, form, conversion in Formatter().parse(template):
        if name is not None and (form or conversion):
            raise ValueError(f"{{{name}}} takes neither : nor ! behind its name")
        if name is not None and not _is_path(name):
            raise ValueError(f"{{{name}}} is no name of a field")
        yield literal, name


def _is_path(name: str) -> bool:
    return bool(name) and all(
        part.replace("-", "_").isidentifier() for part in name.split(".")
    )


def written(name: str, values: Mapping[str, Any]) -> str:
    """Return the value of a field, or one within it, as it is written."""
    value = value_at(name, values)
    if value is None:
        raise DataError(f"{{{name}}} has no value")
    if isinstance(value, str):
        return value
    if isinstance(value, bool | int | float):
        return str(value)
    if isinstance(value, list | tuple) and all(isinstance(each, str) for each in value):
        return ", ".join(value)
    raise DataError(
        f"{{{name}}} is no text, number or list of texts; name a value within it, such "
        f"as {{{name}.KEY}}"
    )


def value_at(name: str, values: Mapping[str, Any]) -> Any:
    """Return the value of a field, or one within it; None for none."""
    found: Any = values
    for part in name.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    return found
