"""Entities that a recogniser finds in a text."""

from __future__ import annotations

from typing import NamedTuple


class Entity(NamedTuple):
    """A part of a text that names something."""

    start: int
    """Where it begins, in characters (Unicode code points)."""
    end: int
    """Where it ends; the character at this place is not part of it."""
    kind: str
    """What it names: `person` for the name of a person."""
