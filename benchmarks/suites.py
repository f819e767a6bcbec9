"""Measures how often intervals of a leaderboard's numbers hold the truth.

Each world draws leaderboards of 12 models that are nearly equally good. Examples are
of different difficulty, which all models share. Intervals of totals are computed by the
joint bootstrap, and by MOVER where members share no examples. Rank ranges count if all
12 true ranks lie in them. Ratings by pairs are of verdicts with known strengths.

    python benchmarks/suites.py [--boards 300]
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
import polars as pl

import evalkit
from evalkit import Result
from evalkit.statistics.clusters import Floats, Integers, cluster_sums
from evalkit.statistics.intervals import (
    Interval,
    clustered_share_interval,
    mean_of_intervals,
    share_interval,
)
from evalkit_analysis_ratings.draws import draw_leaf, joint_interval
from evalkit_analysis_ratings.pairwise import Verdicts, rate_verdicts
from evalkit_analysis_ratings.ranks import rank_ranges
from evalkit_analysis_ratings.records import Cell, Ranks, make_score

Random = np.random.Generator
LEVEL = 0.95
ABILITIES, EQUAL = np.linspace(0.3, 0.5, 12), np.full(12, 0.4)
MODELS = [f"m{number:02}" for number in range(12)]
CHANCE = 0.25
REGISTRY = evalkit.Registry()
RECORD = evalkit.evaluate(
    data=[{"uid": "0", "statement": "?", "label": "a"}],
    predictions=[{"id": "0", "label": "a"}],
    task="text-classification",
    metrics=["accuracy", "macro-f1"],
).record


class Leaf(NamedTuple):
    """The scores of all models on one dataset, tag or metric."""

    truth: Floats
    cells: Mapping[str, Cell]
    intervals: Sequence[Interval]


class Sample(NamedTuple):
    """Examples of a dataset; those with the tag `t` are harder."""

    name: str
    right: Any
    """Of shape (examples, models)."""
    abilities: Floats
    tagged: Any
    clusters: Integers | None


def draw_sample(
    random: Random,
    name: str,
    n: int,
    *,
    size: int = 1,
    shift: float = 0.0,
    difficulty: Floats | None = None,
    abilities: Floats = ABILITIES,
) -> Sample:
    """Draw answers to examples in clusters of a size."""
    clusters = np.repeat(np.arange(n // size), size) if size > 1 else None
    own = random.normal(size=n)
    if clusters is not None:
        shared = random.normal(size=n // size)[clusters]
        own = math.sqrt(0.5) * own + math.sqrt(0.5) * shared
    own = own if difficulty is None else difficulty
    tagged = random.random(n // size).repeat(size) < 0.5
    levels = abilities + shift + own[:, None] - 0.5 * tagged[:, None]
    right = random.normal(size=levels.shape) < levels
    return Sample(name, right, abilities + shift, tagged, clusters)


def share(level: Floats) -> Floats:
    """Return the true share of right answers."""
    return np.array([NormalDist().cdf(each / math.sqrt(2)) for each in level])


def make_run(model: str, sample: Sample, right: Any) -> Result:
    """Make a run of right and wrong answers."""
    n = len(right)
    gold = np.where(np.arange(n) % 2, "a", "b")
    predicted = np.where(right, gold, np.where(gold == "a", "b", "a"))
    nothing = [None] * n
    clusters: Any = nothing if sample.clusters is None else sample.clusters
    examples = pl.DataFrame(
        {
            "id": [f"{number}" for number in range(n)],
            "replication": pl.Series(nothing, dtype=pl.String),
            "answer": gold,
            "pred": predicted,
            "tags": [["t"] if tagged else [] for tagged in sample.tagged],
            "cluster": pl.Series(clusters, dtype=pl.UInt64),
            "status": ["scored"] * n,
            "accuracy": right.astype(float),
        }
    )
    rows = pl.DataFrame({"position": pl.int_range(n, dtype=pl.UInt32, eager=True)})
    labels = {"gold": pl.Series(gold), "predicted": pl.Series(predicted)}
    statistics = {"macro-f1": rows.with_columns(**labels, count=pl.lit(1.0))}
    mean = float(right.mean())
    scores = make_score(metric="accuracy", value=mean, mean=mean)
    others = make_score(metric="macro-f1", value=macro_f1(right))
    cluster = () if sample.clusters is None else ("document",)
    record = RECORD.changed(model=model, dataset=sample.name, cluster=cluster)
    return Result(record, (scores, others), (), examples, statistics)


def leaf(sample: Sample, tag: str | None = None, metric: str = "accuracy") -> Leaf:
    """Score a dataset; the true macro-F1 of such errors is the accuracy."""
    hard, easy = share(sample.abilities - 0.5), share(sample.abilities)
    truth = hard if tag else (hard + easy) / 2
    chosen = sample.tagged if tag else np.ones(len(sample.tagged), np.bool_)
    cells, intervals = {}, []
    for place, model in enumerate(MODELS):
        right = sample.right[:, place]
        value = macro_f1(right) if metric == "macro-f1" else float(right[chosen].mean())
        score = make_score(metric=metric, tag=tag, value=value, n=int(chosen.sum()))
        cells[model] = Cell(score, (make_run(model, sample, right),), 1)
        interval = share_interval(float(right[chosen].sum()), int(chosen.sum()), LEVEL)
        if sample.clusters is not None:
            sums = cluster_sums(right[chosen].astype(float), sample.clusters[chosen])
            interval = clustered_share_interval(*sums, LEVEL)
        intervals.append(interval)
    return Leaf(truth, cells, intervals)


def macro_f1(right: Any) -> float:
    """Compute macro-F1 of labels that take turns."""
    is_a = np.arange(len(right)) % 2 == 1
    parts = ((x & right).sum() / (x.sum() + (x == right).sum()) for x in (is_a, ~is_a))
    return float(sum(parts))


def normalized(number: Any) -> Any:
    """Normalize a number, without a floor."""
    return (number - CHANCE) / (1 - CHANCE)


Leaves = list[tuple[float, Leaf]]


def weighted(weights: Sequence[float], leaves: Iterable[Leaf]) -> Leaves:
    """Give each leaf a weight in the total."""
    return [*zip(weights, leaves, strict=True)]


def independent(random: Random, abilities: Floats = ABILITIES) -> Leaves:
    """Draw five datasets of 100 examples."""
    samples = [draw_sample(random, f"d{n}", 100, abilities=abilities) for n in range(5)]
    return weighted([0.2] * 5, map(leaf, samples))


def shared(random: Random) -> Leaves:
    """Draw two metrics and a tag of 300 examples, and the same examples perturbed."""
    hard = random.normal(size=300)
    one, other = (
        draw_sample(random, "d", 300, shift=s, difficulty=hard) for s in (0.0, -0.3)
    )
    leaves = leaf(one), leaf(one, metric="macro-f1"), leaf(one, "t"), leaf(other)
    return weighted([0.25] * 4, leaves)


def clustered(random: Random) -> Leaves:
    """Draw two datasets of 60 clusters of 5, one of them with a tag."""
    one, other = (draw_sample(random, name, 300, size=5) for name in "de")
    return weighted([0.25, 0.25, 0.5], [leaf(one), leaf(one, "t"), leaf(other)])


def nested(random: Random) -> Leaves:
    """Draw the mean of one of 20 and 1 000 examples, and of 1 000 others."""
    sizes = (20, 1_000, 1_000)
    samples = [draw_sample(random, f"d{n}", size) for n, size in enumerate(sizes)]
    return weighted([0.25, 0.25, 0.5], map(leaf, samples))


def floored(random: Random) -> Leaves:
    """Draw three datasets of 100 examples, answered a little better than by chance."""
    samples = [draw_sample(random, f"d{n}", 100, shift=-1.0) for n in range(3)]
    return weighted([1 / 3] * 3, map(leaf, samples))


WORLDS: dict[str, Callable[[Random], Leaves]] = {
    "5 independent datasets of 100": independent,
    "metrics, tag, perturbation of 300": shared,
    "60 clusters of 5, with a tag": clustered,
    "nested means of 20, 1000, 1000": nested,
    "normalized with floor, 3 of 100": floored,
    "12 equal models, 5 datasets of 100": partial(independent, abilities=EQUAL),
}


def measure(name: str, boards: int) -> str:
    """Return a row of coverages of a world."""
    random = np.random.default_rng(7)
    is_floored = WORLDS[name] is floored
    scale, least = (normalized, 0.0) if is_floored else (np.array, -math.inf)
    joint = mover = ranks = 0
    for _ in range(boards):
        weights, leaves = zip(*WORLDS[name](random), strict=True)
        truths = [np.maximum(scale(x.truth), least) for x in leaves]
        truth = np.average(truths, axis=0, weights=weights)
        replicates: list[Any] = [draw_leaf(each.cells, REGISTRY) for each in leaves]
        values, draws = {}, {}
        for place, (model, true) in enumerate(zip(MODELS, truth, strict=True)):
            own = [scale(each.cells[model].score.value or 0) for each in leaves]
            drawn = [scale(x[model].values) for x in replicates]
            values[model] = float(np.average(np.maximum(own, least), weights=weights))
            shift = values[model] - float(np.average(own, weights=weights))
            draws[model] = np.average(drawn, axis=0, weights=weights) + shift
            joint += holds(joint_interval(draws[model] - shift, LEVEL), true, shift)
            times = len(leaves) * np.array(weights)
            ends = scale(np.array([x.intervals[place][:2] for x in leaves], float))
            parts = [Interval(*each) for each in (times[:, None] * ends).tolist()]
            interval = mean_of_intervals((times * own).tolist(), parts)
            mover += holds(interval, true, shift)
        degrees = min(x[m].units for x in replicates for m in MODELS) - 1
        ranks += hold(rank_ranges(values, draws, LEVEL, degrees=degrees)[0], truth)
    count = boards * len(MODELS)
    return f"{name:35}{joint / count:7.1%}{mover / count:7.1%}{ranks / boards:7.1%}"


def hold(ranges: Mapping[str, Ranks], truth: Floats) -> bool:
    """Tell whether ranges hold all ranks that models have in truth."""
    best = 1 + (truth[:, None] < truth).sum(axis=1)
    worst = len(truth) - (truth[:, None] > truth).sum(axis=1)
    known = [ranges[model] for model in MODELS]
    return all(
        r.best <= b and r.worst >= w for r, b, w in zip(known, best, worst, strict=True)
    )


def holds(interval: Interval, truth: float, shift: float = 0.0) -> bool:
    """Tell whether an interval holds the truth; a floor moves its upper bound."""
    low, high = interval.low, interval.high
    return low is not None and high is not None and low <= truth <= high + shift


def measure_pairs(units: int, boards: int) -> str:
    """Return coverages of ratings by verdicts on so many examples, 4 on each."""
    random = np.random.default_rng(8)
    strengths = ABILITIES * 5
    strengths -= strengths.mean()
    held, ranks = [], 0
    for _ in range(boards):
        unit = np.arange(units).repeat(4)
        pairs = [random.choice(12, 2, replace=False) for _ in unit]
        a, b = np.array(pairs).T
        chance = 1 / (1 + np.exp(strengths[b] - strengths[a]))
        outcome = (random.random(len(unit)) < chance).astype(float)
        columns = {"unit": unit, "a": a, "b": b, "outcome": outcome}
        rows = pl.DataFrame(columns).with_columns(longer=math.nan)
        keys = random.integers(0, 2**63, units, dtype=np.uint64)
        found = rate_verdicts(Verdicts(tuple(MODELS), keys, rows), "bradley-terry")
        for score, strength in zip(found.scores.values(), strengths, strict=True):
            held.append(holds(Interval(score.ci_low, score.ci_high), float(strength)))
        ranks += hold(found.ranks, strengths)
    row = f"{f'{units} examples, 4 verdicts on each':35}{np.mean(held):7.1%}"
    return f"{row}{'':7}{ranks / boards:7.1%}"


def main() -> None:
    """Print coverages, and how long a large leaderboard takes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--boards", type=int, default=300)
    boards = parser.parse_args().boards
    print(f"{boards} leaderboards a row; how often 95 % intervals hold the truth")
    print(f"{'totals':35}{'joint':>7}{'MOVER':>7}{'ranks':>7}")
    for name in WORLDS:
        print(measure(name, boards), flush=True)
    print("Bradley-Terry")
    for units in (200, 1_000):
        print(measure_pairs(units, boards), flush=True)
    random = np.random.default_rng(9)
    leaves = [leaf(draw_sample(random, f"d{n}", 10_000)) for n in range(7)]
    started = time.perf_counter()
    drawn: list[Any] = [draw_leaf(each.cells, REGISTRY) for each in leaves]
    totals = {m: np.mean([x[m].values for x in drawn], axis=0) for m in MODELS}
    rank_ranges({model: float(total.mean()) for model, total in totals.items()}, totals)
    seconds = time.perf_counter() - started
    print(f"12 models, 7 datasets of 10 000 examples: {seconds:.1f} s")


if __name__ == "__main__":
    main()
