"""Ratings against published formulas, and rank ranges against plain loops."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from evalkit_analysis_ratings.ranks import Columns, rank_ranges, rate

NAN = float("nan")


def values_of(method: Any, values: Any, signs: Any) -> list[float]:
    """Rate models; nan for none."""
    directions = tuple({1: True, -1: False, 0: None}[sign] for sign in signs)
    array = np.array(values, dtype=float)
    models = tuple(map(str, range(array.shape[1])))
    columns = Columns(
        models, tuple("ab"[: len(array)]), array, directions, "none", [9, 9]
    )
    scores = rate(columns, method).scores.values()
    return [NAN if score.value is None else score.value for score in scores]


ONE_TO_FIVE = [1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("values", "signs", "expected"),
    [
        ([ONE_TO_FIVE], [1], [0, 0.25, 0.5, 0.75, 1]),
        ([ONE_TO_FIVE], [-1], [1, 0.75, 0.5, 0.25, 0]),
        ([[1, 1, 1, 4, 5]], [1], [0.25, 0.25, 0.25, 0.75, 1]),
        ([ONE_TO_FIVE, [3, 1, 2, 5, 4]], [1, 1], [0.25, 0.125, 0.375, 0.875, 0.875]),
        ([[NAN, 2, 3, 4], [3, 1, 2, NAN]], [1, 1], [1, 0, 0.5, 1]),
        ([[1, 2, 3], [NAN, 7, NAN]], [1, 1], [0, 0.5, 1]),
        ([[1, 2, 3], [3, 2, 1]], [1, 0], [0, 0.5, 1]),
        ([[1, NAN, 3]], [0], [NAN, NAN, NAN]),
    ],
)
def test_win_rates_are_helms(values: Any, signs: Any, expected: Any) -> None:
    assert values_of("win-rate", values, signs) == pytest.approx(expected, nan_ok=True)


def test_mean_ranks_share_ties_and_skip_missing() -> None:
    values = [[0.9, 0.5, 0.5, NAN], [1.0, 3.0, 2.0, 9.0]]
    found = values_of("mean-rank", values, [1, -1])
    assert found == [1, (2.5 + 3) / 2, (2.5 + 2) / 2, 4]


@pytest.mark.parametrize("method", ["win-rate", "mean-rank"])
def test_intervals_count_the_models_shown_to_be_worse(method: Any) -> None:
    random = np.random.default_rng(1)
    values = np.array([[0.9, 0.5, 0.501, 0.1], [9, NAN, 1, 1.01]])
    draws = values + 0.01 * random.normal(size=(1000, *values.shape))
    draws[0, 0, 0] = NAN
    models = ("a", "b", "c", "d")
    columns = Columns(models, ("x", "y"), values, (True, False), draws, (99, 99))
    found = rate(columns, method)
    # on y, lower values are better, so that a is the last of three
    wins = {"a": (0.5, 0.5), "b": (1 / 3, 2 / 3), "c": (5 / 12, 5 / 6)}
    wins["d"] = (0.25, 0.5)
    for model, (low, high) in wins.items():
        score = found.scores[model]
        assert score.ci_method == "rank-set"
        assert score.ci is not None
        assert score.ci[0] <= float(score.value or 0) <= score.ci[1]
        if method == "win-rate":
            assert score.ci == pytest.approx((low, high))
    if method == "mean-rank":
        assert found.scores["a"].ci == (2, 2)
    assert {*found.ranks} == {*models}


def test_the_better_model_on_all_columns_ranks_first() -> None:
    values = np.array([[0.9, 0.6, 0.6]])
    noise = 0.01 * np.random.default_rng(5).normal(size=(1000, 1, 3))
    columns = Columns(("a", "b", "c"), ("x",), values, (True,), values + noise, [99])
    found = rate(columns, "win-rate")
    assert [score.ci for score in found.scores.values()] == [(1, 1), *[(0, 0.5)] * 2]
    assert found.ranks == {"a": (1, 1), "b": (2, 3), "c": (2, 3)}


def plain_ranges(values: Mapping[str, float], draws: Mapping[str, Any]) -> Any:
    """Compute rank ranges by loops over pairs, as the paper writes them."""
    pairs = [(a, b) for a in values for b in values if a != b]
    moved, statistics = {}, {}
    for a, b in pairs:
        difference = draws[a] - draws[b]
        error = np.std(difference, ddof=1)
        moved[a, b] = (difference - (values[a] - values[b])) / error
        statistics[a, b] = (values[a] - values[b]) / error
    shown: set[tuple[str, str]] = set()
    while True:
        left = [pair for pair in pairs if pair not in shown]
        critical = np.quantile(np.max([moved[pair] for pair in left], axis=0), 0.95)
        critical *= 1 + 1 / np.sqrt(1000)  # errors are those of 1 000 replicates
        new = {pair for pair in left if statistics[pair] > critical}
        if not new:
            break
        shown |= new
    winners, losers = zip(*shown, strict=True)
    return {m: (1 + losers.count(m), len(values) - winners.count(m)) for m in values}


@pytest.mark.parametrize("higher_is_better", [True, False])
def test_rank_ranges_are_those_of_plain_loops(higher_is_better: bool) -> None:
    random = np.random.default_rng(2)
    sign = 1 if higher_is_better else -1
    truth = [0.0, 0.1, 1.0, 1.5, 4.0]
    shared = random.normal(size=1000)
    values = {f"m{place}": sign * value for place, value in enumerate(truth)}
    draws = {
        model: value + shared + 0.3 * random.normal(size=1000)
        for model, value in values.items()
    }
    found, reason = rank_ranges(values, draws, 0.95, higher_is_better)
    up = {model: sign * value for model, value in values.items()}
    expected = plain_ranges(up, {model: sign * draws[model] for model in draws})
    assert reason is None
    assert found == expected
    assert found["m4"] == (1, 1)
    assert found["m0"].best < found["m0"].worst
    # without what the models share, less is shown
    alone = {m: v + 1.1 * random.normal(size=1000) for m, v in values.items()}
    wider, _ = rank_ranges(values, alone, 0.95, higher_is_better)
    assert wider["m2"].worst - wider["m2"].best > found["m2"].worst - found["m2"].best


def test_equal_models_are_not_told_apart() -> None:
    drawn = np.random.default_rng(3).normal(size=1000)
    values = {"a": 0.0, "b": 0.0, "c": 5.0}
    found, _ = rank_ranges(values, {"a": drawn, "b": drawn, "c": drawn + 5.0})
    assert found == {"a": (1, 3), "b": (1, 3), "c": (1, 3)}


def test_differences_without_variation_need_many_units() -> None:
    values, draws = {"a": 1.0, "b": 0.0}, {"a": np.ones(1000), "b": np.zeros(1000)}
    for units, first in ((60, (1, 1)), (6, (1, 2))):
        found, _ = rank_ranges(values, draws, degrees=units - 1)
        assert found["a"] == first


@pytest.mark.parametrize("n", [15, 50])
def test_ranges_hold_the_truth_for_few_examples(n: int) -> None:
    random, held = np.random.default_rng(n), 0
    for _ in range(100):
        right = random.random((n, 12)) < 0.7
        weights = random.poisson(1, (1000, n))
        draws = weights @ right / weights.sum(axis=1, keepdims=True)
        values: Any = dict(enumerate(right.mean(axis=0).tolist()))
        columns: Any = dict(enumerate(draws.T))
        ranges: Any = rank_ranges(values, columns, degrees=n - 1)[0]
        held += {*ranges.values()} == {(1, 12)}
    assert held >= 92


def test_ranges_need_two_models_and_replicates() -> None:
    assert rank_ranges({"a": 1.0}, {"a": np.ones(9)})[1]
    lacking = {"a": np.full(1000, NAN), "b": np.ones(1000)}
    assert rank_ranges({"a": 1.0, "b": 2.0}, lacking) == (
        {},
        "scores are undefined in most bootstrap replicates",
    )
