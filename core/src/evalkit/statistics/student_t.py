"""Quantiles of the normal and of Student's t distribution, and tails of t and F.

They are computed here because `scipy.special` takes longer to import than a small
evaluation takes.
"""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist

from evalkit.errors import EvalkitError

CLOSEST_CONFIDENCE = 1e-9
"""How near to 0 or 1 a confidence may be: adjusted levels are nearer still."""

_TINY = 1e-300
_MANY = 1_000
"""Degrees of freedom from which an expansion is more exact than logarithms of gamma."""


@lru_cache(maxsize=4096)
def normal_quantile(confidence: float) -> float:
    """Return z such that a normal variable lies within ±z with this probability.

    The two-sided quantile: 1.96 for 0.95.
    """
    return NormalDist().inv_cdf((1 + confidence) / 2)


@lru_cache(maxsize=4096)
def t_quantile(confidence: float, degrees: float) -> float:
    """Return t such that Student's t lies within ±t with this probability.

    The quantile is where `outside_probability` falls to 1 - confidence, by bisection;
    from 1 000 degrees of freedom it is an expansion about the normal quantile
    (Abramowitz and Stegun 1964, 26.7.5). The degrees of freedom are at least 1, and
    need not be whole.
    """
    if degrees >= _MANY:
        return _expanded(normal_quantile(confidence), degrees)
    outside = 1 - confidence
    low, high = 0.0, 1.0
    while outside_probability(high, degrees) > outside:
        low, high = high, high * 2
    middle = (low + high) / 2
    while low < middle < high:
        if outside_probability(middle, degrees) > outside:
            low = middle
        else:
            high = middle
        middle = (low + high) / 2
    return middle


def _expanded(z: float, degrees: float) -> float:
    s, n = z * z, degrees
    first = (s + 1) / (4 * n)
    second = ((5 * s + 16) * s + 3) / (96 * n**2)
    third = (((3 * s + 19) * s + 17) * s - 15) / (384 * n**3)
    fourth = ((((79 * s + 776) * s + 1482) * s - 1920) * s - 945) / (92160 * n**4)
    return z * (1 + first + second + third + fourth)


def outside_probability(t: float, degrees: float) -> float:
    """Return the probability that Student's t lies outside ±t (26.7.1); t ≥ 0."""
    return f_tail(t * t, 1.0, degrees)


def f_tail(statistic: float, numerator: float, denominator: float) -> float:
    """Return the probability that an F variable exceeds a statistic (26.6.2).

    The statistic is 0 or more, with the degrees of freedom between and within groups.
    """
    scaled = numerator * statistic
    # both shares are computed, because 1 minus one would lose the digits of the other
    inner, outer = (part / (denominator + scaled) for part in (scaled, denominator))
    if inner == 0:
        return 1.0
    return _incomplete_beta(outer, inner, denominator / 2, numerator / 2)


def _incomplete_beta(x: float, rest: float, a: float, b: float) -> float:
    """Return the regularized incomplete beta function I_x(a, b), rest being 1 - x."""
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


def check_confidence(confidence: float) -> None:
    """Check the probability of intervals.

    Args:
        confidence: The probability.

    Raises:
        EvalkitError: It is not between 0 and 1, or too near to one of them.
    """
    if not 0 < confidence < 1:
        raise EvalkitError(f"confidence must be between 0 and 1, is {confidence}")
    if not CLOSEST_CONFIDENCE <= confidence <= 1 - CLOSEST_CONFIDENCE:
        raise EvalkitError(
            f"confidence must be at least {CLOSEST_CONFIDENCE:g} away from 0 and 1, "
            f"got {confidence}"
        )
