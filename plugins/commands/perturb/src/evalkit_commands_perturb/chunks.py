"""Perturbs many examples at once, in this process or in another one."""

from __future__ import annotations

import json
import time
import zlib
from bisect import insort
from collections.abc import Iterable, Mapping, Sequence
from heapq import nsmallest
from operator import itemgetter
from typing import Any, NamedTuple

from pydantic_core import to_jsonable_python

from evalkit import Component
from evalkit.catalog import Bound, BoundPerturbation, BoundTask, load_component
from evalkit.errors import DataError
from evalkit.plugins.bound import Converting
from evalkit_commands_perturb.copying import Change, Copy, Example, Perturber
from evalkit_commands_perturb.rows import together, with_edits
from evalkit_commands_perturb.scopes import Settings

MOST_SAMPLES = 5
"""Changed examples of a perturbation that are kept to be shown."""

Reference = tuple[Component, dict[str, Any]]
"""A component and the parameters that it was loaded with."""


class ChangedExample(NamedTuple):
    """A changed example, to be looked at."""

    uid: str
    """The original's."""
    changes: Mapping[str, Change]
    """By field."""

    @property
    def rank(self) -> tuple[int, str]:
        """Puts examples in an order that is not that of the data."""
        return _rank(self.uid)


def _rank(uid: str) -> tuple[int, str]:
    return zlib.crc32(uid.encode("utf-8", "surrogatepass")), uid


class Tally(NamedTuple):
    """What one perturbation did to some examples."""

    changed: int = 0
    """Examples of which there is a changed copy."""
    copies: int = 0
    samples: tuple[ChangedExample, ...] = ()
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

    examples: int
    """How many there were."""
    lines: str
    """The changed copies as JSON lines."""
    tallies: tuple[Tally, ...]
    """One for each perturbation."""
    seconds: float
    """How long it took."""


def perturb_chunk(
    perturbers: Sequence[Perturber],
    examples: Iterable[Example],
    edits: bool,
    seconds: float | None = None,
) -> Chunk:
    """Perturb some examples."""
    lines: list[str] = []
    counts = [_Count() for _ in perturbers]
    total = 0
    started = time.monotonic()
    for some in together(perturbers, examples):
        made = [perturber.copies_of(some) for perturber in perturbers]
        for number, example in enumerate(some):
            for copies, count in zip(made, counts, strict=True):
                before = len(lines)
                for copy in copies[number]:
                    if len(lines) == before:
                        count.keep_first(copy)
                    row = with_edits(copy) if edits else copy.row
                    lines.append(_line(row, example.uid))
                count.copies += len(lines) - before
        total += len(some)
        if seconds is not None and time.monotonic() - started > seconds:
            break
    tallies = tuple(count.tally() for count in counts)
    return Chunk(total, "".join(lines), tallies, time.monotonic() - started)


class _Count:
    """Counts what one perturbation does."""

    def __init__(self) -> None:
        self.copies = 0
        self._changed = 0
        self._samples: list[tuple[tuple[int, str], Copy]] = []

    def keep_first(self, copy: Copy) -> None:
        """Count a changed example, and keep its copy if it is one to be shown."""
        self._changed += 1
        rank = _rank(str(copy.row["input_id"]))
        if len(self._samples) < MOST_SAMPLES or rank < self._samples[-1][0]:
            insort(self._samples, (rank, copy), key=itemgetter(0))
            del self._samples[MOST_SAMPLES:]

    def tally(self) -> Tally:
        """Return the counts, and the examples to be shown."""
        samples = tuple(
            ChangedExample(uid, copy.changes()) for (_, uid), copy in self._samples
        )
        return Tally(self._changed, self.copies, samples)


def _line(row: Mapping[str, Any], uid: str) -> str:
    try:
        return _write(row) + "\n"
    except (TypeError, ValueError, RecursionError) as error:
        raise DataError(
            f"the example {uid!r} cannot be written as JSON: {error}"
        ) from error


def _plain(value: Any) -> Any:
    """Write what a row may hold and JSON has not, such as a date, as pydantic does."""
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if isinstance(value, bytes | bytearray):  # they may be no text
        raise TypeError(f"{type(value).__name__} is no type of JSON")
    return to_jsonable_python(value)


_write = json.JSONEncoder(ensure_ascii=False, allow_nan=False, default=_plain).encode


def first_samples(samples: Sequence[ChangedExample]) -> tuple[ChangedExample, ...]:
    """Return the few samples that are kept, whatever the order they come in."""
    return tuple(nsmallest(MOST_SAMPLES, samples, key=lambda sample: sample.rank))


class Portable(NamedTuple):
    """What another process needs to make the same perturbers."""

    steps: tuple[tuple[Reference, ...], ...]
    task: Reference | None
    settings: Settings
    answer_field: str | None
    labels: tuple[str, ...] | None
    converter: Reference | None
    edits: bool


def portable(
    perturbers: Sequence[Perturber],
    task: BoundTask | None,
    settings: Settings,
    answer_field: str | None,
    labels: tuple[str, ...] | None,
    converter: Converting | None,
    edits: bool,
) -> Portable | None:
    """Describe perturbers for another process."""
    steps = [[_reference(step) for step in each.steps] for each in perturbers]
    found = None if task is None else _reference(task)
    method = None if converter is None else _reference(converter)
    is_known = (task is None) == (found is None)
    is_known &= (converter is None) == (method is None)
    if not is_known or any(None in each for each in steps):
        return None
    known = tuple(tuple(step for step in each if step is not None) for each in steps)
    return Portable(known, found, settings, answer_field, labels, method, edits)


def _reference(bound: Bound) -> Reference | None:
    if bound.loaded_with is None:
        return None
    return bound.component, dict(bound.loaded_with)


Loaded = tuple[Sequence[Perturber], bool]
"""Perturbers in a worker process, and whether edits are added to rows."""


def load_perturbers(described: Portable) -> Loaded:
    """Make the perturbers that a description is of."""
    task = described.task and BoundTask.of(load_component(*described.task))
    method = described.converter and Converting.of(load_component(*described.converter))
    perturbers = [
        Perturber(
            [BoundPerturbation.of(load_component(*step)) for step in steps],
            task,
            described.settings,
            described.answer_field,
            described.labels,
            method,
        )
        for steps in described.steps
    ]
    return perturbers, described.edits


def perturb_in_worker(loaded: Loaded, examples: Sequence[Example]) -> Chunk:
    """Perturb some examples with what was loaded."""
    return perturb_chunk(loaded[0], examples, loaded[1])
