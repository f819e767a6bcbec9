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
from collections.abc import Callable, Mapping, Sequence
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
from evalkit_analysis_suites.draws import draw_leaf, joint_interval
from evalkit_analysis_suites.pairwise import Verdicts, rate_verdicts
from evalkit_analysis_suites.ranks import rank_ranges
from evalkit_analysis_suites.records import Cell, make_score

LEVEL = 0.95
ABILITIES = np.linspace(0.3, 0.5, 12)
MODELS = [f"m{number:02}" for number in range(12)]
CHANCE = 0.25


class Leaf(NamedTuple):
    """The scores of all models on one dataset, tag or metric."""

    truth: Floats
    cells: Mapping[str, Cell]
    intervals: Sequence[Interval]


class Sample(NamedTuple):
    """Examples of one dataset, with the answers of all models."""

    name: str
    right: Any
    """Of shape (examples, models)."""
    truth: Floats
    tagged: Any
    """Whether each example has the tag `t`, which makes it harder."""
    clusters: Integers | None


def template() -> Result:
    """Evaluate something, for the record of a run."""
    rows = [{"uid": "0", "statement": "?", "label": "a"}]
    return evalkit.evaluate(
        data=rows,
        predictions=[{"id": "0", "label": "a"}],
        task="text-classification",
        model="m",
        metrics=["accuracy", "macro-f1"],
    )


TEMPLATE = template()
REGISTRY = evalkit.Registry()


def draw_sample(
    random: np.random.Generator,
    name: str,
    n: int,
    *,
    size: int = 1,
    shift: float = 0.0,
    difficulty: Floats | None = None,
) -> Sample:
    """Draw answers to examples in clusters of a size."""
    clusters = np.repeat(np.arange(n // size), size) if size > 1 else None
    own = random.normal(size=n)
    if clusters is not None:
        shared = random.normal(size=n // size)[clusters]
        own = math.sqrt(0.5) * own + math.sqrt(0.5) * shared
    own = own if difficulty is None else difficulty
    tagged = random.random(n // size).repeat(size) < 0.5
    levels = ABILITIES + shift + own[:, None] - 0.5 * tagged[:, None]
    right = random.normal(size=levels.shape) < levels
    return Sample(name, right, ABILITIES + shift, tagged, clusters)


def share(level: Floats) -> Floats:
    """Return the true share of right answers."""
    return np.array([NormalDist().cdf(each / math.sqrt(2)) for each in level])


def make_run(model: str, sample: Sample, right: Any) -> Result:
    """Make a run of right and wrong answers."""
    n = len(right)
    gold = np.where(np.arange(n) % 2, "a", "b")
    predicted = np.where(right, gold, np.where(gold == "a", "b", "a"))
    position = pl.int_range(n, dtype=pl.UInt32, eager=True)
    examples = pl.DataFrame(
        {
            "id": [f"{number}" for number in range(n)],
            "replication": pl.repeat(None, n, dtype=pl.String, eager=True),
            "answer": gold,
            "pred": predicted,
            "tags": [["t"] if tagged else [] for tagged in sample.tagged],
            "cluster": pl.Series(sample.clusters, dtype=pl.UInt64)
            if sample.clusters is not None
            else pl.repeat(None, n, dtype=pl.UInt64, eager=True),
            "status": ["scored"] * n,
        }
    )
    ones = np.ones(n)
    statistics = {
        "accuracy": pl.DataFrame(
            {"position": position, "correct": right.astype(float), "examples": ones}
        ),
        "macro-f1": pl.DataFrame(
            {"position": position, "gold": gold, "predicted": predicted, "count": ones}
        ),
    }
    cluster = () if sample.clusters is None else ("document",)
    record = TEMPLATE.record.changed(model=model, dataset=sample.name, cluster=cluster)
    return Result(record, (), (), examples, statistics)


def leaf(sample: Sample, tag: str | None = None, metric: str = "accuracy") -> Leaf:
    """Score a dataset; the true macro-F1 of such errors is the accuracy."""
    hard, easy = share(sample.truth - 0.5), share(sample.truth)
    truth = hard if tag else (hard + easy) / 2
    chosen = sample.tagged if tag else np.ones(len(sample.tagged), np.bool_)
    cells, intervals = {}, []
    for place, model in enumerate(MODELS):
        right = sample.right[:, place]
        value = float(right[chosen].mean())
        if metric == "macro-f1":
            value = macro_f1(right)
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
    scores = []
    for gold in (is_a, ~is_a):
        hits, said = (gold & right).sum(), (gold == right).sum()
        scores.append(2 * hits / (gold.sum() + said))
    return float(np.mean(scores))


def normalized(value: Any) -> Any:
    """Make chance 0, and what is below it."""
    return np.maximum((value - CHANCE) / (1 - CHANCE), 0)


Draw = Callable[[np.random.Generator], list[tuple[float, Leaf]]]


def independent(random: np.random.Generator) -> list[tuple[float, Leaf]]:
    """Five datasets of 100 examples."""
    samples = [draw_sample(random, f"d{number}", 100) for number in range(5)]
    return [(0.2, leaf(sample)) for sample in samples]


def shared(random: np.random.Generator) -> list[tuple[float, Leaf]]:
    """Two metrics and a tag of 300 examples, and the same examples perturbed."""
    difficulty = random.normal(size=300)
    one, other = (
        draw_sample(random, "d", 300, shift=shift, difficulty=difficulty)
        for shift in (0.0, -0.3)
    )
    leaves = leaf(one), leaf(one, metric="macro-f1"), leaf(one, "t"), leaf(other)
    return [(0.25, each) for each in leaves]


def clustered(random: np.random.Generator) -> list[tuple[float, Leaf]]:
    """Two datasets of 60 clusters of 5, one of them with a tag."""
    one, other = (draw_sample(random, name, 300, size=5) for name in "de")
    return [(0.25, leaf(one)), (0.25, leaf(one, "t")), (0.5, leaf(other))]


def nested(random: np.random.Generator) -> list[tuple[float, Leaf]]:
    """The mean of one of 20 and 1 000 examples, and of 1 000 others."""
    sizes = (20, 1_000, 1_000)
    samples = [draw_sample(random, f"d{n}", size) for n, size in enumerate(sizes)]
    weights = (0.25, 0.25, 0.5)
    return [(w, leaf(each)) for w, each in zip(weights, samples, strict=True)]


def floored(random: np.random.Generator) -> list[tuple[float, Leaf]]:
    """Three datasets of 100 examples, answered a little better than by chance."""
    samples = [draw_sample(random, f"d{n}", 100, shift=-1.0) for n in range(3)]
    return [(1 / 3, leaf(sample)) for sample in samples]


WORLDS: dict[str, tuple[Draw, Callable[[Any], Any]]] = {
    "5 independent datasets of 100": (independent, lambda value: value),
    "metrics, tag, perturbation of 300": (shared, lambda value: value),
    "60 clusters of 5, with a tag": (clustered, lambda value: value),
    "nested means of 20, 1000, 1000": (nested, lambda value: value),
    "normalized with floor, 3 of 100": (floored, normalized),
}


def measure(name: str, boards: int) -> str:
    """Return a row of coverages of a world."""
    draw, scale = WORLDS[name]
    random = np.random.default_rng(7)
    joint = mover = ranks = count = 0
    for _ in range(boards):
        leaves = draw(random)
        truth = sum(weight * scale(each.truth) for weight, each in leaves)
        replicates = [draw_leaf(each.cells, REGISTRY) for _, each in leaves]
        values, draws = {}, {}
        for place, model in enumerate(MODELS):
            own = [scale(each.cells[model].score.value) for _, each in leaves]
            values[model] = float(
                sum(w * x for (w, _), x in zip(leaves, own, strict=True))
            )
            draws[model] = sum(
                weight * scale(drawn[model])
                for (weight, _), drawn in zip(leaves, replicates, strict=True)
            )
            joint += holds(joint_interval(draws[model], LEVEL), truth[place])
            weights = [len(leaves) * weight for weight, _ in leaves]
            parts = [
                Interval(w * scale(x.low), w * scale(x.high))
                for w, x in zip(
                    weights, (y.intervals[place] for _, y in leaves), strict=True
                )
            ]
            weighted = [w * x for w, x in zip(weights, own, strict=True)]
            mover += holds(mean_of_intervals(weighted, parts), truth[place])
            count += 1
        ranges, _ = rank_ranges(values, draws, LEVEL)
        ranks += all(
            ranges[model].best <= len(MODELS) - place <= ranges[model].worst
            for place, model in enumerate(MODELS)
        )
    return f"{name:35}{joint / count:7.1%}{mover / count:7.1%}{ranks / boards:7.1%}"


def holds(interval: Interval, truth: float) -> bool:
    """Tell whether an interval holds the truth."""
    low, high = interval.low, interval.high
    return low is not None and high is not None and low <= truth <= high


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
        rows = pl.DataFrame(
            {"unit": unit, "a": a, "b": b, "longer": np.full(len(unit), np.nan)}
        ).with_columns(
            outcome=pl.Series((random.random(len(unit)) < chance).astype(float))
        )
        keys = random.integers(0, 2**63, units, dtype=np.uint64)
        found = rate_verdicts(Verdicts(tuple(MODELS), keys, rows), "bradley-terry")
        for place, model in enumerate(MODELS):
            score = found.scores[model]
            interval = Interval(score.ci_low, score.ci_high)
            held.append(holds(interval, float(strengths[place])))
        ranks += all(
            found.ranks[model].best <= 12 - place <= found.ranks[model].worst
            for place, model in enumerate(MODELS)
        )
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
    drawn = [draw_leaf(each.cells, REGISTRY) for each in leaves]
    totals = {
        model: np.mean([each[model] for each in drawn], axis=0) for model in MODELS
    }
    rank_ranges({model: float(total.mean()) for model, total in totals.items()}, totals)
    seconds = time.perf_counter() - started
    print(f"12 models, 7 datasets of 10 000 examples: {seconds:.1f} s")


if __name__ == "__main__":
    main()
