"""Sample sizes and detectable differences, against statsmodels and scipy."""

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.power import TTestPower

from evalkit_analysis_compare.power import (
    Goal,
    detectable_difference,
    difference_found,
    error_of_equal_models,
    units_needed,
)


@pytest.mark.parametrize("power", [0.8, 0.95])
@pytest.mark.parametrize("level", [0.05, 0.005])
@pytest.mark.parametrize("effect", [1.0, 0.5, 0.2, 0.05])
def test_a_paired_t_test_needs_as_many_units_in_statsmodels(
    effect: float, level: float, power: float
) -> None:
    found = units_needed(Goal(effect * 3.0, level, power), 9.0)
    wanted = TTestPower().solve_power(effect, alpha=level, power=power)
    assert found == pytest.approx(wanted, abs=1.5, rel=0.002)


def test_fewer_units_than_a_test_of_signs_needs_are_never_enough() -> None:
    goal = Goal(1e12, 0.05, 0.8)
    assert units_needed(goal, 1.0) == 6
    assert stats.binomtest(0, 6).pvalue < 0.05 < stats.binomtest(0, 5).pvalue
    assert difference_found(goal, 1.0, 5) is None
    assert difference_found(goal, 1.0, 6) is not None


def test_a_detectable_mean_is_found_in_four_of_five() -> None:
    for units, level in ((8, 0.05), (30, 0.05 / 20), (500, 0.05)):
        found = detectable_difference(1.0, level, units - 1)
        critical = stats.t.ppf(1 - level / 2, units - 1)
        power = stats.nct.sf(critical, units - 1, found)
        assert power == pytest.approx(0.8, abs=0.03)


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
