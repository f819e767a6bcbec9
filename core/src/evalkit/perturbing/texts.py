"""The texts of an example that a perturbation may change, and how they go back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple


class Place(NamedTuple):
    """Where a text is in an example."""

    field: str
    item: int | None = None
    """Its place in a list of texts; None where the field is the text."""

    def __str__(self) -> str:
        return self.field if self.item is None else f"{self.field}[{self.item}]"


def find_texts(
    example: Mapping[str, Any], fields: Sequence[Place]
) -> list[tuple[Place, str]]:
    """Find the texts of some fields.

    Args:
        example: An example.
        fields: The fields; those that it lacks, or that hold no text, have none.

    Returns:
        Place and text of all texts that are not empty, field after field.
    """
    found: list[tuple[Place, str]] = []
    for place in fields:
        value = example.get(place.field)
        if isinstance(value, str):
            if value:
                found.append((place, value))
        elif isinstance(value, list | tuple):
            found += [
                (Place(place.field, number), item)
                for number, item in enumerate(value)
                if isinstance(item, str) and item
            ]
    return found


def text_at(example: Mapping[str, Any], place: Place) -> str:
    """Return the text at a place."""
    value = example[place.field]
    text: str = value if place.item is None else value[place.item]
    return text


def with_text(example: dict[str, Any], place: Place, text: str) -> None:
    """Put a text in its place.

    Args:
        example: The example, which is changed; a list in it is replaced by another.
        place: Where it goes.
        text: The text.
    """
    if place.item is None:
        example[place.field] = text
        return
    items = list(example[place.field])
    items[place.item] = text
    example[place.field] = items
