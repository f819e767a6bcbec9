"""Tests that swap examples, against counting them one by one."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

from evalkit.inference.intervals import Floats
from evalkit.runs.results import Result
from evalkit_analysis_compare.comparison import compare
from evalkit_analysis_compare.joint_counts import JointCounts, Labels
from evalkit_analysis_compare.randomised_tests import MOST_SWAPS, SwapCount, go_on
from evalkit_analysis_compare.swap_tests import UNDEFINED, AllSwaps, RandomSwaps

from .comparison_runs import make_run
from .test_comparison import (
    DoubledMacroF1,
    MacroF1,
    get_agreement,
    macro,
    named,
)


def labelled_runs(gold: Any, preds: Any, **how: Any) -> tuple[Result, Result]:
    whole = {"macro-f1": 0.5, "agreement": 0.5}
    first, second = (
        make_run(name, answers=list(gold), preds=list(given), whole=whole, **how)
        for name, given in zip("ab", preds, strict=True)
    )
    return first, second


def by_hand(gold: np.ndarray, one: np.ndarray, other: np.ndarray) -> float:
    """Count all swaps of examples that the models label differently."""
    observed = abs(macro(gold, one) - macro(gold, other))
    places = np.flatnonzero(one != other)
    hits = 0
    for turns in itertools.product((False, True), repeat=len(places)):
        turn = np.zeros(len(gold), np.bool_)
        turn[places] = turns
        first, second = np.where(turn, other, one), np.where(turn, one, other)
        hits += abs(macro(gold, first) - macro(gold, second)) >= observed - 1e-12
    return hits / 2 ** len(places)


@pytest.mark.parametrize("metric", [MacroF1, DoubledMacroF1])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_few_swaps_are_all_counted(metric: type[MacroF1], seed: int) -> None:
    random = np.random.default_rng(seed)
    gold = random.choice(["x", "y", "z"], 30)
    one = np.where(random.random(30) < 0.9, gold, "x")
    other = one.copy()
    other[:9] = random.choice(["x", "y"], 9)
    runs = labelled_runs(gold, (one, other))
    (row,) = compare(*runs, metrics=[named(metric, "macro-f1")]).rows
    assert row.p_method == "swaps-exact"
    assert row.p_value == pytest.approx(by_hand(gold, one, other), abs=1e-12)
    assert row.p_at_most is False


def test_identical_predictions_have_an_interval_and_may_be_equivalent() -> None:
    gold = ["x", "y", "z"] * 100
    runs = labelled_runs(gold, (gold, gold))
    metric = [named(MacroF1, "macro-f1")]
    (row,) = compare(*runs, metrics=metric, margin=0.03).rows
    assert (row.p_value, row.p_method, row.different) == (1, "swaps-exact", False)
    assert (row.ci_low or 0) < 0 < (row.ci_high or 0)
    assert row.equivalent is True
    assert row.conclusion.startswith("equivalent within 3.0 points")


def test_no_label_can_be_swapped_too() -> None:
    parts = [
        pl.DataFrame(
            {
                "example": range(6),
                "gold": ["x", "x", "x", "y", "y", "y"],
                "predicted": predicted,
                "n": [1.0] * 6,
            }
        )
        for predicted in (
            ["x", None, "x", "y", "y", None],
            [None, "x", "x", "y", "x", "y"],
        )
    ]
    known = pl.Series(["x", "y"])
    labels = Labels("gold", "predicted", "n")
    counts = JointCounts((parts[0], parts[1]), labels, known, (0, "f1"))
    every = counts.all_swaps()
    assert every is not None
    (first, second), shares = every
    # two of gold x differ alike, so 3 outcomes; of y one each of two ways, 2 and 2
    assert sorted(shares) == [1 / 16] * 8 + [2 / 16] * 4
    assert counts.differing == 4
    together = pl.concat([first, second])
    by_replicate = together.group_by("replicate").agg(
        pl.col("n").sum(), none=pl.col("n").filter(pl.col("predicted").is_null()).sum()
    )
    assert set(by_replicate["n"]) == {12}
    assert set(by_replicate["none"]) == {3}
    random = counts.swap(0, 4_000)[0].filter(pl.col("predicted").is_null())
    wanted = first.filter(pl.col("predicted").is_null())
    weighted = (wanted["n"] * shares[wanted["replicate"].to_numpy()]).sum()
    assert random["n"].sum() / 4_000 == pytest.approx(weighted, abs=0.06)
    assert weighted == 1.5


def sixty_tags(classes: int) -> tuple[Result, Result]:
    """Make the runs of 60 tags of 20 of which one model is all right, one all wrong."""
    random = np.random.default_rng(0)
    labels = np.array(list("vwxyz"))[:classes]
    numbers = random.integers(0, classes, 1_200)
    wrong = labels[(numbers + random.integers(1, classes, 1_200)) % classes]
    tags = [[f"t:{number // 20}"] for number in range(1_200)]
    return labelled_runs(labels[numbers], (labels[numbers], wrong), tags=tags)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.slow
def test_right_against_wrong_is_shown_on_each_of_sixty_tags(classes: int) -> None:
    runs = sixty_tags(classes)
    rows = compare(*runs, metrics=[named(MacroF1, "macro-f1")]).rows[1:]
    assert len(rows) == 60
    for row in rows:
        assert row.difference == 1
        assert row.different is True
        assert (row.p_adjusted or 1) < 0.05
        assert 0 < (row.ci_low_adjusted or 0) < (row.ci_low or 0)
        assert row.conclusion.startswith("a is better than b by 100.0 points (simulta")
    floors = [row for row in rows if row.p_at_most]
    assert bool(floors) == (classes > 2)
    assert all("adjusted p ≤ " in row.conclusion for row in floors)


@pytest.mark.slow
def test_functions_of_lists_go_on_too() -> None:
    runs = sixty_tags(2)
    first, second = (
        Result(
            run.to_dict(),
            run.scores,
            (),
            run.examples.head(300),  # 15 tags
        )
        for run in runs
    )
    rows = compare(first, second, metrics=[get_agreement]).rows[1:]
    assert len(rows) == 15
    # 200 swaps would give 15/201 = .075 on each
    assert all((row.p_adjusted or 1) < 0.05 and row.p_at_most for row in rows)
    # all replicates are the same, so that there is no interval to go with it
    assert all("but there is no interval" in row.conclusion for row in rows)


def test_going_on_keeps_to_the_level() -> None:
    """Of p-values that are uniform, no more than the level are found to be below it."""
    level, sets = 0.05 / 40, 40_000
    random = np.random.default_rng(4)
    # those that can come near the level, of all
    chances = random.uniform(0, 0.02, sets)
    found = 0
    for chance in chances:

        def count(_first: int, number: int, chance: float = chance) -> SwapCount:
            return SwapCount(int(random.binomial(number, chance)), number)

        settled = go_on(count, count(0, 1_000), 1_000, level)
        found += settled.p_value < level
    rate = found / sets * 0.02
    assert rate <= 1.1 * level


def test_swaps_end_when_the_decision_is_clear() -> None:
    asked: list[tuple[int, int]] = []

    def never(first: int, count: int) -> SwapCount:
        asked.append((first, count))
        return SwapCount(0, count)

    assert go_on(never, SwapCount(0, 1_000), 1_000, 0.05) == (0, 1_000)
    assert go_on(never, SwapCount(500, 1_000), 1_000, 0.001) == (500, 1_000)
    assert asked == []
    found = go_on(never, SwapCount(0, 1_000), 1_000, 0.05 / 60)
    assert found == (0, 2_400)
    assert asked == [(1_000, 1_400)]
    assert found.p_value * 60 < 0.05
    close = go_on(lambda _, count: SwapCount(count // 1_000, count), found, 2_400, 5e-4)
    assert close.swaps == 40_000
    assert go_on(never, SwapCount(0, 1_000), 1_000, 1e-9).swaps == MOST_SWAPS


def test_undefined_swaps_do_not_count() -> None:
    some = np.array([0.1, 0.3, np.nan, -0.3])
    found = AllSwaps({"": some}, np.full(4, 0.25)).test("", 0.3, 0.05)
    assert not isinstance(found, str)
    assert found.p_value == pytest.approx(2 / 3)
    none = np.full(4, np.nan)
    assert AllSwaps({"": none}, np.full(4, 0.25)).test("", 0.3, 0.05) == UNDEFINED
    assert AllSwaps({}, np.full(4, 0.25)).test("", 0.3, 0.05) == UNDEFINED
    assert RandomSwaps(lambda *_: {}, 100, 30).test("", 0.3, 0.05) == UNDEFINED


def test_random_swaps_are_made_once() -> None:
    made: list[tuple[int, int]] = []

    def make(first: int, count: int) -> dict[str, Floats]:
        made.append((first, count))
        numbers = np.arange(first, first + count)
        return {"a": np.sin(numbers), "b": np.cos(numbers)}

    swaps = RandomSwaps(make, 100, 30)
    rare = swaps.test("a", 2.0, 0.01)
    assert not isinstance(rare, str)
    assert (rare.p_value, rare.at_most) == (1 / 201, True)
    again = swaps.test("b", 0.5, 0.01)
    assert not isinstance(again, str)
    assert again.p_value == pytest.approx(2 / 3, abs=0.05)
    assert made == [(0, 100), (100, 100)]
    assert rare.least == pytest.approx(stats.binom.pmf(0, 29, 0.5))
