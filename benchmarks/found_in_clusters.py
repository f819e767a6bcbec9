"""Measures how often a comparison finds what it said it would find, in clusters.

Each world draws sets in which two models are equally good, and compares them by
evalkit's own comparison; each says which difference would be found with a probability
of about 80 %. Further sets have the median of these differences, and are counted where
one is shown. Shares are right where a normal variable of the cluster and one of the
example are low; a tenth or more of both is shared by the models. Other scores are such
variables themselves.

Run it as

    python benchmarks/found_in_clusters.py [--sets 400] [--only WORDS]
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from simulated_sets import compared_scores

from evalkit.inference.intervals import Integers
from evalkit_analysis_compare.differences import Difference
from evalkit_analysis_compare.judging import judge

SEED = 20_261_122
SAYING = 60
"""Sets of equally good models whose median says what would be found."""


class World(NamedTuple):
    """Two models on clusters of these sizes."""

    name: str
    sizes: Integers
    is_share: bool
    share: float = 0.7
    """Share of right answers of equally good models."""
    alike: float = 0.3
    """Correlation of the variables of two examples of a cluster."""
    shared: float = 0.5
    """Correlation of the variables of the two models."""
    level: float = 0.05

    def compare(
        self, random: np.random.Generator, difference: float, sets: int
    ) -> list[Difference]:
        """Compare models that differ so much in some sets."""
        rows = int(self.sizes.sum())
        variables = np.empty((3, sets, rows))
        for variable in variables:
            texts = random.standard_normal((sets, len(self.sizes)))
            examples = random.standard_normal((sets, rows))
            variable[:] = np.sqrt(self.alike) * texts.repeat(self.sizes, axis=1)
            variable += np.sqrt(1 - self.alike) * examples
        scores = []
        for place, sign in enumerate((1, -1)):
            hidden = np.sqrt(self.shared) * variables[2]
            hidden += np.sqrt(1 - self.shared) * variables[place]
            shift = sign * difference / 2
            if self.is_share:
                limit = NormalDist().inv_cdf(min(1 - 1e-9, self.share + shift))
                scores.append((hidden < limit).astype(np.float64))
            else:
                scores.append(hidden + shift)
        of_cluster = np.arange(sets * len(self.sizes)).reshape(sets, -1)
        return compared_scores(
            scores[0].ravel(),
            scores[1].ravel(),
            np.arange(sets).repeat(rows),
            of_cluster.repeat(self.sizes, axis=1).ravel(),
        )[1:]


def worlds() -> Iterator[World]:
    """Give worlds of equal and unequal clusters."""
    for clusters in (15, 30, 100):
        for name, sizes in (
            ("equal sizes", np.full(clusters, 6)),
            ("geometric sizes", np.geomspace(2, 60, clusters).round()),
            ("one has half", np.array([10 * (clusters - 1), *[10] * (clusters - 1)])),
        ):
            for is_share, kind in ((True, "share"), (False, "real scores")):
                title = f"{kind}, {clusters} clusters, {name}"
                yield World(title, sizes.astype(np.int64), is_share)
    geometric = np.geomspace(2, 60, 30).round().astype(np.int64)
    yield World("share of .9, 30 clusters, geometric sizes", geometric, True, 0.9)
    of_ten = World("share, 30 clusters, ten tests", geometric, True, level=0.005)
    yield of_ten
    yield of_ten._replace(name="real scores, 30 clusters, ten tests", is_share=False)


def measure(world: World, sets: int, saying: int = SAYING) -> tuple[float, float, int]:
    """Give what would be found, how often it is, and how many sets said nothing."""
    random = np.random.default_rng(SEED)
    said = [each.detects(world.level) for each in world.compare(random, 0.0, saying)]
    known = [each for each in said if each is not None]
    if 2 * len(known) <= saying:
        return np.nan, np.nan, saying - len(known)
    difference = float(np.median(known))
    if world.is_share and difference / 2 > 1 - world.share:
        world = world._replace(share=0.5)
    found = world.compare(random, difference, sets)
    confidence = 1 - world.level
    shown = [judge(each, 1, confidence, None).different for each in found]
    return difference, float(np.mean(shown)), saying - len(known)


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=400)
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    for world in worlds():
        if arguments.only in world.name:
            size, found, nothing = measure(world, arguments.sets)
            print(
                f"{world.name}: {size:.3f} found in {found:.1%}, "
                f"{nothing} of {SAYING} said nothing",
                flush=True,
            )


if __name__ == "__main__":
    main()
