"""The texts of an example that a perturbation may change, and how they go back."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

_LISTS = (list, tuple)
_STEP = re.compile(r"\.?([^.\[\]]+|\[\d*\])")
_PATH = re.compile(r"[^.\[\]]+(\.[^.\[\]]+|\[\d*\])*")

EACH = "[]"
"""The step of a path that leads to each item of a list."""


class Place(NamedTuple):
    """Where a text is in an example."""

    field: str
    path: tuple[str | int, ...] = ()
    """Names and places in lists that lead to it; empty where the field is the text."""

    def __str__(self) -> str:
        steps = (f"[{at}]" if isinstance(at, int) else f".{at}" for at in self.path)
        return "".join((self.field, *steps))

    def within(self, step: str | int) -> Place:
        """Return the place that is one step deeper."""
        return Place(self.field, (*self.path, step))


class FieldPath(NamedTuple):
    """Which texts of an example are meant: `title`, `context.title`, `turns[].text`."""

    name: str
    """As it was written; a field that is called so goes before what it leads to."""
    place: Place
    """The field that is called so."""
    steps: tuple[str, ...] = ()
    """Name of the outer field, then names, `[]` and `[0]`; empty for a whole field."""

    @property
    def outer(self) -> str:
        """The field of the example in which the texts are."""
        return self.steps[0] if self.steps else self.name


def read_path(name: str) -> FieldPath:
    """Read what names a field, or texts within one.

    Args:
        name: Such as `title`, `context.title`, `messages[].content` or `turns[0]`.

    Returns:
        The path; of a name that is not of this form the field that is called so.
    """
    if not _PATH.fullmatch(name):
        return FieldPath(name, Place(name))
    steps = tuple(_STEP.findall(name))
    return FieldPath(name, Place(name), steps if len(steps) > 1 else ())


def find_texts(
    example: Mapping[str, Any], fields: Sequence[FieldPath]
) -> list[tuple[Place, str]]:
    """Find the texts of some fields.

    Args:
        example: An example.
        fields: The fields; those that it lacks, or that hold no text, have none.

    Returns:
        Place and text of all texts that are not empty, field after field.
    """
    found: list[tuple[Place, str]] = []
    for field in fields:
        value = example.get(field.name)
        if isinstance(value, str):
            if value:
                found.append((field.place, value))
        elif isinstance(value, _LISTS):
            found += _texts_of(value, field.place, ())
        elif field.steps and field.name not in example:
            first, *steps = field.steps
            found += _texts_of(example.get(first), Place(first), steps)
    return found


def _texts_of(
    value: Any, place: Place, steps: Sequence[str]
) -> Iterator[tuple[Place, str]]:
    """Return the texts that a path leads to; of a list of texts each item."""
    if not steps and isinstance(value, str):
        if value:
            yield place, value
    elif isinstance(value, _LISTS) and (not steps or steps[0].startswith("[")):
        for number, item in enumerate(value):
            is_meant = (
                steps[0] in (EACH, f"[{number}]") if steps else isinstance(item, str)
            )
            if is_meant:
                yield from _texts_of(item, place.within(number), steps[1:])
    elif steps and isinstance(value, Mapping):
        yield from _texts_of(value.get(steps[0]), place.within(steps[0]), steps[1:])


def paths_of_texts(value: Any, path: str = "") -> Iterator[str]:
    """Return the paths that lead to the texts of an example, as they are written."""
    if isinstance(value, str):
        yield path
    elif isinstance(value, Mapping):
        for name, item in value.items():
            yield from paths_of_texts(item, f"{path}.{name}" if path else str(name))
    elif isinstance(value, _LISTS):
        for item in value:
            yield from paths_of_texts(
                item, path + ("" if isinstance(item, str) else EACH)
            )


def same_places(place: Place, before: Any, after: Any) -> Iterator[Place]:
    """Return the places of texts that a value had and still has."""
    if isinstance(before, str) and isinstance(after, str):
        yield place
    elif isinstance(before, _LISTS) and isinstance(after, _LISTS):
        if len(before) == len(after):
            for number, (old, new) in enumerate(zip(before, after, strict=True)):
                yield from same_places(place.within(number), old, new)
    elif isinstance(before, Mapping) and isinstance(after, Mapping):
        for name in before:
            if name in after:
                yield from same_places(place.within(name), before[name], after[name])


def text_at(example: Mapping[str, Any], place: Place) -> str | None:
    """Return the text at a place; None where there is none."""
    value: Any = example.get(place.field)
    for step in place.path:
        try:
            value = value[step]
        except (LookupError, TypeError):
            return None
    return value if isinstance(value, str) else None


def with_text(example: dict[str, Any], place: Place, text: str) -> None:
    """Put a text in its place."""
    example[place.field] = _replaced(example.get(place.field), place.path, text)


def _replaced(value: Any, path: tuple[str | int, ...], text: str) -> Any:
    if not path:
        return text
    step, *rest = path
    changed: Any = dict(value) if isinstance(value, Mapping) else list(value)
    changed[step] = _replaced(value[step], tuple(rest), text)
    return changed
