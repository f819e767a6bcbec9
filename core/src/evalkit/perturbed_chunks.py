"""Perturbs many examples at once, in this process or in another one."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from heapq import nsmallest
from typing import Any, NamedTuple

from evalkit.discovery import Component
from evalkit.errors import DataError
from evalkit.perturbation_steps import Settings
from evalkit.perturbed_rows import with_edits
from evalkit.perturbers import Change, Copy, Perturber
from evalkit.registry import Bound, load_component

MOST_SAMPLES = 5
"""Changed examples of a perturbation that are kept to be shown."""

Reference = tuple[Component, dict[str, Any]]
"""A component and the parameters that it was loaded with."""


class Example(NamedTuple):
    """An example that is to be perturbed."""

    uid: str
    row: Mapping[str, Any]
    tags: Sequence[str] | None
    """Its tags, where they are not a field of the row."""


class Sample(NamedTuple):
    """A changed example, to be looked at."""

    uid: str
    """The original's."""
    changes: Mapping[str, Change]
    """By field."""

    @property
    def rank(self) -> tuple[int, str]:
        """Puts examples in an order that is not that of the data."""
        return zlib.crc32(self.uid.encode("utf-8", "surrogatepass")), self.uid


class Tally(NamedTuple):
    """What one perturbation did to some examples."""

    changed: int = 0
    """Examples of which there is a changed copy."""
    copies: int = 0
    samples: tuple[Sample, ...] = ()
    """A few changed examples; which ones depends on their ids only."""

    def plus(self, other: Tally) -> Tally:
        """Add what was done to other examples."""
        return Tally(
            self.changed + other.changed,
            self.copies + other.copies,
            first_samples([*self.samples, *other.samples]),
        )


class Chunk(NamedTuple):
    """What became of some examples."""

    lines: str
    """The changed copies as JSON lines."""
    tallies: tuple[Tally, ...]
    """One for each perturbation."""


def perturb_chunk(
    perturbers: Sequence[Perturber], examples: Sequence[Example], edits: bool
) -> Chunk:
    """Perturb some examples.

    Args:
        perturbers: The perturbations.
        examples: The examples.
        edits: Whether rows say what was edited.

    Returns:
        The copies, example after example.

    Raises:
        DataError: A value of an example cannot be written as JSON.
        PluginError: A perturbation failed.
    """
    lines: list[str] = []
    changed = [0] * len(perturbers)
    copies = [0] * len(perturbers)
    firsts: list[list[Copy]] = [[] for _ in perturbers]
    for example in examples:
        for place, perturber in enumerate(perturbers):
            before = len(lines)
            for copy in perturber.copies(example.row, example.uid, example.tags):
                if len(lines) == before:
                    firsts[place].append(copy)
                row = with_edits(copy) if edits else copy.row
                lines.append(_line(row, example.uid))
            if len(lines) > before:
                changed[place] += 1
                copies[place] += len(lines) - before
    return Chunk(
        "".join(lines),
        tuple(
            Tally(changed[place], copies[place], _samples(firsts[place]))
            for place in range(len(perturbers))
        ),
    )


def _line(row: Mapping[str, Any], uid: str) -> str:
    try:
        return _write(row) + "\n"
    except (TypeError, ValueError, RecursionError) as error:
        raise DataError(
            f"the example {uid!r} cannot be written as JSON: {error}"
        ) from error


def _plain(value: Any) -> Any:
    """Write what a table may hold and JSON has not: dates and times."""
    if hasattr(value, "isoformat"):
        return value.isoformat()
    raise TypeError(f"{type(value).__name__} is no type of JSON")


_write = json.JSONEncoder(ensure_ascii=False, allow_nan=False, default=_plain).encode


def _samples(copies: Sequence[Copy]) -> tuple[Sample, ...]:
    ranked = nsmallest(
        MOST_SAMPLES, copies, key=lambda copy: Sample(_original_uid(copy), {}).rank
    )
    return tuple(Sample(_original_uid(copy), copy.changes()) for copy in ranked)


def _original_uid(copy: Copy) -> str:
    return str(copy.row["input_id"])


def first_samples(samples: Sequence[Sample]) -> tuple[Sample, ...]:
    """Give the few samples that are kept, whatever the order they come in."""
    return tuple(nsmallest(MOST_SAMPLES, samples, key=lambda sample: sample.rank))


class Portable(NamedTuple):
    """What another process needs to make the same perturbers."""

    steps: tuple[tuple[Reference, ...], ...]
    task: Reference | None
    settings: Settings
    answer_field: str | None
    has_labels: bool
    edits: bool


def portable(
    perturbers: Sequence[Perturber],
    task: Bound | None,
    settings: Settings,
    answer_field: str | None,
    has_labels: bool,
    edits: bool,
) -> Portable | None:
    """Describe perturbers for another process.

    Args:
        perturbers: The perturbations.
        task: The task.
        settings: Seed, variants, fields and what is not protected.
        answer_field: The field that holds the answer.
        has_labels: Whether the data set says which labels its answers are.
        edits: Whether rows say what was edited.

    Returns:
        The description; None where one was given as an object.
    """
    steps = [[_reference(step) for step in each.steps] for each in perturbers]
    found = None if task is None else _reference(task)
    if (task is not None and found is None) or any(None in each for each in steps):
        return None
    known = tuple(tuple(step for step in each if step is not None) for each in steps)
    return Portable(known, found, settings, answer_field, has_labels, edits)


def _reference(bound: Bound) -> Reference | None:
    if bound.loaded_with is None:
        return None
    return bound.component, dict(bound.loaded_with)


class Loaded(NamedTuple):
    """Perturbers in a worker process."""

    perturbers: Sequence[Perturber]
    edits: bool


def load_perturbers(described: Portable) -> Loaded:
    """Make the perturbers that a description is of.

    Args:
        described: From `portable`.

    Returns:
        The perturbers.

    Raises:
        PluginError: A component cannot be loaded.
    """
    task = None if described.task is None else load_component(*described.task)
    perturbers = [
        Perturber(
            [load_component(*step) for step in steps],
            task,
            described.settings,
            described.answer_field,
            described.has_labels,
        )
        for steps in described.steps
    ]
    return Loaded(perturbers, described.edits)


def perturb_in_worker(loaded: Loaded, examples: Sequence[Example]) -> Chunk:
    """Perturb some examples with what was loaded."""
    return perturb_chunk(loaded.perturbers, examples, loaded.edits)
