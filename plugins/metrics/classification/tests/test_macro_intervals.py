from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import f1_score, recall_score

import evalkit
from evalkit import MetricContext
from evalkit.calls import ScoringTable
from evalkit.grouping import group_by_tag
from evalkit.objects import Resolver
from evalkit.registry import Registry
from evalkit.scores import ScoringSettings
from evalkit.scoring import score_metric

SKLEARN = {"macro-f1": f1_score, "macro-recall": recall_score}
GOLD = ["a", "b", "ü"]


def by_scikit_learn(name: str, pairs: list[tuple[str, str]]) -> float:
    predictions, targets = zip(*pairs, strict=True)
    classes = sorted(set(targets))
    return float(
        SKLEARN[name](
            targets, predictions, labels=classes, average="macro", zero_division=0
        )
    )


def table_of(
    predictions: list[str], targets: list[str], clusters: list[int] | None = None
) -> ScoringTable:
    frame = pl.DataFrame(
        {"position": range(len(targets)), "prediction": predictions, "target": targets},
        schema_overrides={"position": pl.UInt32},
    )
    ids = [str(i) for i in range(len(targets))]
    return ScoringTable(
        frame,
        ids,
        None if clusters is None else pl.Series(clusters),
        MetricContext(None, "one"),
    )


def sample(n: int, seed: int) -> tuple[list[str], list[str]]:
    random = np.random.default_rng(seed)
    targets = random.choice(GOLD, n, p=[0.5, 0.3, 0.2])
    noise = random.choice(GOLD, n)
    predictions = np.where(random.random(n) < 0.7, targets, noise)
    return predictions.tolist(), targets.tolist()


@pytest.mark.parametrize("is_clustered", [False, True])
@pytest.mark.parametrize("name", SKLEARN)
def test_the_interval_equals_direct_resampling(name: str, is_clustered: bool) -> None:
    # rows of a cluster are alike, as those of a template are
    size = 6 if is_clustered else 1
    predictions, targets = (
        np.repeat(part, size).tolist() for part in sample(240 // size, 0)
    )
    clusters = [i // size for i in range(240)]
    table = table_of(predictions, targets, clusters if is_clustered else None)
    groups = group_by_tag(pl.Series([[]] * 240, dtype=pl.List(pl.String)))
    metric = Resolver(Registry()).bind("metrics", name)
    interval = score_metric(metric, table, groups, ScoringSettings()).scores[0].interval

    by_cluster: dict[int, list[tuple[str, str]]] = {}
    for cluster, pair in zip(
        clusters, zip(predictions, targets, strict=True), strict=True
    ):
        by_cluster.setdefault(cluster, []).append(pair)
    units = list(by_cluster.values())
    random = np.random.default_rng(5)
    expected = np.array(
        [
            by_scikit_learn(
                name,
                [
                    pair
                    for i in random.integers(0, len(units), len(units))
                    for pair in units[i]
                ],
            )
            for _ in range(600)
        ]
    )
    assert interval.method == ("bootstrap-clustered" if is_clustered else "bootstrap")
    assert interval.standard_error == pytest.approx(expected.std(), rel=0.12)
    # Monte-Carlo error of a rank of 0.025 in 1 000 and 600 replicates: 0.008
    assert (expected <= interval.low).mean() == pytest.approx(0.025, abs=0.02)
    assert (expected <= interval.high).mean() == pytest.approx(0.975, abs=0.02)


_SCRIPT = """
import random, evalkit
random.seed(0)
targets = random.choices("abcdefg", k=4000)
noise = random.choices("abcdefgh", k=4000)
predictions = [a if random.random() < 0.6 else b for a, b in zip(targets, noise)]
tags = [["t%d" % (i % 9)] for i in range(4000)]
for name in ("accuracy", "macro-f1", "macro-recall", "macro-f1:labels=seen"):
    for one in evalkit.score(name, predictions, targets, tags=tags).scores:
        print(one)
"""


def test_the_number_of_threads_changes_nothing() -> None:
    printed = {
        subprocess.run(
            [sys.executable, "-c", _SCRIPT],
            env={
                **os.environ,
                "POLARS_MAX_THREADS": threads,
                "OPENBLAS_NUM_THREADS": threads,
                "PYTHONHASHSEED": seed,
            },
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for threads, seed in (("1", "0"), ("4", "7"))
    }
    assert len(printed) == 1
    assert printed.pop().count("Score(") == 40


@pytest.mark.slow
@pytest.mark.parametrize("name", SKLEARN)
def test_the_bootstrap_covers_the_true_value(name: str) -> None:
    gold_shares, kept = np.array([0.5, 0.3, 0.2]), 0.7
    joint = kept * np.diag(gold_shares) + (1 - kept) * np.outer(
        gold_shares, [1 / 3] * 3
    )
    hits, gold, predicted = np.diag(joint), joint.sum(axis=1), joint.sum(axis=0)
    per_class = 2 * hits / (gold + predicted) if name == "macro-f1" else hits / gold
    truth = per_class.mean()

    covered = 0
    runs = 600
    for seed in range(runs):
        found = evalkit.score(name, *sample(200, seed), seed=seed)[name]
        assert found.ci is not None
        covered += found.ci.low <= truth <= found.ci.high
    # percentile intervals at n = 200 cover a little less than 95 %; the standard error
    # of a share of 0.94 in 600 runs is 0.01
    assert 0.91 <= covered / runs <= 0.975, covered / runs
