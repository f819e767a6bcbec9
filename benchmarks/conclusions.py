"""Measures how often `evalkit compare` concludes what is not so, and what it finds.

Each world draws many pairs of models whose truth is known, compares them through
evalkit's own comparison, and counts conclusions:

- `different`: models are equally good, and one of them is called better, in any of the
  comparisons that are read together (5 % are promised);
- `equivalent`: models differ by exactly the margin, and are called equivalent in any of
  them (5 %);
- `power`: the difference is the one that the comparison said it would find (80 %).

Run it as

    python benchmarks/conclusions.py [--sets 600] [--only WORDS]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl
from simulated_sets import Sample, compared_labels, compared_scores

from evalkit.statistics.clusters import Floats, Integers
from evalkit_analysis_compare.differences import Difference
from evalkit_analysis_compare.judging import judge

SEED = 20_261_122
CONFIDENCE = 0.95
LABELS = ("x", "y", "z")
ONE_HALF = (290, *[10] * 29)
"""Sizes of 30 clusters, of which one has half of the rows."""
ZIPF = tuple(-(-400 // rank) for rank in range(1, 101))
"""Sizes of 100 clusters, which fall as their rank rises."""


class World(NamedTuple):
    """Pairs of models of which the truth is known."""

    claim: str
    """`different`, `equivalent` or `power`."""
    draw: Callable[[np.random.Generator, int], list[Difference]]
    """Compares that many pairs; several comparisons of one family follow each other."""
    family: int = 1
    margin: float | None = None
    most_sets: int = 10_000


def right_or_wrong(
    n: int, gains: float, losses: float, family: int = 1
) -> Callable[[np.random.Generator, int], list[Difference]]:
    """Make pairs that are right or wrong on independent examples."""

    def draw(random: np.random.Generator, sets: int) -> list[Difference]:
        size = sets * family
        kind = random.random((size, n))
        first = np.where(kind < gains, 1.0, np.where(kind < gains + losses, 0.0, 1.0))
        second = np.where(kind < gains, 0.0, 1.0)
        return _scores(first, second)

    return draw


def clustered(
    clusters: int, size: int, gains: float, losses: float
) -> Callable[[np.random.Generator, int], list[Difference]]:
    """Make pairs whose disagreements come in clusters (beta-binomial, .25)."""

    def draw(random: np.random.Generator, sets: int) -> list[Difference]:
        shape = (sets, clusters)
        spread = 3.0
        shares = random.dirichlet(
            spread * np.array([gains, max(losses, 1e-9), 1 - gains - losses]), shape
        )
        kind = random.random((sets, clusters, size))
        gain, loss = shares[..., :1], shares[..., 1:2]
        first = np.where(kind < gain, 1.0, np.where(kind < gain + loss, 0.0, 1.0))
        second = np.where(kind < gain, 0.0, 1.0)
        numbers = np.arange(sets * clusters).repeat(size)
        flat = (sets, clusters * size)
        return _scores(first.reshape(flat), second.reshape(flat), numbers)

    return draw


def unequal(
    sizes: Sequence[int], gains: float, losses: float, spread: float = 3.0
) -> Callable[[np.random.Generator, int], list[Difference]]:
    """Make pairs as `clustered` does, whose clusters have these sizes.

    Two rows of a cluster correlate by 1 / (1 + spread).
    """

    def draw(random: np.random.Generator, sets: int) -> list[Difference]:
        alphas = spread * np.array([gains, max(losses, 1e-9), 1 - gains - losses])
        shares = random.dirichlet(alphas, (sets, len(sizes))).repeat(sizes, axis=1)
        kind = random.random((sets, sum(sizes)))
        gain, loss = shares[..., 0], shares[..., 1]
        first = np.where(kind < gain, 1.0, np.where(kind < gain + loss, 0.0, 1.0))
        second = np.where(kind < gain, 0.0, 1.0)
        numbers = np.arange(sets * len(sizes)).reshape(sets, -1)
        return _scores(first, second, numbers.repeat(sizes, axis=1).ravel())

    return draw


def repeated(
    n: int, broken: float, repeats: int = 5
) -> Callable[[np.random.Generator, int], list[Difference]]:
    """Make pairs with several answers to an example, most of them always right."""

    def draw(random: np.random.Generator, sets: int) -> list[Difference]:
        unstable = random.random((sets, n, 1)) < 0.15
        answers = [
            np.where(unstable, random.random((sets, n, repeats)) < 0.5, True).mean(2)
            for _ in range(2)
        ]
        fails = random.random((sets, n)) < broken
        return _scores(answers[0], np.where(fails, 0.0, answers[1]))

    return draw


def labelled(
    n: int, noise: tuple[float, float], shared: float = 0.0, family: int = 1
) -> Callable[[np.random.Generator, int], list[Difference]]:
    """Make pairs of three classes, compared by macro-F1."""

    def draw(random: np.random.Generator, sets: int) -> list[Difference]:
        size = (sets * family, n)
        gold = random.choice(3, size, p=[0.5, 0.3, 0.2])
        both = random.random(size) < shared
        common = (gold + random.integers(1, 3, size)) % 3
        samples = []
        for rate in noise:
            other = (gold + random.integers(1, 3, size)) % 3
            wrong = random.random(size) < rate
            given = np.where(both, common, np.where(wrong, other, gold))
            samples.append(_sample(gold, given))
        return compared_labels("macro-f1", *samples, tested=True)[1:]

    return draw


def several_models(
    models: int, n: int, *, all_pairs: bool
) -> Callable[[np.random.Generator, int], list[Difference]]:
    """Make equal models that are right on .75 of the same examples."""

    def draw(random: np.random.Generator, sets: int) -> list[Difference]:
        easy = random.random((sets, 1, n)) < 0.5
        right = easy | (random.random((sets, models, n)) < 0.5)
        pairs = [
            (i, j)
            for i in range(models)
            for j in range(i + 1, models)
            if all_pairs or i == 0
        ]
        first, second = (
            right[:, [pair[side] for pair in pairs]].reshape(-1, n).astype(np.float64)
            for side in (0, 1)
        )
        return _scores(first, second)

    return draw


def _scores(
    first: Floats, second: Floats, clusters: Integers | None = None
) -> list[Difference]:
    sets = np.arange(len(first)).repeat(first.shape[1])
    return compared_scores(first.ravel(), second.ravel(), sets, clusters)[1:]


def _sample(gold: Integers, given: Integers) -> Sample:
    sets = np.arange(len(gold)).repeat(gold.shape[1])
    names = pl.Series(LABELS)
    return Sample(
        names.gather(given.ravel()), names.gather(gold.ravel()), sets.ravel(), LABELS
    )


def _macro_f1_difference(noise: tuple[float, float]) -> float:
    """Give the true difference of two models, from their tables of shares."""
    values = []
    for rate in noise:
        shares = np.diag([0.5, 0.3, 0.2]) * (1 - rate)
        shares += np.array([[0.5], [0.3], [0.2]]) * rate / 2 * (1 - np.eye(3))
        hits = np.diag(shares)
        values.append(np.mean(2 * hits / (shares.sum(0) + shares.sum(1))))
    return float(abs(values[0] - values[1]))


WORLDS = {
    "equal, disagree on 2 %, n = 100": World(
        "different", right_or_wrong(100, 0.01, 0.01)
    ),
    "equal, disagree on 20 %, n = 50": World("different", right_or_wrong(50, 0.1, 0.1)),
    "equal, disagree on 20 %, n = 500": World(
        "different", right_or_wrong(500, 0.1, 0.1)
    ),
    "equal, 30 clusters of 10": World("different", clustered(30, 10, 0.08, 0.08)),
    "equal, 30 clusters, one has half of the rows": World(
        "different", unequal(ONE_HALF, 0.2, 0.2, 1.0)
    ),
    "equal, 100 clusters, sizes of Zipf": World(
        "different", unequal(ZIPF, 0.2, 0.2, 1.0)
    ),
    "equal, 5 answers, n = 100": World("different", repeated(100, 0.0)),
    "equal, macro-F1, n = 50": World("different", labelled(50, (0.25, 0.25)), 1),
    "equal, macro-F1, n = 200, alike": World(
        "different", labelled(200, (0.05, 0.05), 0.2)
    ),
    "equal, 10 tags of 50": World("different", right_or_wrong(50, 0.15, 0.15, 10), 10),
    "equal, macro-F1, 10 tags of 20": World(
        "different", labelled(20, (0.4, 0.4), 0.0, 10), 10, most_sets=200
    ),
    "six equal models, first against others": World(
        "different", several_models(6, 200, all_pairs=False), 5
    ),
    "six equal models, all pairs": World(
        "different", several_models(6, 200, all_pairs=True), 15
    ),
    "margin 2 points, one-sided, n = 100": World(
        "equivalent", right_or_wrong(100, 0.02, 0.0), 1, 0.02
    ),
    "margin 2 points, one-sided, n = 200": World(
        "equivalent", right_or_wrong(200, 0.02, 0.0), 1, 0.02
    ),
    "margin 1 point, one-sided, n = 500": World(
        "equivalent", right_or_wrong(500, 0.01, 0.0), 1, 0.01
    ),
    "margin 2 points, disagree on 4 %, n = 500": World(
        "equivalent", right_or_wrong(500, 0.03, 0.01), 1, 0.02
    ),
    "margin 5 points, disagree on 25 %, n = 1000": World(
        "equivalent", right_or_wrong(1000, 0.15, 0.1), 1, 0.05
    ),
    "margin 3 points, 30 clusters of 10": World(
        "equivalent", clustered(30, 10, 0.03, 0.0), 1, 0.03
    ),
    "margin 10 points, 30 clusters, one has half of the rows": World(
        "equivalent", unequal(ONE_HALF, 0.15, 0.05, 9.0), 1, 0.1
    ),
    "margin 10 points, 100 clusters, sizes of Zipf": World(
        "equivalent", unequal(ZIPF, 0.15, 0.05, 9.0), 1, 0.1
    ),
    "margin 2 points, 5 answers, n = 200": World(
        "equivalent", repeated(200, 0.02 / 0.925), 1, 0.02
    ),
    "margin 2 points, 10 tags of 200": World(
        "equivalent", right_or_wrong(200, 0.02, 0.0, 10), 10, 0.02
    ),
    "margin of macro-F1, few errors, n = 200": World(
        "equivalent", labelled(200, (0.02, 0.0)), 1, _macro_f1_difference((0.02, 0.0))
    ),
}


def rate_of(world: World, sets: int, seed: int) -> tuple[float, int]:
    """Give the share of sets with a false claim, and how many sets there were."""
    sets = min(sets, world.most_sets)
    found = world.draw(np.random.default_rng(seed), sets)
    false = 0
    for start in range(0, len(found), world.family):
        judged = [
            judge(each, world.family, CONFIDENCE, world.margin)
            for each in found[start : start + world.family]
        ]
        false += any(
            each.different if world.claim == "different" else each.equivalent
            for each in judged
        )
    return false / sets, sets


def powers(sets: int, seed: int) -> Iterator[tuple[str, float, float]]:
    """Give what comparisons said they would find, and how often they find it."""
    for n, disagree, family in (
        (50, 0.1, 1),
        (200, 0.1, 1),
        (200, 0.3, 1),
        (200, 0.1, 10),
        (1000, 0.05, 60),
    ):
        random = np.random.default_rng(seed)
        equal = right_or_wrong(n, disagree / 2, disagree / 2)(random, sets)
        level = (1 - CONFIDENCE) / family
        said = [found.detects(level) for found in equal]
        size = float(np.median([1.0 if value is None else value for value in said]))
        share = max(disagree, size)
        real = right_or_wrong(n, (share + size) / 2, (share - size) / 2)(random, sets)
        shown = [judge(found, family, CONFIDENCE, None).different for found in real]
        name = f"disagree on {disagree:.0%}, n = {n}, {family} together"
        yield name, size, float(np.mean(shown))
    for noise, n, family in (((0.3, 0.3), 100, 1), ((0.3, 0.3), 300, 10)):
        random = np.random.default_rng(seed)
        fewer = min(sets, 300)
        level = (1 - CONFIDENCE) / family
        said = [found.detects(level) for found in labelled(n, noise)(random, fewer)]
        size = float(np.median([value for value in said if value is not None]))
        better = _noise_for(noise[1], size)
        real = labelled(n, (better, noise[1]))(random, fewer)
        shown = [judge(found, family, CONFIDENCE, None).different for found in real]
        yield f"macro-F1, n = {n}, {family} together", size, float(np.mean(shown))


def _noise_for(worse: float, difference: float) -> float:
    """Find the noise of the model that is better by a difference of macro-F1."""
    low, high = 0.0, worse
    for _ in range(12):
        middle = (low + high) / 2
        too_much = _macro_f1_difference((middle, worse)) > difference
        low, high = (middle, high) if too_much else (low, middle)
    return (low + high) / 2


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=600)
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    print("| world | claim | false claims | sets |\n|---|---|---|---|")
    for name, world in WORLDS.items():
        if arguments.only not in name:
            continue
        started = time.perf_counter()
        rate, sets = rate_of(world, arguments.sets, SEED)
        seconds = time.perf_counter() - started
        row = f"| {name} | {world.claim} | {100 * rate:.1f} % | {sets} |"
        print(f"{row} ({seconds:.0f} s)", flush=True)
    if arguments.only in "power":
        print("\n| comparison | would find | finds it |\n|---|---|---|")
        for name, size, power in powers(arguments.sets, SEED):
            print(f"| {name} | {100 * size:.1f} points | {100 * power:.0f} % |")


if __name__ == "__main__":
    main()
