"""Prints how often intervals near a bound hold the truth, before and after widening.

Shares are summed exactly; means of scores between 0 and 1, and differences, are
simulated. Run it with a number of sets (1 000 by default).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from evalkit.inference.bounded_means import bounded_mean_interval, independent_rows
from evalkit.inference.intervals import share_interval, wilson
from evalkit.inference.student_t import normal_quantile, t_quantile

Floats = NDArray[np.float64]
Draw = Callable[[np.random.Generator, int], Floats]

CONFIDENCE = 0.95


def main() -> None:
    """Print a table of worlds."""
    sets = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    print("shares, exact: least coverage of any share")
    for n in (10, 20, 50, 100, 200, 500, 1000, 5000):
        before, after = (least_coverage(n, bounds) for bounds in (plain, widened))
        print(f"  n = {n:5}  {before:.3f}  {after:.3f}")
    print(f"means of scores from 0 to 1, {sets} sets: before, after, width by width")
    for name, n, draw, truth in worlds():
        print(f"  {name:32} n = {n:4}  {simulated(draw, n, truth, sets)}", flush=True)


def plain(ones: int, n: int) -> tuple[float, float]:
    """Give Wilson's bounds."""
    return wilson(ones / n, n, normal_quantile(CONFIDENCE))


def widened(ones: int, n: int) -> tuple[float, float]:
    """Give the bounds that are reported."""
    found = share_interval(ones, n, CONFIDENCE)
    assert found.low is not None
    assert found.high is not None
    return found.low, found.high


def least_coverage(n: int, bounds: Callable[[int, int], tuple[float, float]]) -> float:
    """Sum the probabilities of the counts whose interval holds a share."""
    low, high = np.array([bounds(ones, n) for ones in range(n + 1)]).T
    edges = np.concatenate([low - 1e-9, low + 1e-9, high - 1e-9, high + 1e-9])
    shares = edges[(edges > 0) & (edges < 1)]
    count = np.arange(n + 1)
    logs = np.concatenate([[0.0], np.cumsum(np.log((n - count[:-1]) / count[1:]))])
    least = 1.0
    for share in shares.tolist():
        chances = np.exp(logs + count * np.log(share) + (n - count) * np.log1p(-share))
        least = min(least, float(chances[(low <= share) & (share <= high)].sum()))
    return least


def worlds() -> Iterator[tuple[str, int, Draw, float]]:
    """Give worlds of scores with rare falls, and others that need no widening."""
    for n, share in (
        *((200, share) for share in (0.003, 0.005, 0.01, 0.015, 0.02, 0.03)),
        *((500, share) for share in (0.002, 0.005, 0.01)),
        *((1000, share) for share in (0.001, 0.002, 0.005, 0.01)),
    ):
        mean = (1 - share) * 0.985
        yield f"{share:.1%} zeros, else .97 to 1", n, mixed(share, 0, (0.97, 1)), mean
    for n in (200, 500, 1000):
        yield "1 % zeros, else .8 to 1", n, mixed(0.01, 0, (0.8, 1)), 0.891
        yield "1 % ones, else Beta(2, 60)", n, rare_ones, 0.01 + 0.99 * 2 / 62
        yield "1 % halves, else .97 to 1", n, mixed(0.01, 0.5, (0.97, 1)), 0.98015
    for n in (200, 1000):
        yield "Beta(40, 1)", n, lambda random, n: random.beta(40, 1, n), 40 / 41
        yield "Beta(5, 2)", n, lambda random, n: random.beta(5, 2, n), 5 / 7
        yield "uniform", n, lambda random, n: random.random(n), 0.5
        for share in (0.002, 0.02, 0.05, 0.1):
            yield f"F1, {share:.1%} wrong", n, like_f1(share), 1 - share * (1 - PART)


def mixed(share: float, rare: float, others: tuple[float, float]) -> Draw:
    """Draw rare scores among uniform ones."""

    def draw(random: np.random.Generator, n: int) -> Floats:
        return np.where(random.random(n) < share, rare, random.uniform(*others, n))

    return draw


def rare_ones(random: np.random.Generator, n: int) -> Floats:
    """Draw ones among scores near 0."""
    return np.where(random.random(n) < 0.01, 1.0, random.beta(2, 60, n))


PARTS = np.array([0, 0, 0.4, 0.5, 2 / 3, 0.8])
PART = float(PARTS.mean())


def like_f1(share: float) -> Draw:
    """Draw ones, and a share of partly right answers."""

    def draw(random: np.random.Generator, n: int) -> Floats:
        return np.where(random.random(n) < share, random.choice(PARTS, n), 1.0)

    return draw


def simulated(draw: Draw, n: int, truth: float, sets: int) -> str:
    """Give how often intervals hold the truth, and how much wider they became."""
    random = np.random.default_rng(n)
    ones = np.ones(n)
    held, width = np.zeros(2), np.zeros(2)
    for _ in range(sets):
        values = draw(random, n)
        found = bounded_mean_interval(values, ones, (0.0, 1.0), CONFIDENCE)
        pairs = np.array([before(values), found[:2]], dtype=float)
        held += (pairs[:, 0] <= truth) & (truth <= pairs[:, 1])
        width += pairs[:, 1] - pairs[:, 0]
    return f"{held[0] / sets:.3f}  {held[1] / sets:.3f}  {width[1] / width[0]:.2f}"


def before(values: Floats) -> tuple[float, float]:
    """Give Wilson's bounds of as many zeros and ones as tell as much."""
    n, mean, variance = len(values), float(values.mean()), float(values.var(ddof=1))
    away = 1 - values if mean > 0.5 else values
    size = independent_rows(
        n, mean, variance, float(away.sum()), float((away**2).sum())
    )
    return wilson(mean, size, t_quantile(CONFIDENCE, n - 1))


if __name__ == "__main__":
    main()
