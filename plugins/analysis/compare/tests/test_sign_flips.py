from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from evalkit.inference.resampling import unit_keys
from evalkit_analysis_compare import sign_flips
from evalkit_analysis_compare.randomised_tests import Significance
from evalkit_analysis_compare.sign_flips import FLIPS, flip_test, swaps


def keys_of(count: int, seed: int = 0) -> sign_flips.Keys:
    return unit_keys([f"unit {number}" for number in range(count)], seed)


def scipys(differences: list[float], resamples: float = np.inf) -> float:
    found = stats.permutation_test(
        (np.array(differences),),
        lambda x, axis: x.sum(axis=axis),
        permutation_type="samples",
        n_resamples=resamples,
        rng=np.random.default_rng(1),
    )
    return float(found.pvalue)


@given(st.lists(st.integers(-8, 8), min_size=2, max_size=11).filter(any))
@settings(max_examples=40)
def test_few_units_are_enumerated_as_scipy_does(values: list[int]) -> None:
    differences = [value / 8 for value in values]
    found = flip_test(np.array(differences), keys_of(len(values)))
    assert found.method == "sign-flips-exact"
    assert found.p_value == pytest.approx(scipys(differences), abs=1e-12)


def test_enumeration_ends_above_13_units_that_differ() -> None:
    differences = np.array([*np.linspace(0.1, 1, 13), *[0.0] * 50])
    assert flip_test(differences, keys_of(63)).method == "sign-flips-exact"
    more = np.array([*np.linspace(0.1, 1, 14), *[0.0] * 50])
    assert flip_test(more, keys_of(64)).method == "sign-flips"


def test_no_difference_is_no_evidence() -> None:
    found = flip_test(np.zeros(40), keys_of(40))
    assert found == Significance(1.0, "sign-flips-exact", least=1.0)


@pytest.mark.parametrize("shift", [0.0, 0.15, 0.3])
def test_random_flips_agree_with_scipys(shift: float) -> None:
    differences = np.random.default_rng(7).normal(shift, 1, 80)
    found = flip_test(differences, keys_of(80))
    assert found.method == "sign-flips"
    wanted = scipys(differences.tolist(), 20_000)
    error = 5 * np.sqrt(max(wanted, 1e-4) * 2 / FLIPS)
    assert found.p_value == pytest.approx(wanted, abs=error)


def test_the_least_p_value_counts_what_was_observed() -> None:
    found = flip_test(np.ones(60), keys_of(60))
    assert found.p_value == 1 / (1 + FLIPS)


@given(st.permutations(range(30)), st.integers(0, 3))
@settings(max_examples=20)
def test_order_of_units_does_not_matter(order: list[int], seed: int) -> None:
    differences = np.random.default_rng(3).normal(0.2, 1, 30)
    keys = keys_of(30, seed)
    assert flip_test(differences[order], keys[order]) == flip_test(differences, keys)


def test_units_without_a_difference_do_not_matter() -> None:
    differences = np.random.default_rng(3).normal(0.2, 1, 30)
    alone = flip_test(differences, keys_of(30))
    assert flip_test(np.append(differences, np.zeros(20)), keys_of(50)) == alone


def test_seed_changes_the_flips_a_little() -> None:
    differences = np.random.default_rng(3).normal(0.1, 1, 50)
    found = [flip_test(differences, keys_of(50, seed)).p_value for seed in range(4)]
    assert len(set(found)) > 1
    assert np.ptp(found) < 0.04


@given(st.integers(0, 200), st.integers(1, 200))
@settings(max_examples=30)
def test_a_toss_depends_on_unit_and_replicate_only(first: int, count: int) -> None:
    keys = keys_of(9)
    everything = swaps(keys, 0, 400)
    assert set(np.unique(everything)) == {0, 1}
    np.testing.assert_array_equal(
        swaps(keys[::-1], first, count), everything[::-1, first : first + count]
    )


def test_tosses_are_fair_and_independent() -> None:
    tosses = swaps(keys_of(200), 0, 10_000).astype(np.float64)
    assert tosses.mean() == pytest.approx(0.5, abs=0.002)
    between = np.corrcoef(tosses)[np.triu_indices(200, 1)]
    assert between.std() == pytest.approx(0.01, rel=0.05)
    along = [np.corrcoef(tosses[:, i], tosses[:, i + 1])[0, 1] for i in range(500)]
    assert np.std(along) == pytest.approx(200**-0.5, rel=0.15)


def test_sums_of_flips_have_the_variance_that_signs_give() -> None:
    differences = np.random.default_rng(3).normal(0, 1, 40)
    signs = 1 - 2.0 * swaps(keys_of(40), 0, FLIPS)
    sums = differences @ signs
    assert sums.mean() == pytest.approx(0, abs=0.3)
    assert sums.var() == pytest.approx((differences**2).sum(), rel=0.06)


def test_all_sums_are_those_of_all_signs() -> None:
    values = np.array([1.0, 2.0, 4.0])
    signs = itertools.product((1, -1), repeat=3)
    wanted = sorted(abs(float(np.dot(sign, values))) for sign in signs)
    assert sorted(sign_flips._all_sums(values)) == wanted


def test_very_many_units_have_the_normal_limit() -> None:
    random = np.random.default_rng(5)
    differences = random.choice([-0.5, 0.25, 0.5], 25_000, p=[0.33, 0.34, 0.33])
    found = flip_test(differences - 0.0825, keys_of(25_000))
    assert found.method == "sign-flips-normal"
    shifted = differences - 0.0825
    z = abs(shifted.sum()) / np.sqrt((shifted**2).sum())
    assert found.p_value == pytest.approx(2 * stats.norm.sf(z), rel=1e-9)


def test_one_unit_that_stands_out_is_flipped_even_among_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sign_flips, "_MOST_UNITS", 100)
    monkeypatch.setattr(sign_flips, "_MOST_CELLS", 200_000)
    differences = np.append(np.tile([0.01, -0.01], 75), 5.0)
    found = flip_test(differences, keys_of(151))
    assert found.method == "sign-flips"
    assert found.p_value > 0.4  # half of the tosses leave the great one where it is
    monkeypatch.undo()
    assert flip_test(differences, keys_of(151)) == found
