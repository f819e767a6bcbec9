"""Adjusts p-values of several tests that are read together."""

from __future__ import annotations

from collections.abc import Sequence


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjust p-values so that one false finding among them is as rare as promised.

    The i-th smallest of m becomes the greatest of `min(1, (m - j + 1) p_j)` over all j
    up to i (Holm 1979). Declaring those that are at most alpha keeps the probability
    of any false finding at alpha, however the tests depend on each other.

    Args:
        p_values: The p-values of one family, 0 to 1.

    Returns:
        The adjusted ones, in the same order; none is below its own p-value.
    """
    adjusted = [0.0] * len(p_values)
    greatest = 0.0
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    for place, index in enumerate(order):
        remaining = len(p_values) - place
        greatest = max(greatest, min(1.0, remaining * p_values[index]))
        adjusted[index] = greatest
    return adjusted


def bonferroni(p_value: float, size: int) -> float:
    """Adjust a p-value for the size of its family, whatever depends on what.

    Unlike Holm's, it agrees with intervals that hold for all of the family at once:
    those of level 1 - alpha / size (Dunn 1961).

    Args:
        p_value: The p-value, 0 to 1.
        size: How many tests are read together.

    Returns:
        `min(1, size * p_value)`.
    """
    return min(1.0, size * p_value)
