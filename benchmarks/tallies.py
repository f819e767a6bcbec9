"""Time and memory of tallies against the scoring that they replace.

Usage: python benchmarks/tallies.py [ROWS] [TAGS] [TAGS_OF_EACH]

Both group the same table by tags and compute all scores with their intervals, in
processes of their own, one after the other. The shared work (tags, answers, clusters)
is done once for the metrics of a row.
"""

from __future__ import annotations

import json
import multiprocessing
import resource
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import polars as pl

from evalkit import MetricContext
from evalkit.catalog import BoundMetric, Registry, Resolver
from evalkit.scoring.grouping import group_by_tag
from evalkit.scoring.metric import score_metric
from evalkit.scoring.records import ScoringSettings
from evalkit.scoring.table import ScoringTable
from evalkit.tallies.build import tally_table
from evalkit.tallies.plans import Plan, finalize

LABELS = ("entailment", "neutral", "contradiction")
METRICS = (("accuracy",), ("accuracy", "macro-f1", "mcc", "precision"), ("mae",))


def make_table(rows: int, tags: int, tags_of_each: int) -> tuple[ScoringTable, Any]:
    """Draw labels, numbers and tags."""
    random = np.random.default_rng(0)
    gold = random.integers(0, 3, rows)
    said = np.where(random.random(rows) < 0.8, gold, random.integers(0, 3, rows))
    labels = pl.Series(LABELS)
    frame = pl.DataFrame(
        {
            "position": np.arange(rows, dtype=np.uint32),
            "prediction": labels.gather(said),
            "target": labels.gather(gold),
            "number": random.normal(size=rows),
            "other": random.normal(size=rows),
        }
    )
    names = pl.Series([f"topic:{number:02}" for number in range(tags)])
    drawn = random.random((rows, tags)).argpartition(tags_of_each - 1)
    drawn = drawn[:, :tags_of_each]
    flat = names.gather(drawn.ravel()).reshape((rows, tags_of_each))
    lists = flat.cast(pl.List(pl.String)).alias("tags")
    ids = [str(number) for number in range(rows)]
    return ScoringTable(frame, ids, None, MetricContext(LABELS, "one")), lists


def table_for(name: str, table: ScoringTable) -> ScoringTable:
    """Return the table that a metric scores."""
    if name != "mae":
        return table
    frame = table.frame.select("position", prediction="number", target="other")
    return table._replace(frame=frame, context=MetricContext(None, "number"))


def run_old(
    metrics: Sequence[BoundMetric], table: ScoringTable, tags: pl.Series
) -> list[float]:
    """Compute the scores of all groups by scoring."""
    groups, settings = group_by_tag(tags), ScoringSettings()
    return [
        float(score.value or 0)
        for metric in metrics
        for score in score_metric(metric, table, groups, settings).scores
        if not score.score
    ]


def run_new(
    metrics: Sequence[BoundMetric], table: ScoringTable, tags: pl.Series
) -> list[float]:
    """Compute the scores of all groups by tallies."""
    nothing = pl.repeat(None, table.frame.height, dtype=pl.String, eager=True)
    tallies = tally_table(metrics, table, nothing, tags).tallies
    return [
        float(score.value or 0)
        for metric in finalize(Plan(metrics, table.context), tallies)
        for score in metric.scores
        if not score.score
    ]


def measure(
    run: Callable[..., list[float]], names: Sequence[str], shape: list[int]
) -> Any:
    """Return seconds, CPU seconds, further memory in MB and values."""
    table, tags = make_table(*shape)
    metrics = [BoundMetric.of(Resolver(Registry()).metric(name)) for name in names]
    table = table_for(names[0], table)
    small = table._replace(frame=table.frame.head(10), ids=table.ids[:10])
    run(metrics, small, tags.head(10))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started, cpu = time.perf_counter(), time.process_time()
    values = run(metrics, table, tags)
    seconds, used = time.perf_counter() - started, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return seconds, used, (peak - before) / 1024, values


def main(shape: list[int]) -> None:
    """Print a table of both."""
    spawn = multiprocessing.get_context("spawn")
    print(f"{'':34}{'seconds':>20}{'CPU seconds':>20}{'MB':>20}   largest difference")
    for names in METRICS:
        measured = []
        for run in (run_old, run_new):
            with spawn.Pool(1) as pool:
                measured.append(pool.apply(measure, (run, names, shape)))
        old, new = measured
        difference = float(np.abs(np.subtract(old[3], new[3])).max())
        pairs = "".join(
            f"{o:10.2f}{n:10.2f}" for o, n in zip(old[:3], new[:3], strict=True)
        )
        print(f"{', '.join(names):34}{pairs}   {difference:.1e}", flush=True)
    print(json.dumps({"rows": shape[0], "tags": shape[1], "of each": shape[2]}))


if __name__ == "__main__":
    given = [int(text) for text in sys.argv[1:]]
    main([*given, *(1_000_000, 50, 1)[len(given) :]])
