"""How long work tells how far it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from evalkit.errors import CancelledError

T = TypeVar("T")

Progress = Callable[[str, float], None]
"""Told what is being done, and which share of the whole is behind, 0 to 1."""


def cancelling(progress: Progress, cancelled: Callable[[], bool]) -> Progress:
    """Return a callback that raises `CancelledError` once the caller has cancelled."""

    def report(text: str, share: float) -> None:
        if cancelled():
            raise CancelledError(f"the evaluation was cancelled before: {text}")
        progress(text, share)

    return report


def reported(
    items: Iterable[T], progress: Progress, text: str, share: float
) -> Iterator[T]:
    """Yield items, and call back after each."""
    for item in items:
        yield item
        progress(text, share)
