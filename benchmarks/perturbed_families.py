"""Measures how often a table of many perturbations shows a drop that is not there.

Each set has 200 originals, alone or in 40 clusters of 5, and a copy of each by eight
perturbations; a model of three classes answers all. Where there is no drop, a copy gets
another answer in a share of cases, by the same chances as its original did. Counted
are sets in which a drop is shown under any perturbation, after the adjustment for
eight (5 % are promised) and without any. Where there are real drops, two perturbations
break a share of the right answers; counted is how many of them are found, and sets in
which one of the other six is shown.

Run it as

    python benchmarks/perturbed_families.py [--sets 400] [--only WORDS]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import polars as pl
from simulated_sets import Floats, Integers, Random

from evalkit.base.terms import MetricContext
from evalkit.inference.intervals import without_interval
from evalkit.plugins.registry import Registry
from evalkit.robustness.drops import DropIntervals
from evalkit.robustness.pairs import PerturbedSample, Rows
from evalkit.robustness.tested_drops import (
    DropLevels,
    GroupedStatistics,
    TestedDrops,
    mean_differences,
)
from evalkit.scoring.calls import call_finalize
from evalkit.scoring.passes import metric_statistics
from evalkit.scoring.records import GroupScore, ScoringSettings
from evalkit.scoring.table import ScoringTable
from evalkit_analysis_compare.differences import Difference
from evalkit_analysis_compare.effective_pairs import share_difference_interval
from evalkit_analysis_compare.judging import judge

SEED = 20_261_122
PERTURBATIONS = 8
ORIGINALS = 200
CLUSTER = 5
LABELS = ("x", "y", "z")
SHARES = (0.6, 0.3, 0.1)
NOISE = 0.2
BROKEN = 2
"""Perturbations that break answers, in worlds where any do."""

_SETS_AT_ONCE = 20


class World(NamedTuple):
    """What perturbations do."""

    metric: str
    clustered: bool
    changed: float
    """Share of copies that are answered anew."""
    broken: float = 0.0
    """Share of copies whose answer two of the perturbations break."""


class Answers(NamedTuple):
    """Gold labels and answers of some sets, as numbers."""

    gold: Integers
    """Of shape (sets, originals)."""
    original: Integers
    copies: Integers
    """Of shape (sets, perturbations, originals)."""
    clusters: Integers | None
    """Of shape (sets, originals); no cluster is in two sets."""


def draw(world: World, random: Random, sets: int) -> Answers:
    """Draw sets."""
    groups = ORIGINALS // CLUSTER if world.clustered else ORIGINALS
    repeat = ORIGINALS // groups
    spread = 2.0

    def gold_of(shape: tuple[int, ...]) -> Integers:
        return random.choice(len(LABELS), shape, p=SHARES)

    def chances(mean: float, shape: tuple[int, ...]) -> Floats:
        """Give the chance of each original, the same within a cluster."""
        if not world.clustered:
            return np.full((*shape, ORIGINALS), mean)
        drawn = random.beta(spread * mean, spread * (1 - mean), (*shape, groups))
        return drawn.repeat(repeat, axis=-1)

    def answer(gold: Integers, wrong: Floats) -> Integers:
        other = (gold + random.integers(1, len(LABELS), gold.shape)) % len(LABELS)
        return np.where(random.random(gold.shape) < wrong, other, gold)

    gold = gold_of((sets, ORIGINALS))
    wrong = chances(NOISE, (sets,))
    original = answer(gold, wrong)
    shape = (sets, PERTURBATIONS, ORIGINALS)
    golds = np.broadcast_to(gold[:, None], shape)
    anew = answer(golds, np.broadcast_to(wrong[:, None], shape))
    is_new = random.random(shape) < chances(world.changed, (sets, PERTURBATIONS))
    copies = np.where(is_new, anew, original[:, None])
    if world.broken:
        breaks = random.random(shape) < chances(world.broken, (sets, PERTURBATIONS))
        breaks[:, BROKEN:] = False
        copies = np.where(breaks, (golds + 1) % len(LABELS), copies)
    clusters = None
    if world.clustered:
        clusters = np.arange(sets * groups).repeat(repeat).reshape(sets, -1)
    return Answers(gold, original, copies, clusters)


def tested_sets(world: World, answers: Answers) -> list[Sequence[Difference | None]]:
    """Test the drops of all perturbations of each set."""
    sets = len(answers.gold)
    count = sets * ORIGINALS
    clusters = answers.clusters
    sample = PerturbedSample(
        pl.Series([str(one) for one in range(count)]),
        pl.Series([[]] * count, dtype=pl.List(pl.String)),
        None if clusters is None else pl.Series(clusters.ravel()),
        np.ones(count, dtype=bool),
    )
    group = np.arange(sets * PERTURBATIONS).repeat(ORIGINALS)
    numbers = np.arange(count).reshape(sets, 1, ORIGINALS)
    original = numbers.repeat(PERTURBATIONS, axis=1).ravel()
    # the first set's first drop is that of group 0, and is tested alike
    levels = DropLevels(0.95, PERTURBATIONS, PERTURBATIONS)
    if world.metric == "accuracy":
        tested = _of_shares(answers, sample, group, original, levels)
    else:
        tested = _of_sets(world.metric, answers, sample, group, original, levels)
    return [
        tested[start : start + PERTURBATIONS]
        for start in range(0, len(tested), PERTURBATIONS)
    ]


def _of_shares(
    answers: Answers,
    sample: PerturbedSample,
    group: Integers,
    original: Integers,
    levels: DropLevels,
) -> TestedDrops:
    before = (answers.original == answers.gold)[:, None].astype(np.float64)
    after = (answers.copies == answers.gold[:, None]).astype(np.float64)
    drops = before - after
    clusters = answers.clusters
    scores = []
    for number, values in enumerate(drops.reshape(-1, ORIGINALS)):
        found = None if clusters is None else clusters[number // PERTURBATIONS]
        interval = share_difference_interval(values, found, 0.95)
        value = float(values.mean())
        scores.append(GroupScore("", number, value, ORIGINALS, None, interval))
    sizes = np.full(len(scores), ORIGINALS)
    rows = Rows(group, original, drops.ravel(), sizes, sizes, True)
    return mean_differences(
        scores,
        rows,
        sample.units(0),
        levels,
        shares=True,
    )


def _of_sets(
    metric: str,
    answers: Answers,
    sample: PerturbedSample,
    group: Integers,
    original: Integers,
    levels: DropLevels,
) -> TestedDrops:
    bound = Registry().load("metrics", metric)
    context = MetricContext(LABELS, "one")
    names = pl.Series(LABELS)
    shape = answers.copies.shape
    targets = names.gather(np.broadcast_to(answers.gold[:, None], shape).ravel())
    sides, values = [], []
    for given in (answers.original[:, None], answers.copies):
        table = ScoringTable(
            pl.DataFrame(
                {
                    "position": np.arange(len(group), dtype=np.uint32),
                    "prediction": names.gather(np.broadcast_to(given, shape).ravel()),
                    "target": targets,
                }
            ),
            [str(one) for one in range(len(group))],
            None,
            context,
        )
        statistics = metric_statistics(bound, table)
        sides.append(GroupedStatistics(statistics, group, original))
        numbered = statistics.with_columns(
            group=pl.Series(group)[statistics["position"].to_numpy()]
        )
        keys = ["group", *bound.attributes["keys"]]
        sums = numbered.drop("position").group_by(keys).sum().sort(keys)
        values.append(
            call_finalize(bound, sums, context).sort("group")["value"].to_list()
        )
    intervals = DropIntervals(
        bound, (sides[0], sides[1]), sample.units(0), context, ScoringSettings()
    )
    tested = []
    for number, (before, after) in enumerate(zip(*values, strict=True)):
        drop = before - after
        nothing = without_interval("not computed yet")
        score = GroupScore("", number, drop, ORIGINALS, None, nothing)
        score = score._replace(interval=intervals.of(number, "", drop))
        level = levels.of(score)
        tested.append(None if level is None else intervals.test(score, level))
    return tested


class Rates(NamedTuple):
    """Shares of the sets, or of the real drops."""

    false: float
    """Sets in which a drop that is not there was shown."""
    unadjusted: float
    """The same where every interval is read by itself."""
    found: float
    """Real drops that were shown; nan without any."""


def rates_of(world: World, sets: int, seed: int) -> Rates:
    """Simulate a world."""
    random = np.random.default_rng(seed)
    broken = BROKEN if world.broken else 0
    false = unadjusted = found = 0
    for start in range(0, sets, _SETS_AT_ONCE):
        drawn = draw(world, random, min(_SETS_AT_ONCE, sets - start))
        for tested in tested_sets(world, drawn):
            shown = [_is_shown(one, PERTURBATIONS) for one in tested]
            alone = [_is_shown(one, 1) for one in tested]
            false += any(shown[broken:])
            unadjusted += any(alone[broken:])
            found += sum(shown[:broken])
    real = found / (sets * broken) if broken else float("nan")
    return Rates(false / sets, unadjusted / sets, real)


def _is_shown(tested: Difference | None, size: int) -> bool:
    return tested is not None and judge(tested, size, 0.95, None).different


WORLDS = {
    f"{metric}{', 40 clusters of 5' if clustered else ''}, {name}": World(
        metric, clustered, changed, broken
    )
    for metric in ("accuracy", "macro-f1")
    for clustered in (False, True)
    for name, changed, broken in (
        ("no drop, 10 % answered anew", 0.1, 0.0),
        ("no drop, 50 % answered anew", 0.5, 0.0),
        ("two break 15 %", 0.1, 0.15),
    )
}


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=400)
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    print(
        "| world | sets with a false drop | the same unadjusted | real drops found |\n"
        "|---|---|---|---|"
    )
    for name, world in WORLDS.items():
        if arguments.only not in name:
            continue
        started = time.perf_counter()
        rates = rates_of(world, arguments.sets, SEED)
        seconds = time.perf_counter() - started
        found = "–" if np.isnan(rates.found) else f"{100 * rates.found:.0f} %"
        print(
            f"| {name} | {100 * rates.false:.1f} % | {100 * rates.unadjusted:.1f} % "
            f"| {found} | ({seconds:.0f} s)",
            flush=True,
        )


if __name__ == "__main__":
    main()
