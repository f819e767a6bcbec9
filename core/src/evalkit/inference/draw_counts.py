"""How many random draws intervals are made of; imports nothing."""

from __future__ import annotations

DRAWS_OF_SUMS = 1_000
"""Replicates of a score that is computed from sums."""

DRAWS_OF_LISTS = 200
"""Replicates of a function of lists, which has to be called for each."""

DRAWS_OF_LARGEST_DIFFERENCES = 10_000
"""Draws of the largest standardised difference between groups."""
