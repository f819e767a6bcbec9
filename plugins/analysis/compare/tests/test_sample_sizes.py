"""Planned numbers of examples give the power that was asked for."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from evalkit_analysis_compare.sample_sizes import (
    MOST_UNITS,
    Goal,
    detectable,
    pairs_for,
    units_for,
)


@pytest.mark.parametrize("power", [0.8, 0.95])
@pytest.mark.parametrize("level", [0.05, 0.005, 0.0005])
@pytest.mark.parametrize("effect", [1.0, 0.5, 0.2, 0.05])
def test_a_t_test_of_so_many_units_has_the_power(
    effect: float, level: float, power: float
) -> None:
    goal = Goal(effect * 3.0, level, power)
    n = units_for(goal, 9.0)

    def power_of(units: int) -> float:
        critical = stats.t.isf(level / 2, units - 1)
        noncentrality = effect * units**0.5
        return float(stats.nct.sf(critical, units - 1, noncentrality))

    slack = 0.02 if n < 30 else 0.005
    assert power - slack < power_of(n) < power + slack + effect / 10
    assert power_of(round(0.9 * n) - 1) < power


@pytest.mark.parametrize("power", [0.8, 0.95])
@pytest.mark.parametrize("level", [0.05, 0.005])
@pytest.mark.parametrize(
    ("difference", "disagreement"),
    [
        *[(0.02, 0.45), (0.02, 0.1), (0.02, 0.02), (0.05, 0.2)],
        *[(0.1, 0.45), (0.1, 0.11), (0.2, 0.2), (0.6, 1.0)],
    ],
)
def test_mcnemars_test_of_so_many_examples_has_the_power(
    difference: float, disagreement: float, level: float, power: float
) -> None:
    n = pairs_for(Goal(difference, level, power), disagreement)
    found = exact_power(n, difference, disagreement, level)
    assert power - 0.01 < found < power + (0.01 if n > 150 else 0.05)
    if n * disagreement < 150:  # then it is exactly the least number
        assert exact_power(n - 1, difference, disagreement, level) < power <= found


def exact_power(n: int, difference: float, disagreement: float, level: float) -> float:
    """Sum the power of the exact test over all numbers of unequal examples."""
    trials = np.arange(n + 1)
    weights = stats.binom.pmf(trials, n, disagreement)
    # the largest count of losses that is significant: 2 P(X <= c) < level
    largest = stats.binom.ppf(level / 2, trials, 0.5)
    too_many = 2 * stats.binom.cdf(largest, trials, 0.5) >= level
    largest = largest - too_many
    losing = (disagreement - difference) / 2 / disagreement
    found = stats.binom.cdf(largest, trials, losing)
    found += stats.binom.cdf(largest, trials, 1 - losing)
    return float((weights * found).sum())


def test_the_exact_power_is_that_of_a_simulation() -> None:
    rng = np.random.default_rng(3)
    n, difference, disagreement = 200, 0.1, 0.3
    better, worse = (disagreement + difference) / 2, (disagreement - difference) / 2
    drawn = rng.multinomial(n, [better, worse, 1 - disagreement], size=2000)
    p_values = 2 * stats.binom.cdf(
        drawn[:, :2].min(axis=1), drawn[:, :2].sum(axis=1), 0.5
    )
    found = float((p_values < 0.05).mean())
    assert found == pytest.approx(
        exact_power(n, difference, disagreement, 0.05), abs=0.03
    )


def test_a_smaller_difference_needs_more() -> None:
    sizes = [pairs_for(Goal(d, 0.05, 0.8), 0.3) for d in (0.001, 0.01, 0.1, 0.3)]
    assert sizes == sorted(sizes, reverse=True)
    assert units_for(Goal(1e-12, 0.05, 0.8), 1.0) == MOST_UNITS == 10**12
    assert units_for(Goal(1e12, 0.05, 0.8), 1.0) == 2


def test_what_can_be_detected_is_what_needs_so_many() -> None:
    def needed(difference: float) -> int:
        return pairs_for(Goal(difference, 0.05, 0.8), max(0.2, difference))

    found = detectable(needed, 500, 1.0)
    assert found is not None
    assert needed(found) <= 500 < needed(found * 0.999)
    assert detectable(needed, 3, 1.0) is None
