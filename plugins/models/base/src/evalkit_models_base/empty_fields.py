"""Finds fields that the examples have no value for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from evalkit.errors import DataError
from evalkit_models_base.templates import value_at

_MOST = 0.5
"""Share of the examples without a value from which on a user is told."""


def refuse_fields_of_nobody(
    names: Iterable[str],
    rows: Sequence[Mapping[str, Any]],
    mapped: Mapping[str, str] | None = None,
) -> None:
    """Refuse fields of a template that no example has a value for."""
    for name in names:
        if not rows or _lacking(name, rows) < len(rows):
            continue
        why = "".join(
            f", as --map {field}={column} reads that column as {field!r}"
            for field, column in (mapped or {}).items()
            if column == name
        )
        raise DataError(
            f"no example has a value for {{{name}}}{why}; `evalkit inputs` shows what "
            "there is to name"
        )


def notices_of_empty(
    names: Iterable[str], rows: Sequence[Mapping[str, Any]], what: str
) -> tuple[str, ...]:
    """Say which fields most examples have no value for."""
    found = [(name, _lacking(name, rows)) for name in names]
    return tuple(
        f"{name!r}, which {what}, is empty in {count:,} of {len(rows):,} examples"
        for name, count in found
        if count > _MOST * len(rows)
    )


def _lacking(name: str, rows: Sequence[Mapping[str, Any]]) -> int:
    return sum(_is_empty(name, row) for row in rows)


def _is_empty(name: str, row: Mapping[str, Any]) -> bool:
    found = value_at(name, row)
    if isinstance(found, str):
        return not found.strip()
    return found is None or found == [] or found == {}
