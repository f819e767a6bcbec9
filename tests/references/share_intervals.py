"""The interval of a share, computed apart from core, for the tests of distributions."""

from scipy.stats import binomtest


def share_interval(ones: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """Compute Wilson's interval.

    Args:
        ones: How many of n.
        n: How many there are, at least 2.
        level: Probability of the interval.

    Returns:
        Its bounds.
    """
    interval = binomtest(ones, n).proportion_ci(level, method="wilson")
    return float(interval.low), float(interval.high)
