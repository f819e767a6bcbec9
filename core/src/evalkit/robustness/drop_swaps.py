"""Swaps originals with their copies, to test the drop of a set-level score.

The copies of an original count together as much as the original does, so that only
which answers are whose changes.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from evalkit.inference.intervals import Floats
from evalkit_analysis_compare.paired_sums import SumPair, UnitSums
from evalkit_analysis_compare.randomised_tests import Significance
from evalkit_analysis_compare.swap_tests import AllSwaps, RandomSwaps, SwapDifferences

BEGUN = 256
"""Swaps that are made in any case: all, where there are no more, else random ones."""

_NOT_WEIGHTED = "the metric's sums cannot be weighted, so copies cannot be swapped"

Finalise = Callable[[SumPair, int], SwapDifferences]
"""Gives the drop of each replicate by score, given how many replicates there are."""


class DropSwaps:
    """The swaps of one group.

    Args:
        source: The sums of its units, of originals and of copies.
        finalise: Makes drops of sums.
        are_weighted: Whether copies count less than they do in the drop itself.

    Attributes:
        begun: The sums after the swaps that are made in any case.
        count: How many swaps these are.
    """

    def __init__(
        self, source: UnitSums, finalise: Finalise, *, are_weighted: bool
    ) -> None:
        self._source = source
        self._finalise = finalise
        self._are_weighted = are_weighted
        self._shares: Floats | None = None
        every = source.all_swaps() if 2**source.differing <= BEGUN else None
        if every is None:
            self.begun, self.count = source.swap(0, BEGUN), BEGUN
        else:
            self.begun, self._shares = every
            self.count = len(self._shares)
        self._random: RandomSwaps | None = None
        self._all: AllSwaps | None = None

    def take(self, drops: SwapDifferences) -> None:
        """Take the drops that the swaps begun with gave.

        Args:
            drops: The drop after each swap, by score.
        """
        if self._shares is not None:
            self._all = AllSwaps(drops, self._shares)
        else:
            differing = self._source.differing
            self._random = RandomSwaps(self._more, BEGUN, differing, drops)

    def test(self, name: str, value: float, level: float) -> Significance | str:
        """Test the drop of a score.

        Args:
            name: Name of the score within the metric.
            value: The drop.
            level: Level that the test must decide at.

        Returns:
            The test, or why there is none.
        """
        if self._are_weighted:
            unswapped = self._finalise(self._source.unswapped(), 1)
            as_weighted = float(unswapped[name][0]) if name in unswapped else math.nan
            if not math.isclose(as_weighted, value, rel_tol=1e-9, abs_tol=1e-12):
                return _NOT_WEIGHTED
        drawn = self._random
        if drawn is not None and (
            drawn.is_clear(name, value, level) or not self._can_be_all()
        ):
            return drawn.test(name, value, level)
        assert self._all is not None
        return self._all.test(name, value, level)

    def _can_be_all(self) -> bool:
        """Swap in every way, unless there are too many."""
        if self._all is None:
            every = self._source.all_swaps()
            if every is None:
                return False
            sums, shares = every
            self._all = AllSwaps(self._finalise(sums, len(shares)), shares)
        return True

    def _more(self, first: int, count: int) -> SwapDifferences:
        return self._finalise(self._source.swap(first, count), count)
