"""Smoothed counts of label pairs in clusters, against formulas written out by hand."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from row_intervals import proportion_interval
from scipy import stats
from sklearn.metrics import f1_score

from evalkit.inference.cluster_smoothing import (
    UnitRows,
    design_effect,
    smoothed_units,
    widened,
    widening,
)
from evalkit.inference.multinomial import DrawnCounts, count_pairs

from ..engine_tables import main_score, make_groups, make_table, scored

LABELS = ["a", "b", "c"]


def rows_of(units: np.ndarray, gold: np.ndarray, said: np.ndarray) -> UnitRows:
    return UnitRows(units, gold * 3 + said, gold == said)


def test_the_design_effect_is_that_of_rao_and_scott_where_errors_are_many() -> None:
    random = np.random.default_rng(1)
    units = np.repeat(np.arange(40), random.integers(1, 12, 40))
    gold = random.integers(0, 3, 40)[units]
    said = np.where(random.random(len(units)) < 0.5, gold, (gold + 1) % 3)
    n, variances, plain = len(units), [], []
    for pair in range(9):
        is_pair = (gold * 3 + said == pair).astype(float)
        share = is_pair.mean()
        residuals = np.bincount(units, weights=is_pair - share)
        variances.append(40 / 39 * (residuals**2).sum() / n**2)
        plain.append(share * (1 - share) / n)
    expected = sum(variances) / sum(plain)
    assert expected > 2
    assert design_effect(rows_of(units, gold, said)) == pytest.approx(expected)


def test_the_design_effect_of_units_of_one_row_is_nearly_one() -> None:
    random = np.random.default_rng(2)
    gold, said = random.integers(0, 3, (2, 200))
    effect = design_effect(rows_of(np.arange(200), gold, said))
    assert effect == pytest.approx(200 / 199)
    assert design_effect(rows_of(np.arange(200), gold, gold)) <= 200 / 199


def test_units_without_an_error_count_as_if_their_rows_were_half_alike() -> None:
    units = np.repeat(np.arange(30), 9)
    gold = np.tile([0, 1, 2], 90)
    assert design_effect(rows_of(units, gold, gold)) == pytest.approx((1 + 9) / 2)


def test_widening_is_students_over_the_effective_number_of_units() -> None:
    even = np.repeat(np.arange(12), 5)
    expected = stats.t.ppf(0.95, 11) / stats.norm.ppf(0.95) * math.sqrt(12 / 11)
    assert widening(even, 0.9) == pytest.approx(expected)
    one_large = np.concatenate([np.zeros(50, dtype=int), np.arange(1, 51)])
    # 100² / (50² + 50) = 3.92, of which whole ones count
    expected = stats.t.ppf(0.975, 2) / stats.norm.ppf(0.975)
    found = widening(one_large, 0.95)
    assert found == pytest.approx(expected * math.sqrt(3.9216 / 2.9216), rel=1e-4)
    assert widening(np.zeros(9, dtype=int), 0.95) > 9
    assert widened((0.4, 0.7), 0.5, 2.0) == pytest.approx((0.3, 0.9))


def test_smoothing_adds_examples_with_their_mass_to_each_replication() -> None:
    cells = [("a", "a", 0), ("a", "a", 1)]
    kinds = (pl.String(), pl.String(), pl.Int64())
    names = ("gold", "said", "time", "count")
    drawn = DrawnCounts(names, cells, np.full((500, 2), 4.0), kinds)
    pairs = count_pairs([(("a", "a"), 8.0)], ["a", "b"])
    random = np.random.default_rng(4)
    replicates, expected = smoothed_units(
        drawn, np.array([4.0, 4.0]), pairs, 2.5, random
    )
    assert expected.cells == [*cells, ("a", "b", 0), ("a", "b", 1)]
    assert expected.counts.tolist() == [[4 + 2.5 / 4] * 2 + [2.5 / 4] * 2]
    assert replicates.cells == expected.cells
    np.testing.assert_array_equal(replicates.counts[:, ::2], replicates.counts[:, 1::2])
    added = replicates.counts[:, 2]
    assert set((added / 2.5 % 1).tolist()) == {0.0}
    # in 22 % of the replicates, by Poisson(1/4)
    share = np.count_nonzero(added) / 500
    assert share == pytest.approx(1 - math.exp(-0.25), abs=0.08)


@pytest.mark.parametrize("clusters", [[i // 5 for i in range(60)], list(range(60))])
def test_answers_that_are_all_right_have_an_interval(clusters: list[int]) -> None:
    answers = [LABELS[i % 3] for i in range(60)]
    found = main_score(
        scored("macro-f1", make_table(answers, answers, clusters=clusters))
    )
    assert found.value == 1.0
    assert found.interval.high == 1.0
    assert 0.5 < found.interval.low < 0.99


def test_clusters_of_one_example_get_nearly_the_interval_without_clusters() -> None:
    random = np.random.default_rng(5)
    gold = [LABELS[i] for i in random.integers(0, 3, 200)]
    said = [one if random.random() < 0.9 else LABELS[0] for one in gold]
    plain = main_score(scored("macro-f1", make_table(said, gold)))
    alone = main_score(scored("macro-f1", make_table(said, gold, clusters=range(200))))
    assert alone.interval.method == "bootstrap-clustered"
    width = plain.interval.high - plain.interval.low
    assert alone.interval.low == pytest.approx(plain.interval.low, abs=0.12 * width)
    assert alone.interval.high == pytest.approx(plain.interval.high, abs=0.12 * width)


SETS, UNITS = 80, 30
POSITIVE, F1 = 0.05, 0.9


@pytest.mark.slow
def test_rare_errors_in_clusters_do_not_escape_the_interval() -> None:
    """Drawing clusters without smoothing covered .83, since no new error comes up."""
    random = np.random.default_rng(6)
    sizes = random.integers(1, 20, SETS * UNITS)
    clusters = np.repeat(np.arange(SETS * UNITS), sizes)
    false_alarms = POSITIVE * (1 - F1) / (1 - POSITIVE)
    rates = [
        random.beta(share * 7 / 3, (1 - share) * 7 / 3, SETS * UNITS)[clusters]
        for share in (F1, false_alarms)
    ]
    gold = random.random(len(clusters)) < POSITIVE
    said = random.random(len(clusters)) < np.where(gold, *rates)
    names = np.array(["no", "yes"])
    table = make_table(
        names[said.astype(int)].tolist(),
        names[gold.astype(int)].tolist(),
        clusters=clusters.tolist(),
        labels=["no", "yes"],
    )
    groups = make_groups([[str(cluster // UNITS)] for cluster in clusters])
    found = scored("macro-f1", table, groups)
    missed = POSITIVE * (1 - F1)
    f1_of_no = (1 - POSITIVE - missed) / (1 - POSITIVE)
    truth = (F1 + f1_of_no) / 2
    held = [
        score.interval.low <= truth <= score.interval.high
        for score in found.scores
        if score.group and score.score == ""
    ]
    assert len(held) == SETS
    assert np.mean(held) >= 0.93


@pytest.mark.slow
def test_an_interval_reaches_as_far_as_the_share_of_right_answers() -> None:
    """With 100 clusters at .97 it covered .92, nearly all misses above the truth."""
    random = np.random.default_rng(100)
    covered = short = 0
    for _ in range(60):
        sizes = random.integers(1, 20, 100)
        units = np.repeat(np.arange(100), sizes)
        rates = random.beta(0.97 * 7 / 3, 0.03 * 7 / 3, 100)[units]
        gold = random.integers(0, 3, len(units))
        right = random.random(len(units)) < rates
        said = np.where(right, gold, (gold + random.integers(1, 3, len(units))) % 3)
        names = np.array(LABELS)
        table = make_table(
            names[said].tolist(), names[gold].tolist(), clusters=units.tolist()
        )
        interval = main_score(scored("macro-f1", table)).interval
        share = proportion_interval(right.astype(float), units, 0.95)
        assert interval.low is not None
        assert share.low is not None
        score = f1_score(gold, said, average="macro")
        assert score - interval.low >= 0.85 * (right.mean() - share.low)
        short += score - interval.low < 0.97 * (right.mean() - share.low)
        assert interval.high is not None
        covered += interval.low <= 0.97 <= interval.high
    assert short <= 3
    assert covered >= 56
