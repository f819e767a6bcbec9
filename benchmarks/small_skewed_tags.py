"""Measures how often intervals of small tags of skewed scores hold the true mean.

Each set has tags of one size whose scores are drawn from one distribution, so that the
truth of every tag is known. A tag is counted where its interval holds the truth, and
where a flag says that its interval is not to be trusted.

Run it as

    python benchmarks/small_skewed_tags.py [--sets 200]
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable

import numpy as np
import polars as pl
from simulated_sets import Floats, Random, RealMean

from evalkit.base.terms import MetricContext
from evalkit.plugins.registry import Registry
from evalkit.plugins.resolver import Resolver
from evalkit.scoring.grouping import group_by_tag
from evalkit.scoring.metric import score_metric
from evalkit.scoring.records import ScoringSettings
from evalkit.scoring.table import ScoringTable

SEED = 20_261_123
SHAPES = ((10, 2), (10, 10), (12, 5), (15, 10), (20, 10), (29, 10))
"""Examples of a tag, and tags."""

WORLDS: dict[str, tuple[Callable[[Random, int], Floats], float]] = {
    "normal": (lambda random, n: random.normal(size=n), 0.0),
    "Student, 5 degrees": (lambda random, n: random.standard_t(5, n), 0.0),
    "gamma, shape 4": (lambda random, n: random.gamma(4.0, size=n), 4.0),
    "exponential": (lambda random, n: random.exponential(size=n), 1.0),
    "gamma, shape .5": (lambda random, n: random.gamma(0.5, size=n), 0.5),
    **{
        f"lognormal, sigma {sigma}": (
            lambda random, n, sigma=sigma: random.lognormal(0.0, sigma, n),
            math.exp(sigma**2 / 2),
        )
        for sigma in (0.5, 1.0, 1.5)
    },
}


def measure(
    draw: Callable[[Random, int], Floats], truth: float, n: int, tags: int, sets: int
) -> tuple[float, float]:
    """Return the shares of tags whose interval holds the truth, and that are flagged.

    Args:
        draw: Draws scores.
        truth: Their mean.
        n: Examples of a tag.
        tags: How many tags a set has.
        sets: How many sets are drawn.
    """
    random = np.random.default_rng(SEED)
    metric = Resolver(Registry()).metric(RealMean)
    groups = group_by_tag(pl.Series([[f"tag:{i // n}"] for i in range(n * tags)]))
    held, flagged = [], []
    for _ in range(sets):
        values = draw(random, n * tags)
        frame = pl.DataFrame(
            {
                "position": pl.Series(np.arange(n * tags), dtype=pl.UInt32),
                "prediction": values,
                "target": values,
            }
        )
        ids = [str(number) for number in range(n * tags)]
        table = ScoringTable(frame, ids, None, MetricContext(None, "number"))
        found = score_metric(metric, table, groups, ScoringSettings())
        for score in found.scores:
            if score.group and score.interval.low is not None:
                held.append(score.interval.low <= truth <= score.interval.high)
                flagged.append(score.flag is not None)
    return float(np.mean(held)), float(np.mean(flagged))


def main() -> None:
    """Print a table of worlds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=200)
    sets = parser.parse_args().sets
    print("| scores | n | tags | hold the truth | flagged |\n|---|---|---|---|---|")
    for name, (draw, truth) in WORLDS.items():
        for n, tags in SHAPES:
            held, flagged = measure(draw, truth, n, tags, sets)
            print(f"| {name} | {n} | {tags} | {held:.3f} | {flagged:.3f} |", flush=True)


if __name__ == "__main__":
    main()
