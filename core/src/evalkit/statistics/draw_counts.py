"""How many random draws intervals are made of; imports nothing."""

from __future__ import annotations

from collections.abc import Mapping

DRAWS_OF_SUMS = 1_000
"""Replicates of a score that is computed from sums."""

DRAWS_OF_LISTS = 200
"""Replicates of a function of lists, which has to be called for each."""

DRAWS_BY_METHOD: Mapping[str, int] = {
    "multinomial": DRAWS_OF_SUMS,
    # a function of lists and a score of sums are called the same
    "bootstrap": min(DRAWS_OF_SUMS, DRAWS_OF_LISTS),
}
"""The fewest draws of an interval, by a word in the name of its method.

The bounds of an interval of another method do not depend on the seed.
"""
