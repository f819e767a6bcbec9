"""Measures how often the clusters that `evalkit plan` asks for find the difference.

Each world draws two models whose answers are right where a normal variable of the
cluster and one of the example are low; part of both is shared by the models. Large sets
of them are planned from, and sets of as many clusters as were planned are compared by
evalkit's own comparison (80 % are promised).

Run it as

    python benchmarks/planned_clusters.py [--sets 600]
"""

from __future__ import annotations

import argparse
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from simulated_sets import compared_scores

from evalkit.inference.intervals import Floats
from evalkit_analysis_compare.judging import judge
from evalkit_analysis_compare.needs import Needs
from evalkit_analysis_compare.sample_sizes import Goal
from evalkit_analysis_compare.score_spreads import AS_IT_IS, spread_of_differences

SEED = 20_261_122
LEVEL, POWER = 0.05, 0.8
PILOT = 2_000
"""Clusters that are planned from."""


class World(NamedTuple):
    """Two models on clusters of one size."""

    size: int
    first: float
    """Share of right answers."""
    second: float
    alike: float
    """Correlation of the variables of two examples of a cluster."""
    shared: float
    """Correlation of the variables of the two models."""


WORLDS = (
    World(6, 0.80, 0.60, 0.3, 0.5),
    World(6, 0.80, 0.60, 0.3, 0.9),
    World(6, 0.80, 0.50, 0.3, 0.8),
    World(5, 0.70, 0.50, 0.1, 0.3),
    World(10, 0.85, 0.75, 0.4, 0.6),
    World(6, 0.75, 0.60, 0.5, 0.9),
    World(3, 0.90, 0.75, 0.2, 0.5),
    World(20, 0.70, 0.60, 0.2, 0.5),
    World(6, 0.80, 0.73, 0.3, 0.5),
)


def draw(
    random: np.random.Generator, world: World, sets: int, clusters: int
) -> tuple[Floats, Floats]:
    """Draw the scores of both models, each of shape (sets, clusters * size)."""
    texts = random.standard_normal((3, sets, clusters, 1))
    examples = random.standard_normal((3, sets, clusters, world.size))
    both, own = np.sqrt(world.shared), np.sqrt(1 - world.shared)
    found = []
    for place, share in enumerate((world.first, world.second)):
        text = both * texts[2] + own * texts[place]
        example = both * examples[2] + own * examples[place]
        hidden = np.sqrt(world.alike) * text + np.sqrt(1 - world.alike) * example
        is_right = hidden < NormalDist().inv_cdf(share)
        found.append(is_right.astype(np.float64).reshape(sets, -1))
    return found[0], found[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=600)
    sets = parser.parse_args().sets
    for world in WORLDS:
        random = np.random.default_rng(SEED)
        first, second = (each.ravel() for each in draw(random, world, 1, PILOT))
        numbers = np.arange(PILOT).repeat(world.size)
        nothing = [None, None]
        spread = spread_of_differences(first, second, numbers, nothing, nothing)
        difference = world.first - world.second
        needs = Needs(spread, AS_IT_IS, None, Goal(difference, LEVEL, POWER))
        clusters = needs.units(difference)
        scores = draw(random, world, sets, clusters)
        of_set = np.arange(sets).repeat(clusters * world.size)
        of_cluster = np.arange(sets * clusters).repeat(world.size)
        compared = compared_scores(
            *(each.ravel() for each in scores), of_set, of_cluster
        )
        found = [judge(one, 1, 1 - LEVEL, None).different for one in compared[1:]]
        print(f"{world}: {clusters} clusters, found {np.mean(found):.1%}", flush=True)


if __name__ == "__main__":
    main()
