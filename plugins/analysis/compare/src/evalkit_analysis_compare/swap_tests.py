"""Tests metrics of whole sets by swapping units between two models.

If two models are equally good, which of them gave which of a unit's two answers is a
coin toss. The p-value is the share of such tosses that give a difference at least as
great as the real one (Noreen 1989): of all of them where they are few, else of random
ones, which go on until the decision is clear.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from evalkit.inference.intervals import Floats
from evalkit_analysis_compare.randomised_tests import Significance, SwapCount, go_on

_SLACK = 1e-12
"""Share by which two differences may differ by rounding alone."""

_STEP = 4_000
"""Swaps that are finalised at a time."""

UNDEFINED = "the score is undefined in most swaps"

SwapDifferences = Mapping[str, Floats]
"""The difference after each swap by name of the score; NaN where it is undefined."""


class AllSwaps:
    """The differences after all possible swaps."""

    def __init__(self, values: SwapDifferences, weights: Floats) -> None:
        self._values = values
        self._weights = weights

    def test(self, name: str, value: float, level: float) -> Significance | str:
        """Return the test of one score, or why there is none."""
        swapped = self._values.get(name, np.empty(0))
        if not len(swapped):
            return UNDEFINED
        defined = np.isfinite(swapped)
        total = float(self._weights[defined].sum())
        if total <= self._weights.sum() / 2:
            return UNDEFINED
        sizes, weights = np.abs(swapped[defined]), self._weights[defined]
        p_value, least = (
            float(weights[sizes >= size * (1 - _SLACK)].sum()) / total
            for size in (abs(value), float(sizes.max()))
        )
        return Significance(min(1.0, p_value), "swaps-exact", least=min(1.0, least))


class RandomSwaps:
    """The differences after random swaps, of which more are made when needed.

    `make` takes the number of the first swap and how many; `begun` are made in any
    case; `units` are those that would make a difference.
    """

    def __init__(
        self,
        make: Callable[[int, int], SwapDifferences],
        begun: int,
        units: int,
    ) -> None:
        self._make = make
        self._begun = begun
        self._least = min(1.0, 2.0 ** (1 - units))
        self._parts = [make(0, begun)]
        self._made = begun

    def test(self, name: str, value: float, level: float) -> Significance | str:
        """Return the test of one score, or why there is none."""
        count = partial(self._count, name, abs(value) * (1 - _SLACK))
        begun = count(0, self._begun)
        if begun.swaps <= self._begun / 2:
            return UNDEFINED
        found = go_on(count, begun, self._begun, level)
        return Significance(found.p_value, "swaps", found.hits == 0, self._least)

    def _count(self, name: str, size: float, first: int, count: int) -> SwapCount:
        """Count the swaps that differ at least as much as what was observed."""
        while self._made < first + count:
            more = min(_STEP, first + count - self._made)
            self._parts.append(self._make(self._made, more))
            self._made += more
        parts = [part[name] for part in self._parts if name in part]
        if not parts:
            return SwapCount(0, 0)
        values = np.concatenate(parts)[first : first + count]
        defined = np.abs(values[np.isfinite(values)])
        return SwapCount(int((defined >= size).sum()), len(defined))


Swaps = AllSwaps | RandomSwaps
