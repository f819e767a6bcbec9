"""What a part of the attack tried and what it found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any


@dataclass
class Outcome:
    """The tries of one part and the faults among them.

    Attributes:
        tries: How many tries there were, by kind.
        results: What became of them, by words of the part.
        faults: A sentence for each promise that was broken.
        seconds: How long the part took.
    """

    tries: Counter[str] = field(default_factory=Counter)
    results: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @contextmanager
    def timed(self) -> Iterator[None]:
        """Add the time of a block to that of the part."""
        started = perf_counter()
        try:
            yield
        finally:
            self.seconds += perf_counter() - started

    def to_dict(self) -> dict[str, Any]:
        """Return the outcome as JSON can hold it."""
        return {
            "tries": sum(self.tries.values()),
            "tries_by_kind": dict(self.tries),
            "results": dict(self.results),
            "faults": self.faults,
            "seconds": round(self.seconds, 1),
        }
