"""p-values of flipped signs by the saddle point, against all flips."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from evalkit_analysis_compare.sign_flips import flip_test
from evalkit_analysis_compare.sign_tails import flip_p_values

UNITS = 13
KEYS = np.arange(UNITS, dtype=np.uint64)
SCALES = {
    "equal": np.ones(UNITS),
    "geometric": 0.7 ** np.arange(UNITS),
    "one is large": np.array([12.0, *[1.0] * (UNITS - 1)]),
}


def exact(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.array([flip_test(row, KEYS).p_value for row in values])


@pytest.mark.parametrize("scale", SCALES)
def test_real_values_have_the_p_values_of_all_flips(scale: str) -> None:
    random = np.random.default_rng(1)
    shift = random.uniform(0, 1.5, (200, 1))
    values = SCALES[scale] * (random.normal(size=(200, UNITS)) + shift)
    wanted, found = exact(values), flip_p_values(values)
    for level in (0.05, 0.01, 0.002):
        assert ((found < level) != (wanted < level)).mean() < 0.025
    seen = (wanted > 0.01) & (wanted < 0.2)
    assert np.abs(np.log(found[seen] / wanted[seen])).mean() < 0.1


@pytest.mark.parametrize("chance", [0.05, 0.4])
def test_counts_have_the_p_values_of_all_flips(chance: float) -> None:
    random = np.random.default_rng(2)
    gains = random.binomial(6, chance, (200, UNITS))
    values = (gains - random.binomial(6, chance / 4, (200, UNITS))).astype(float)
    wanted, found = exact(values), flip_p_values(values, unit=1.0)
    for level in (0.05, 0.01, 0.002):
        assert ((found < level) != (wanted < level)).mean() < 0.025


def test_values_of_one_sign_have_the_least_p_value() -> None:
    values = np.zeros((3, UNITS))
    values[1, :6] = 1.0
    values[2] = np.arange(1, UNITS + 1)
    found = flip_p_values(values, unit=1.0)
    assert found.tolist() == [1.0, 2.0**-5, 2.0**-12]
