"""Measures how often a report on equal groups says that some of them differ.

Each report is on groups that are equally good in truth: on shares in one facet or in
several that lie across each other. It is counted where the groups of a facet are called
different (5 % are promised).

Run it as

    python benchmarks/group_claims.py [--sets 400]
"""

from __future__ import annotations

import argparse

import numpy as np
import polars as pl

from evalkit.base.terms import MetricContext
from evalkit.plugins.registry import Registry
from evalkit.scoring.grouping import group_by_tag
from evalkit.scoring.measurement import score_metric
from evalkit.scoring.records import MetricScores, ScoringSettings
from evalkit.scoring.table import ScoringTable

SEED = 20_261_122
LEVEL = 0.05
WORLDS = [
    (f"{facets} facets of {groups} groups, {n} examples", facets, groups, n)
    for facets in (1, 8)
    for groups, n in ((4, 240), (8, 400))
]


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


def claims(found: MetricScores) -> bool:
    """Tell whether the groups of some facet are called different."""
    gaps = [one.p_adjusted for one in found.aggregates if one.p_adjusted is not None]
    return min(gaps, default=1.0) < LEVEL


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=400)
    sets = parser.parse_args().sets
    for name, facets, groups, n in WORLDS:
        random = np.random.default_rng(SEED)
        seen = 0
        for _ in range(sets):
            found, sizes = report(random, facets, groups, n)
            assert set(sizes.values()) == {groups}
            seen += claims(found)
        print(f"{name}: {seen / sets:.1%}", flush=True)


if __name__ == "__main__":
    main()
