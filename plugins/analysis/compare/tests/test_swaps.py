"""Swaps of label pairs between two models, against swaps of examples one by one."""

import itertools
from typing import Any

import numpy as np
import polars as pl
import pytest

from evalkit.runs.results import Result
from evalkit_analysis_compare.comparison import compare
from evalkit_analysis_compare.joint_counts import SWAPS, JointCounts, Labels

from .comparison_runs import make_run
from .test_comparison import MacroF1, macro, named


def labelled_runs(gold: Any, preds: Any, **how: Any) -> tuple[Result, Result]:
    first, second = (
        make_run(name, answers=list(gold), preds=list(given), whole=WHOLE, **how)
        for name, given in zip("ab", preds, strict=True)
    )
    return first, second


WHOLE = {"macro-f1": 0.5}


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


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_random_swaps_agree_with_all_of_them(seed: int) -> None:
    random = np.random.default_rng(seed)
    gold = random.choice(["x", "y", "z"], 30)
    one = np.where(random.random(30) < 0.9, gold, "x")
    other = one.copy()
    other[:9] = random.choice(["x", "y"], 9)
    runs = labelled_runs(gold, (one, other))
    (row,) = compare(*runs, metrics=[named(MacroF1, "macro-f1")]).rows
    assert (row.p_method, row.ci_method) == ("swaps", "paired-multinomial")
    assert row.p_value == pytest.approx(by_hand(gold, one, other), abs=0.045)


def test_both_orders_of_the_runs_say_the_same() -> None:
    random = np.random.default_rng(5)
    gold = random.choice(["x", "y", "z"], 80)
    preds = [np.where(random.random(80) < rate, gold, "x") for rate in (0.7, 0.8)]
    runs = labelled_runs(gold, preds)
    metric = [named(MacroF1, "macro-f1")]
    (row,) = compare(*runs, metrics=metric).rows
    (turned,) = compare(*runs[::-1], metrics=metric).rows
    assert turned.p_value == row.p_value
    assert (turned.ci_low, turned.ci_high) == pytest.approx(
        (-(row.ci_high or 0), -(row.ci_low or 0)), abs=1e-12
    )
    assert turned.se == pytest.approx(row.se, rel=1e-12)


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
    counts = JointCounts((parts[0], parts[1]), labels, known, 0)
    assert counts.differing == 4
    blocks = [pair for _, pair in counts.swaps()]
    first, second = blocks[0]
    by_replicate = (
        pl.concat([first, second])
        .group_by("replicate")
        .agg(
            pl.col("n").sum(),
            none=pl.col("n").filter(pl.col("predicted").is_null()).sum(),
        )
    )
    assert set(by_replicate["n"]) == {12}
    assert set(by_replicate["none"]) == {3}
    missing = sum(
        one.filter(pl.col("predicted").is_null())["n"].sum() for one, _ in blocks
    )
    assert missing / SWAPS == pytest.approx(1.5, abs=0.08)
