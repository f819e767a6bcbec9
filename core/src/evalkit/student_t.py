"""Quantiles of the normal and of Student's t distribution."""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist

_STEPS = 200
_TINY = 1e-300


@lru_cache(maxsize=4096)
def normal_quantile(confidence: float) -> float:
    """Give z such that a normal variable lies within ±z with this probability.

    Args:
        confidence: Probability, between 0 and 1.

    Returns:
        The two-sided quantile: 1.96 for 0.95.
    """
    return NormalDist().inv_cdf((1 + confidence) / 2)


@lru_cache(maxsize=4096)
def t_quantile(confidence: float, degrees: int) -> float:
    """Give t such that Student's t lies within ±t with this probability.

    Found by bisection on the distribution function, which is a regularised incomplete
    beta function (Abramowitz and Stegun 1964, 26.7.1 and 26.5.8).

    Args:
        confidence: Probability, between 0 and 1.
        degrees: Degrees of freedom, at least 1.

    Returns:
        The two-sided quantile.
    """
    low, high = 0.0, 1.0
    while _two_sided(high, degrees) < confidence:
        low, high = high, high * 2
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        if _two_sided(middle, degrees) < confidence:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _two_sided(t: float, degrees: int) -> float:
    """Probability that Student's t lies within ±t."""
    square = t * t
    return _incomplete_beta(square / (degrees + square), 0.5, degrees / 2)


def _incomplete_beta(x: float, a: float, b: float) -> float:
    if x <= 0:
        return 0.0
    if x >= 1:
        return 1.0
    log_front = (
        math.lgamma(a + b)
        - math.lgamma(a)
        - math.lgamma(b)
        + a * math.log(x)
        + b * math.log1p(-x)
    )
    front = math.exp(log_front)
    if x < (a + 1) / (a + b + 2):
        return front * _continued_fraction(x, a, b) / a
    return 1 - front * _continued_fraction(1 - x, b, a) / b


def _continued_fraction(x: float, a: float, b: float) -> float:
    """Evaluate the fraction of 26.5.8 by the modified method of Lentz (1976)."""
    c = 1.0
    d = 1 / _not_zero(1 - (a + b) * x / (a + 1))
    value = d
    for m in range(1, 10_000):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for step in (even, odd):
            d = 1 / _not_zero(1 + step * d)
            c = _not_zero(1 + step / c)
            value *= c * d
        if abs(c * d - 1) < 1e-16:
            break
    return value


def _not_zero(value: float) -> float:
    return value if abs(value) > _TINY else _TINY
