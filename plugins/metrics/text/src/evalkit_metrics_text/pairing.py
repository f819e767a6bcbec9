"""Pairs of spans that overlap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Place = tuple[Any, Any]
"""Where a span starts, and where it ends: the place after it."""


def count_overlapping(found: Sequence[Place], wanted: Sequence[Place]) -> int:
    """Count the most pairs of spans that overlap, each span in one pair at most.

    Of all spans the one that ends first is paired first. Its partners all hold its last
    place, so that the one of them that ends first is never a worse choice.

    Args:
        found: Predicted spans; those without start, end or length overlap nothing.
        wanted: Gold spans.

    Returns:
        The number of pairs of a predicted and a gold span.
    """
    left = sorted(
        (end, start, side)
        for side, spans in enumerate((found, wanted))
        for start, end in spans
        if start is not None and end is not None and start < end
    )
    pairs = 0
    while left:
        end, _, side = left.pop(0)
        for place, (_, start, other) in enumerate(left):
            if other != side and start < end:
                del left[place]
                pairs += 1
                break
    return pairs
