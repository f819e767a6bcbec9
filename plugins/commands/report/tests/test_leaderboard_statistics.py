"""The numbers of a leaderboard, against others' code and by simulation."""

import math
from itertools import combinations, permutations

import numpy as np
import pytest
from scipy import optimize, stats

from evalkit_commands_report.leaderboard_ranks import (
    Estimate,
    error_of_mean,
    mean_of,
    rank_ranges,
    win_rates,
)

Z = stats.norm.ppf(0.975)


def test_symmetric_intervals_add_up_like_standard_errors() -> None:
    rng = np.random.default_rng(1)
    for count in (2, 3, 7):
        values, errors = rng.normal(size=count), rng.uniform(0.1, 2, count)
        found = mean_of(
            [
                Estimate(value, value - Z * error, value + Z * error)
                for value, error in zip(values, errors, strict=True)
            ]
        )
        error = np.sqrt(np.sum(errors**2)) / count
        assert error_of_mean(list(errors)) == pytest.approx(error)
        assert found.value == pytest.approx(values.mean())
        assert found.low == pytest.approx(values.mean() - Z * error)
        assert found.high == pytest.approx(values.mean() + Z * error)


def test_the_mean_of_one_is_itself_and_a_bound_beyond_the_value_adds_nothing() -> None:
    assert mean_of([Estimate(0.5, 0.25, 1.0)]) == Estimate(0.5, 0.25, 1.0)
    assert mean_of([Estimate(0.5, 0.5, 1.0), Estimate(0.5, 0.6, 0.5)]) == (
        *(0.5, 0.5, 0.75),
    )


def interval_of_share(hits: int, size: int) -> Estimate:
    """Return Wilson's interval, which also holds the mid-p one, as that of accuracy."""

    def too_low(share: float) -> float:
        tail = stats.binom.sf(hits, size, share)
        return float(tail + stats.binom.pmf(hits, size, share) / 2 - 0.025)

    def too_high(share: float) -> float:
        tail = stats.binom.cdf(hits, size, share)
        return float(tail - stats.binom.pmf(hits, size, share) / 2 - 0.025)

    low = 0.0 if hits == 0 else optimize.brentq(too_low, 1e-9, 1 - 1e-9)
    high = 1.0 if hits == size else optimize.brentq(too_high, 1e-9, 1 - 1e-9)
    wilson = stats.binomtest(hits, size).proportion_ci(method="wilson")
    return Estimate(hits / size, min(low, wilson.low), max(high, wilson.high))


@pytest.mark.parametrize(
    ("sizes", "truths", "plain"),
    [((20, 20, 20), (0.5, 0.7, 0.6), 0.93), ((20, 30, 40), (0.97, 0.95, 0.99), 0.88)],
)
def test_the_interval_of_a_mean_covers_what_it_says(
    sizes: tuple[int, ...], truths: tuple[float, ...], plain: float
) -> None:
    rng = np.random.default_rng(7)
    truth, sets = sum(truths) / len(truths), 2000
    known = [
        [interval_of_share(hits, size) for hits in range(size + 1)] for size in sizes
    ]
    hits = [rng.binomial(n, p, sets) for n, p in zip(sizes, truths, strict=True)]
    covered = by_errors = 0
    for draw in zip(*hits, strict=True):
        parts = [each[count] for each, count in zip(known, draw, strict=True)]
        found = mean_of(parts)
        covered += found.low <= truth <= found.high
        error = error_of_mean(
            [
                math.sqrt(part.value * (1 - part.value) / size)
                for part, size in zip(parts, sizes, strict=True)
            ]
        )
        by_errors += abs(found.value - truth) <= Z * error
    assert 0.94 <= covered / sets <= 0.99
    # standard errors alone say too little where shares are near 1
    assert by_errors / sets == pytest.approx(plain, abs=0.03)


@pytest.mark.parametrize("higher", [True, False])
def test_win_rates_are_ranks(higher: bool) -> None:
    rng = np.random.default_rng(2)
    for count in (2, 5, 9):
        values = rng.integers(0, 4, count).astype(float)
        ranks = stats.rankdata(values if higher else -values, method="average")
        expected = (ranks - 1) / (count - 1)
        scores = {f"m{number}": float(value) for number, value in enumerate(values)}
        assert list(win_rates(scores, higher).values()) == pytest.approx(list(expected))
    assert win_rates({"only": 1.0}, higher) == {}


def test_ranges_of_ranks_are_those_of_all_orders_that_are_left() -> None:
    rng = np.random.default_rng(3)
    models = list("abcde")
    for _ in range(20):
        values = rng.normal(size=5)
        shown = {
            (models[first], models[second])
            for first in range(5)
            for second in range(5)
            if values[first] - values[second] > 0.8
        }
        orders = [
            order
            for order in permutations(models)
            if all(order.index(first) < order.index(second) for first, second in shown)
        ]
        for model, found in rank_ranges(models, shown).items():
            places = [order.index(model) + 1 for order in orders]
            assert found == (min(places), max(places))


def test_without_comparisons_every_rank_is_possible() -> None:
    assert set(rank_ranges("abc", []).values()) == {(1, 3)}
    every = [*combinations("abc", 2), ("a", "b")]
    assert list(rank_ranges("abc", every).values()) == [(1, 1), (2, 2), (3, 3)]
