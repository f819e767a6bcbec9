"""Measures how often a report on equal groups says that some of them differ.

Each report is on groups that are equally good in truth: on shares in one facet or in
several that lie across each other, or on lognormal scores of one facet. It is counted
where a rank leaves out a place, or where a gap is called a difference (5 % are promised
of either).

Run it as

    python benchmarks/group_claims.py [--sets 400]
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np
import polars as pl
from simulated_sets import RealMean, Sample, score_sample

from evalkit.base.terms import MetricContext
from evalkit.plugins.registry import Registry
from evalkit.scoring.grouping import group_by_tag
from evalkit.scoring.metric import score_metric
from evalkit.scoring.records import MetricScores, ScoringSettings
from evalkit.scoring.table import ScoringTable

SEED = 20_261_122
LEVEL = 0.05
WORLDS = [
    (f"{facets} facets of {groups} groups, {n} examples", facets, groups, n)
    for facets in (1, 8)
    for groups, n in ((4, 240), (8, 400))
]
SKEWED_WORLDS = [
    (f"lognormal scores (sigma {sigma}), groups of {sizes}", sigma, sizes)
    for sigma in (1.0, 1.5)
    for sizes in ((15, 150), (15, 30, 60, 100, 150), (40, 40, 40, 40, 40))
]


def skewed_reports(sets: int, sigma: float, sizes: Sequence[int]) -> float:
    """Give the share of reports on skewed groups in which a gap is a difference."""
    random = np.random.default_rng(SEED)
    rows = sum(sizes)
    values = np.exp(sigma * random.standard_normal(sets * rows))
    codes = np.arange(sets * len(sizes)).repeat(np.tile(sizes, sets))
    tags = [f"s{code // len(sizes)}:t{code % len(sizes)}" for code in codes.tolist()]
    numbers = np.arange(sets).repeat(rows)
    sample = Sample(pl.Series(values), pl.Series(np.zeros(len(values))), numbers)
    found = score_sample(RealMean, sample, pl.Series([[tag] for tag in tags]))
    gaps = [one.p_value for one in found.aggregates if one.kind.startswith("gap:")]
    assert len(gaps) == sets
    return sum((gap or 0.0) < LEVEL for gap in gaps) / sets


def report(
    random: np.random.Generator, facets: int, groups: int, n: int
) -> tuple[MetricScores, dict[str, int]]:
    """Score a set of equal groups; give also how many groups each facet has."""
    right = random.random(n) < 0.8
    places = random.integers(0, groups, (n, facets))
    tags = [[f"f{facet}:{place}" for facet, place in enumerate(row)] for row in places]
    frame = pl.DataFrame(
        {
            "position": pl.Series(np.arange(n), dtype=pl.UInt32),
            "prediction": np.where(right, "x", "y"),
            "target": ["x"] * n,
        }
    )
    ids = [str(number) for number in range(n)]
    table = ScoringTable(frame, ids, None, MetricContext(("x", "y"), "one"))
    grouped = group_by_tag(pl.Series(tags, dtype=pl.List(pl.String)))
    bound = Registry().load("metrics", "accuracy")
    found = score_metric(bound, table, grouped, ScoringSettings())
    if found.failure:
        raise found.failure
    sizes = {name: len(numbers) for name, numbers in grouped.facets.items()}
    return found, sizes


def claims(found: MetricScores, groups: int) -> tuple[bool, bool]:
    """Tell whether some rank leaves out a place, and whether some gap is called one."""
    ranks = {score.ranks for score in found.scores if score.ranks}
    gaps = [one.p_adjusted for one in found.aggregates if one.p_adjusted is not None]
    return bool(ranks - {(1, groups)}), min(gaps, default=1.0) < LEVEL


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=400)
    sets = parser.parse_args().sets
    for name, facets, groups, n in WORLDS:
        random = np.random.default_rng(SEED)
        seen = np.zeros(2)
        for _ in range(sets):
            found, sizes = report(random, facets, groups, n)
            assert set(sizes.values()) == {groups}
            seen += claims(found, groups)
        ranks, gaps = seen / sets
        print(f"{name}: ranks {ranks:.1%}, gaps {gaps:.1%}", flush=True)
    for name, sigma, sizes in SKEWED_WORLDS:
        print(f"{name}: gaps {skewed_reports(sets, sigma, sizes):.1%}", flush=True)


if __name__ == "__main__":
    main()
