"""How often the interval of a leaderboard's mean holds the true mean.

    python benchmarks/mean_of_data_sets.py --sets 4000

Accuracies on several data sets are drawn, each with the interval that evalkit gives one
(Wilson's, which also holds the mid-p one). Their mean gets the interval of `evalkit
leaderboard`, which adds up distances to bounds, and for comparison `mean ± z · SE`.
"""

from __future__ import annotations

import argparse
import math
from statistics import NormalDist

import numpy as np

from evalkit.statistics.intervals import Interval, mean_of_intervals, share_interval

WORLDS = [
    ((20, 20, 20), (0.5, 0.6, 0.7)),
    ((100, 100, 100), (0.5, 0.7, 0.6)),
    ((20, 30, 40), (0.97, 0.95, 0.99)),
    ((50, 50, 50), (0.95, 0.9, 0.98)),
    ((100, 100), (0.95, 0.97)),
    ((200, 200, 200, 200, 200), (0.9, 0.8, 0.95, 0.99, 0.7)),
    ((500, 500, 500), (0.99, 0.995, 0.98)),
]

LEVEL = 0.95

QUANTILE = NormalDist().inv_cdf((1 + LEVEL) / 2)


def main() -> None:
    """Print the coverage in each world."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=4000)
    sets = parser.parse_args().sets
    print(f"{sets} draws a row; how often {LEVEL:.0%} intervals hold the true mean")
    for sizes, truths in WORLDS:
        added, by_errors = coverage(sizes, truths, sets)
        print(f"n {sizes} of {truths}: {added:.1%}, by standard errors {by_errors:.1%}")


def coverage(
    sizes: tuple[int, ...], truths: tuple[float, ...], sets: int
) -> tuple[float, float]:
    """Return how often the two intervals hold the true mean."""
    rng = np.random.default_rng(7)
    truth = sum(truths) / len(truths)
    known: list[list[tuple[float, Interval]]] = [
        [(hits / n, share_interval(float(hits), n, LEVEL)) for hits in range(n + 1)]
        for n in sizes
    ]
    hits = [
        rng.binomial(n, share, sets) for n, share in zip(sizes, truths, strict=True)
    ]
    added = by_errors = 0
    for draw in zip(*hits, strict=True):
        parts = [each[count] for each, count in zip(known, draw, strict=True)]
        shares = [share for share, _ in parts]
        found = mean_of_intervals(shares, [part for _, part in parts])
        assert found.low is not None
        assert found.high is not None
        added += found.low <= truth <= found.high
        variances = (p * (1 - p) / n for p, n in zip(shares, sizes, strict=True))
        error = math.sqrt(sum(variances)) / len(sizes)
        by_errors += abs(sum(shares) / len(sizes) - truth) <= QUANTILE * error
    return added / sets, by_errors / sets


if __name__ == "__main__":
    main()
