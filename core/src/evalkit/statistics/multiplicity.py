"""Adjustment of p-values that are read together."""

from __future__ import annotations

from collections.abc import Sequence


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjust p-values so that the chance of any false finding is at most alpha.

    The i-th smallest of m becomes the greatest of `min(1, (m - j + 1) p_j)` over all j
    up to i (Holm 1979), however the tests depend on each other.

    Args:
        p_values: The p-values of one family, 0 to 1.

    Returns:
        The adjusted p-values in the same order.
    """
    adjusted = [0.0] * len(p_values)
    greatest = 0.0
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    for place, index in enumerate(order):
        remaining = len(p_values) - place
        greatest = max(greatest, min(1.0, remaining * p_values[index]))
        adjusted[index] = greatest
    return adjusted
