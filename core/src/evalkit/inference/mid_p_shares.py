"""Bounds of shares whose rarer outcome was seen a few times.

The lower bound of Wilson's interval (1927) of one wrong example in n is .18 / n. Where
the truth is just below, such a sample comes in one case of six, so that the interval
covers .84 for .95, however large n is (Brown, Cai and DasGupta 2001). The bounds of
Clopper and Pearson with half of the observed count's probability (mid-p, Lancaster
1961) do not do this: an interval that holds both covers .934 and more from n = 200.
"""

from __future__ import annotations

from functools import lru_cache

MOST_RARE = 12
"""Times that the rarer outcome was seen up to which Wilson's interval is widened."""


@lru_cache(maxsize=4096)
def mid_p_bounds(ones: int, n: int, confidence: float) -> tuple[float, float]:
    """Compute the mid-p interval of a share that is neither 0 nor 1.

    The bounds are the shares p for which `P(X > x) + P(X = x) / 2`, and
    `P(X < x) + P(X = x) / 2`, are half of what the confidence leaves, X being binomial.

    Args:
        ones: How many of n, above 0 and below n.
        n: How many there are.
        confidence: Probability of the interval, such as 0.95.

    Returns:
        Lower and upper bound, above 0 and below 1.
    """
    if 2 * ones > n:
        low, high = mid_p_bounds(n - ones, n, confidence)
        return 1 - high, 1 - low
    tail = (1 - confidence) / 2
    return _share_with(ones, n, 1 - tail), _share_with(ones, n, tail)


def _share_with(ones: int, n: int, below: float) -> float:
    """Find the share with which so few ones have this probability, by bisection."""
    low, high = 0.0, 1.0
    while high - low > 1e-13 * high:
        middle = (low + high) / 2
        if _below(ones, n, middle) > below:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _below(ones: int, n: int, share: float) -> float:
    """Return the probability of fewer ones, and half of that of as many."""
    odds = share / (1 - share)
    term, total = (1 - share) ** n, 0.0
    for count in range(ones):
        total += term
        term *= (n - count) / (count + 1) * odds
    return total + term / 2
