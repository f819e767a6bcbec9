"""Bars of the tags for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from evalkit_commands_report.gathering import Gathered


def bar_lines(groups: Sequence[Gathered]) -> Iterator[str]:
    """Yield lines."""
    yield from ()
