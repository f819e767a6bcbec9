"""What a comparison would detect, against scipy and exact enumeration."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from evalkit_analysis_compare.power import (
    detectable_difference,
    detectable_share_difference,
    error_of_equal_models,
    share_power,
)


def enumerated(difference: float, disagreement: float, n: int, level: float) -> float:
    total = 0.0
    better = (1 + difference / disagreement) / 2
    for trials in range(n + 1):
        wins = np.arange(trials + 1)
        p_values = np.minimum(
            1, 2 * stats.binom.cdf(np.minimum(wins, trials - wins), trials, 0.5)
        )
        found = (p_values < level) & (wins > trials / 2)
        chance = stats.binom.pmf(wins, trials, better)[found].sum()
        total += stats.binom.pmf(trials, n, disagreement) * chance
    return float(total)


@pytest.mark.parametrize("n", [8, 40, 150])
@pytest.mark.parametrize("level", [0.05, 0.05 / 12])
@pytest.mark.parametrize(
    ("difference", "disagreement"), [(0.05, 0.1), (0.2, 0.2), (0.3, 0.45)]
)
def test_power_is_that_of_all_outcomes(
    difference: float, disagreement: float, n: int, level: float
) -> None:
    found = share_power(difference, disagreement, n, level)
    wanted = enumerated(difference, disagreement, n, level)
    assert found == pytest.approx(wanted, abs=2e-4)


def test_power_of_many_disagreements_is_about_that_of_all_outcomes() -> None:
    found = share_power(0.06, 0.4, 4_400, 0.05)
    z = (0.06 * 4_400 - 1) / np.sqrt(4_400 * 0.4) - stats.norm.ppf(0.975)
    assert found == pytest.approx(stats.norm.cdf(z), abs=0.01)
    few = share_power(0.06, 0.3, 4_400, 0.05)
    assert few == pytest.approx(share_power(0.06, 0.3001, 4_400, 0.05), abs=0.005)


@pytest.mark.parametrize("disagreements", [0, 3, 30])
@pytest.mark.parametrize("level", [0.05, 0.001])
def test_a_detectable_share_is_found_in_four_of_five(
    disagreements: int, level: float
) -> None:
    found = detectable_share_difference(disagreements, 120, level)
    assert found is not None
    disagreement = max(found, disagreements / 120)
    assert enumerated(found, disagreement, 120, level) == pytest.approx(0.8, abs=0.003)


def test_too_few_examples_detect_nothing() -> None:
    assert detectable_share_difference(2, 5, 0.05) is None
    # six of six is the least that is significant: p = .031
    assert detectable_share_difference(2, 6, 0.05) == pytest.approx(
        0.8 ** (1 / 6), abs=1e-4
    )
    assert share_power(0.0, 0.0, 10, 0.05) == 0.0


def test_a_detectable_mean_is_found_in_four_of_five() -> None:
    for units, level in ((8, 0.05), (30, 0.05 / 20), (500, 0.05)):
        found = detectable_difference(1.0, level, units - 1)
        critical = stats.t.ppf(1 - level / 2, units - 1)
        power = stats.nct.sf(critical, units - 1, found)
        assert power == pytest.approx(0.8, abs=0.03)
    normal = stats.norm.ppf(0.975) + stats.norm.ppf(0.8)
    assert detectable_difference(2.0, 0.05) == pytest.approx(2 * normal)


@pytest.mark.parametrize(("first", "second"), [(1.0, 0.0), (0.98, 0.06), (0.8, 0.7)])
def test_the_error_of_equal_models_is_that_of_random_swaps(
    first: float, second: float
) -> None:
    """All right against all wrong: the observed error is 0, that of swaps 1/√n."""
    random = np.random.default_rng(4)
    n = 400
    values = (random.random(n) < first) * 1.0 - (random.random(n) < second)
    swapped = (values * random.choice([-1, 1], (4_000, n))).mean(axis=1)
    error = float(values.std() / np.sqrt(n))
    found = error_of_equal_models(error, float(values.mean()), n)
    assert found == pytest.approx(float(swapped.std()), rel=0.04)
    assert found == pytest.approx(float(np.sqrt((values**2).mean() / n)))
