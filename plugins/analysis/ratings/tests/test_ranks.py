"""Ratings against published formulas, and rank ranges against plain loops."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from evalkit.errors import EvalkitError
from evalkit_analysis_ratings.ranks import (
    Columns,
    Dynascore,
    rank_ranges,
    rate,
)
from evalkit_analysis_ratings.records import Rating

NAN = float("nan")


def values_of(method: Any, values: Any, signs: Any) -> list[float]:
    """Rate models; nan for none."""
    directions = tuple({1: True, -1: False, 0: None}[sign] for sign in signs)
    array = np.array(values, dtype=float)
    models = tuple(map(str, range(array.shape[1])))
    columns = Columns(models, tuple("ab"[: len(array)]), array, directions, "none")
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


NAMES = ("accuracy", "examples/s", "memory", "fairness", "robustness")
SCORES = [[80, 90, 85], [10, 4, 6], [2, 8, 4], [90, 94, 92], [70, 80, 72]]
SETTINGS = Dynascore("accuracy", {"accuracy": 4}, {"memory": 32})


def dynascore(
    scores: Any, settings: Dynascore = SETTINGS, draws: Any = "not drawn"
) -> Rating:
    values = np.array(scores, dtype=float)
    models = tuple(f"m{place}" for place in range(values.shape[1]))
    directions = (True, True, False, True, True)
    columns = Columns(models, NAMES, values, directions, draws)
    return rate(columns, "dynascore", 0.95, settings)


def test_dynascore_is_dynabenchs() -> None:
    found = dynascore(SCORES).scores
    values = [found[f"m{place}"].value for place in range(3)]
    assert values == pytest.approx([85.208333, 90.208333, 87.333333])
    assert found["m0"].reason == "not drawn"
    tied = dynascore([[80, 80, 90], *SCORES[1:]]).scores
    values = [tied[f"m{place}"].value for place in range(3)]
    assert values == pytest.approx([122.8125, 121.25, 126.25])
    columns = np.array([[2.0, 2, 1], [8, 9, 7]])  # a perf whose lower values are better
    directions, settings = (False, True), Dynascore("accuracy")
    costs = Columns(("a", "b", "c"), NAMES[:2], columns, directions, "not drawn")
    assert None not in {
        s.value for s in rate(costs, "dynascore", 0.95, settings).scores.values()
    }


def test_weights_of_a_dynascore_are_normalized() -> None:
    tenfold = SETTINGS._replace(
        weights=dict(zip(NAMES, [40, 10, 10, 10, 10], strict=True))
    )
    assert dynascore(SCORES, tenfold).scores == dynascore(SCORES).scores
    constant = [*SCORES[:3], [7, 7, 7], SCORES[4]]
    unweighted = SETTINGS._replace(weights={"accuracy": 4, "fairness": 0})
    assert dynascore(constant, unweighted).scores["m0"].value is not None


@pytest.mark.parametrize(
    ("column", "scores", "reasons"),
    [
        (3, [7, 7, 7], ["fairness does not change with accuracy"] * 3),
        (0, [8, 8, 8], ["all models have the same accuracy"] * 3),
        (
            1,
            [10, NAN, NAN],
            ["fewer than two models have all scores", *["no score for examples/s"] * 2],
        ),
    ],
)
def test_degenerate_dynascore_is_null_with_a_reason(
    column: int, scores: list[float], reasons: list[str]
) -> None:
    changed = [scores if n == column else own for n, own in enumerate(SCORES)]
    found = dynascore(changed).scores
    assert [found[f"m{place}"].reason for place in range(3)] == reasons
    assert {each.value for each in found.values()} == {None}


def test_model_without_a_score_leaves_the_dynascores_of_others() -> None:
    scores = np.column_stack([SCORES, [95, NAN, 1, 99, 99]])
    found = dynascore(scores).scores
    assert found["m0"].value == pytest.approx(85.208333)
    assert found["m3"].reason == "no score for examples/s"


def test_wrong_settings_are_refused() -> None:
    no_weight = dict.fromkeys(NAMES, 0)
    for wrong in (Dynascore("x"), Dynascore(NAMES[0], no_weight), Dynascore("", {})):
        with pytest.raises(EvalkitError, match=r"^rank: "):
            dynascore(SCORES, wrong)


@pytest.mark.parametrize("method", ["win-rate", "mean-rank", "dynascore"])
def test_intervals_are_percentiles_of_recomputed_ratings(method: Any) -> None:
    random = np.random.default_rng(1)
    values = np.array(SCORES, dtype=float)
    draws = values + random.normal(size=(1000, *values.shape))
    draws[0, 0, 0] = NAN
    models, settings = ("m0", "m1", "m2"), SETTINGS if method == "dynascore" else None
    columns = Columns(models, NAMES, values, (True, True, False, True, True), draws)
    found = rate(columns, method, 0.9, settings)
    each = [
        rate(columns._replace(values=one, draws=""), method, 0.9, settings)
        for one in draws[1:]
    ]
    for model in models:
        recomputed = [one.scores[model].value for one in each]
        low, high = np.quantile(np.array(recomputed, dtype=float), [0.05, 0.95])
        score = found.scores[model]
        assert score.ci_method == "joint-bootstrap"
        assert (score.ci_low, score.ci_high) == pytest.approx(
            (min(low, score.value or 0), max(high, score.value or 0))
        )
    assert {*found.ranks} == {*models}


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


def test_an_order_that_all_replicates_share_is_certain() -> None:
    values = np.array([[0.9, 0.6, 0.6]])
    draws = values + 0.1 * np.random.default_rng(5).random((1000, 1, 1))
    found = rate(Columns(("a", "b", "c"), ("x",), values, (True,), draws), "win-rate")
    assert [score.ci for score in found.scores.values()] == [
        (1, 1),
        *[(0.25, 0.25)] * 2,
    ]
    assert found.scores["a"].flag == "nearly all replicates agree"
    assert found.ranks == {"a": (1, 1), "b": (2, 3), "c": (2, 3)}


def test_ranges_need_two_models_and_replicates() -> None:
    assert rank_ranges({"a": 1.0}, {"a": np.ones(9)})[1]
    lacking = {"a": np.full(1000, NAN), "b": np.ones(1000)}
    assert rank_ranges({"a": 1.0, "b": 2.0}, lacking) == (
        {},
        "scores are undefined in most bootstrap replicates",
    )
