"""The interval of a share, computed apart from core, for the tests of distributions."""

from __future__ import annotations

from scipy.optimize import brentq
from scipy.stats import binom, binomtest

MOST_RARE = 12
"""How often the rarer outcome may have been seen for the mid-p interval to count."""


def share_interval(ones: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """Compute Wilson's interval; with few of an outcome, the mid-p interval beside it.

    Args:
        ones: How many of n.
        n: How many there are, at least 2.
        level: Probability of the interval.

    Returns:
        Its bounds.
    """
    interval = binomtest(ones, n).proportion_ci(level, method="wilson")
    if not 0 < min(ones, n - ones) <= MOST_RARE:
        return float(interval.low), float(interval.high)
    tail = (1 - level) / 2

    def above(share: float) -> float:
        return binom.sf(ones, n, share) + binom.pmf(ones, n, share) / 2 - tail

    def below(share: float) -> float:
        return binom.cdf(ones - 1, n, share) + binom.pmf(ones, n, share) / 2 - tail

    least, most = (brentq(part, 0, 1, xtol=1e-15) for part in (above, below))
    return min(float(interval.low), least), max(float(interval.high), most)
