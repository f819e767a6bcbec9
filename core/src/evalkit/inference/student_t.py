"""Quantiles of the normal and of Student's t distribution, and tails of the latter."""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist

from evalkit.inference.roots import find_root

_TINY = 1e-300
_MANY = 1_000
"""Degrees of freedom from which an expansion is more exact than logarithms of gamma."""


@lru_cache(maxsize=4096)
def normal_quantile(confidence: float) -> float:
    """Return z such that a normal variable lies within ±z with this probability.

    Args:
        confidence: Probability, between 0 and 1.

    Returns:
        The two-sided quantile: 1.96 for 0.95.
    """
    return NormalDist().inv_cdf((1 + confidence) / 2)


@lru_cache(maxsize=4096)
def t_quantile(confidence: float, degrees: float) -> float:
    """Return t such that Student's t lies within ±t with this probability.

    It is a root of the probability of lying outside, which is a regularised incomplete
    beta function (Abramowitz and Stegun 1964, 26.7.1 and 26.5.8); from 1 000 degrees of
    freedom an expansion about the normal quantile (26.7.5).

    Args:
        confidence: Probability, between 0 and 1.
        degrees: Degrees of freedom, at least 1; they need not be whole.

    Returns:
        The two-sided quantile.
    """
    if degrees >= _MANY:
        return _expanded(normal_quantile(confidence), degrees)
    outside = 1 - confidence
    low, high = 0.0, 1.0
    while outside_probability(high, degrees) > outside:
        low, high = high, high * 2
    return find_root(lambda t: outside_probability(t, degrees) - outside, low, high)


def _expanded(z: float, degrees: float) -> float:
    s, n = z * z, degrees
    first = (s + 1) / (4 * n)
    second = ((5 * s + 16) * s + 3) / (96 * n**2)
    third = (((3 * s + 19) * s + 17) * s - 15) / (384 * n**3)
    fourth = ((((79 * s + 776) * s + 1482) * s - 1920) * s - 945) / (92160 * n**4)
    return z * (1 + first + second + third + fourth)


def outside_probability(t: float, degrees: float) -> float:
    """Return the probability that Student's t lies outside of ±t.

    Args:
        t: A finite number, 0 or more.
        degrees: Degrees of freedom, at least 1; they need not be whole.

    Returns:
        The probability of both tails together (26.7.1).
    """
    square = t * t
    # both shares are computed, because 1 minus one would lose the digits of the other
    inner, outer = square / (degrees + square), degrees / (degrees + square)
    if inner == 0:
        return 1.0
    return incomplete_beta(outer, inner, degrees / 2, 0.5)


def incomplete_beta(x: float, rest: float, a: float, b: float) -> float:
    """Return the regularised incomplete beta function I_x(a, b).

    Args:
        x: From above 0 to below 1.
        rest: 1 - x, which the caller may know to more digits.
        a: Above 0.
        b: Above 0.

    Returns:
        The probability that a beta variable is at most x (26.5.8).
    """
    log_front = (
        math.lgamma(a + b)
        - math.lgamma(a)
        - math.lgamma(b)
        + a * math.log(x)
        + b * math.log(rest)
    )
    front = math.exp(log_front)
    if x < (a + 1) / (a + b + 2):
        return front * _continued_fraction(x, a, b) / a
    return 1 - front * _continued_fraction(rest, b, a) / b


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
