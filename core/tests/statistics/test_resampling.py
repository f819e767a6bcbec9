from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from evalkit.statistics.resampling import exact_weights, poisson_weights, unit_keys

MASK = 2**64 - 1


def names(count: int) -> list[str]:
    return [f"example {number}" for number in range(count)]


def mixed(value: int) -> int:
    """SplitMix64's finaliser in whole numbers of any size."""
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & MASK
    return value ^ (value >> 31)


def step(number: int) -> int:
    return ((number + 1) * 0x9E3779B97F4A7C15) & MASK


def test_the_numbers_of_a_few_keys_are_fixed() -> None:
    """They must never change, or old runs could not be verified."""
    keys = unit_keys(["1", "2", "é"], 0)
    assert keys.tolist() == KEYS
    assert poisson_weights(keys, 0, 12).tolist() == POISSON
    assert exact_weights(keys, 6).tolist() == EXACT


KEYS = [10916990490703665536, 17643206230929514394, 15217149402070620094]
POISSON = [
    [0, 3, 2, 0, 0, 3, 1, 1, 2, 0, 0, 1],
    [1, 2, 0, 3, 0, 0, 0, 4, 1, 3, 1, 4],
    [3, 0, 0, 1, 1, 1, 0, 2, 2, 0, 0, 2],
]
EXACT = [[0, 0, 1, 0, 3, 2], [1, 2, 1, 2, 0, 1], [2, 1, 1, 1, 0, 0]]


def test_poisson_draws_are_those_of_a_plain_derivation() -> None:
    keys = unit_keys(names(7), 3)
    shares = np.cumsum([24107, 24113, 12055, 4017, 1004, 201, 33, 5, 1])
    assert shares[-1] == 2**16
    weights = poisson_weights(keys, 0, 22)
    for unit, key in enumerate(keys.tolist()):
        for replicate in range(22):
            number = mixed((key + step(replicate // 4)) & MASK)
            lane = (number >> (16 * (replicate % 4))) & 0xFFFF
            expected = int(np.searchsorted(shares, lane, side="right"))
            assert weights[unit, replicate] == expected


def test_poisson_counts_are_those_of_poisson() -> None:
    counts = np.array([24107, 24113, 12055, 4017, 1004, 201, 33, 5, 1])
    expected = stats.poisson(1).pmf(np.arange(9)) * 2**16
    # the tail beyond 8 is put where mean and variance stay exactly 1
    assert np.abs(counts - expected).max() < 5
    assert (counts * np.arange(9)).sum() == 2**16
    assert (counts * np.arange(9) ** 2).sum() == 2**17


def test_weights_have_mean_and_variance_1_and_are_independent() -> None:
    units, replicates = 400, 1_000
    weights = poisson_weights(unit_keys(names(units), 1), 0, replicates)
    assert weights.shape == (units, replicates)
    assert weights.dtype == np.uint8
    drawn = weights.size
    assert weights.mean() == pytest.approx(1, abs=4 / drawn**0.5)
    # the variance of a squared deviation of Poisson(1) is 3
    assert weights.var() == pytest.approx(1, abs=4 * (3 / drawn) ** 0.5)
    seen = np.bincount(weights.ravel(), minlength=6)
    expected = stats.poisson(1).pmf(np.arange(5)) * drawn
    tested = stats.chisquare(
        [*seen[:5], seen[5:].sum()], [*expected, drawn - expected.sum()]
    )
    assert tested.pvalue > 1e-4
    for between in (np.corrcoef(weights), np.corrcoef(weights.T)):
        off = between[np.triu_indices(len(between), 1)]
        size = weights.size / len(between)
        assert off.mean() == pytest.approx(0, abs=5 / (len(off) * size) ** 0.5)
        assert off.std() == pytest.approx(size**-0.5, rel=0.03)
        assert np.abs(off).max() < 6.5 / size**0.5


@settings(max_examples=40)
@given(first=st.integers(0, 23), count=st.integers(0, 40), seed=st.integers(-5, 10**12))
def test_a_slice_of_replicates_equals_that_of_the_whole(
    first: int, count: int, seed: int
) -> None:
    keys = unit_keys(names(5), seed)
    whole = poisson_weights(keys, 0, first + count)
    part = poisson_weights(keys, first, count)
    assert part.shape == (5, count)
    assert (part == whole[:, first:]).all()


def test_weights_of_a_unit_depend_on_it_alone() -> None:
    keys = unit_keys(names(50), 4)
    weights = poisson_weights(keys, 3, 30)
    order = np.random.default_rng(0).permutation(50)[:20]
    assert (poisson_weights(keys[order], 3, 30) == weights[order]).all()
    assert poisson_weights(keys[:0], 3, 30).shape == (0, 30)
    other = poisson_weights(unit_keys(names(50), 5), 3, 30)
    assert (other != weights).mean() > 0.5


def test_exact_weights_are_multinomial() -> None:
    units, replicates = 5, 40_000
    weights = exact_weights(unit_keys(names(units), 0), replicates)
    assert weights.shape == (units, replicates)
    assert (weights.sum(axis=0) == units).all()
    seen = Counter(tuple(column) for column in weights.T.tolist())
    distribution = stats.multinomial(units, [1 / units] * units)
    cells = list(seen)
    expected = distribution.pmf(cells) * replicates
    assert len(cells) == 126  # all ways to draw 5 out of 5
    assert (expected > 5).all()
    tested = stats.chisquare([seen[cell] for cell in cells], expected)
    assert tested.pvalue > 1e-4


def test_exact_weights_are_those_of_a_plain_derivation() -> None:
    keys = unit_keys(names(4), 9)
    together = 0
    for key in sorted(keys.tolist()):
        together = mixed((together + key) & MASK)
    weights = np.zeros((4, 10), dtype=int)
    order = np.argsort(keys)
    for draw in range(40):
        weights[order[mixed((together + step(draw)) & MASK) % 4], draw // 4] += 1
    assert (exact_weights(keys, 10) == weights).all()
