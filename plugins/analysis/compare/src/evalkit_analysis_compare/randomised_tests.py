"""p-values of comparisons, and how far random swaps go on until one is decided.

Of B random swaps the p-value is `(1 + hits) / (1 + B)`, which is at least 1 / (1 + B).
Where the level of a test is small, since many are read together, a fixed B could not
decide anything. So swaps go on until the decision at the level is clear (after Besag
and Clifford 1991, and Gandy 2009), or the most swaps were made.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

MOST_SWAPS = 100_000
"""Swaps beyond which a test does not go on."""

_ENOUGH_WITHOUT_HIT = 2.0
"""Hits that must have been expected at the level, where there were none."""

_ENOUGH_EXPECTED = 20.0
"""Expected hits at the level that are enough, however close the decision."""

_CLEAR_ERRORS = 3.0
"""Standard errors by which the hits must differ from those expected at the level."""


class Significance(NamedTuple):
    """The outcome of a two-sided test."""

    p_value: float
    method: str
    at_most: bool = False
    """Whether no swap was as great, so that the p-value may be smaller."""
    least: float = 0.0
    """No p-value of this test could have been smaller, whatever was observed: a few
    units have few swaps."""


class SwapCount(NamedTuple):
    """How many swaps differ at least as much as what was observed."""

    hits: int
    swaps: int
    """Swaps for which the difference is defined."""

    def __add__(self, other: object) -> SwapCount:
        """Add what further swaps gave."""
        assert isinstance(other, SwapCount)
        return SwapCount(self.hits + other.hits, self.swaps + other.swaps)

    @property
    def p_value(self) -> float:
        """The share of swaps, of which the observed is one (Noreen 1989)."""
        return (1 + self.hits) / (1 + self.swaps)

    def is_clear(self, level: float) -> bool:
        """Tell whether more swaps would hardly turn the decision at a level."""
        expected = level * self.swaps
        if self.hits == 0:
            return expected >= _ENOUGH_WITHOUT_HIT
        spread = math.sqrt(max(self.hits, expected))
        return abs(self.hits - expected) > _CLEAR_ERRORS * spread


def go_on(
    count: Callable[[int, int], SwapCount], begun: SwapCount, made: int, level: float
) -> SwapCount:
    """Swap on until the decision at a level is clear, at most `MOST_SWAPS` times.

    `count` takes the number of the first swap and how many, and counts their hits;
    `begun` is what the first `made` swaps gave.
    """
    most = min(MOST_SWAPS, math.ceil(_ENOUGH_EXPECTED / level))
    found = begun
    while made < most and not found.is_clear(level):
        wanted = made
        if found.hits == 0:
            wanted = math.ceil(_ENOUGH_WITHOUT_HIT / level) - made
        more = min(max(made, wanted), most - made)
        found += count(made, more)
        made += more
    return found
