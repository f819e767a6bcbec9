"""McNemar's test: do two models differ in how often only one of them is right?"""

from __future__ import annotations

from typing import NamedTuple


class McNemar(NamedTuple):
    """Both versions of the test's p-value, two-sided, 0 to 1."""

    exact: float
    mid: float
    """The exact one without half of what was observed on either side (Lancaster)."""


def mcnemar(only_first: int, only_second: int) -> McNemar:
    """Test whether two models are equally often right where they disagree.

    The exact p-value is `min(1, 2 P(X <= min(b, c)))` for X binomial with b + c trials
    of probability 1/2 (McNemar 1947); the mid-p-value is `2 P(X <= min(b, c)) -
    P(X = min(b, c))` (Fagerland, Lydersen and Laake 2013).

    Args:
        only_first: b, the examples that only the first is right on.
        only_second: c, those that only the second is right on.

    Returns:
        The p-values; both are 1 where b equals c.
    """
    from scipy.special import betainc

    fewer, more = sorted((only_first, only_second))
    if fewer == more:
        return McNemar(1.0, 1.0)
    # one more of one kind: exactly half of the distribution
    up_to = 0.5 if more == fewer + 1 else float(betainc(more, fewer + 1, 0.5))
    below = float(betainc(more + 1, fewer, 0.5)) if fewer else 0.0
    return McNemar(min(1.0, 2 * up_to), min(1.0, up_to + below))
