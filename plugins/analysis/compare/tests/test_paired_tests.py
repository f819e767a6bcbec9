"""Tests of paired differences, against scipy, statsmodels and plain derivations."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from row_intervals import mean_interval
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar as exact_mcnemar

from evalkit_analysis_compare.paired_tests import compare_mean, flip_test, mcnemar


@given(st.integers(0, 60), st.integers(0, 60))
def test_mcnemars_mid_p_is_the_exact_one_less_half_of_what_was_seen(
    b: int, c: int
) -> None:
    found = mcnemar(b, c)
    exact = exact_mcnemar([[0, b], [c, 0]], exact=True).pvalue
    seen = stats.binom.pmf(min(b, c), b + c, 0.5)
    expected = 1.0 if b == c else exact - seen
    assert found.p_value == pytest.approx(expected, rel=1e-9, abs=1e-15)
    assert found == mcnemar(c, b)
    assert found.least <= found.p_value + 1e-15


def test_the_published_mid_p_of_fagerland_and_others() -> None:
    """Fagerland, Lydersen and Laake (2013), airway hyper-responsiveness: b 1, c 7."""
    assert mcnemar(1, 7).p_value == pytest.approx(0.0391, abs=5e-5)


def test_real_scores_have_the_paired_t_test() -> None:
    random = np.random.default_rng(1)
    differences = random.normal(0.2, 1, 50)
    found = compare_mean(differences, None, binary=False)
    reference = stats.ttest_1samp(differences, 0)
    assert found.tested.p_value == pytest.approx(float(reference.pvalue), rel=1e-9)
    assert found.tested.method == "t"
    interval = found.intervals(0.9)
    expected = reference.confidence_interval(0.9)
    assert (interval.low, interval.high) == pytest.approx(tuple(expected), rel=1e-9)


@pytest.mark.parametrize("binary", [False, True])
def test_clusters_have_the_t_test_of_cr2(binary: bool) -> None:
    random = np.random.default_rng(2)
    clusters = random.integers(0, 12, 80)
    differences = random.choice([-1.0, 0.0, 1.0], 80, p=[0.2, 0.4, 0.4])
    found = compare_mean(differences, clusters, binary=binary)
    expected = mean_interval(differences, clusters, 0.95)
    assert found.intervals(0.95)[:3] == pytest.approx(expected[:3])
    t = differences.mean() / (found.error or math.nan)
    assert found.tested.p_value == pytest.approx(2 * stats.t.sf(abs(t), found.degrees))
    assert found.tested.method == "t-clustered"
    # the test and the interval agree: p is the level whose interval ends at 0
    limit = found.intervals(1 - found.tested.p_value)
    assert min(abs(limit.low or 1), abs(limit.high or 1)) == pytest.approx(0, abs=1e-7)


@given(st.lists(st.integers(-8, 8), min_size=2, max_size=11).filter(any))
@settings(max_examples=40)
def test_few_signs_are_all_flipped(values: list[int]) -> None:
    differences = np.array(values) / 8
    found = flip_test(differences)
    signs = itertools.product((1, -1), repeat=len(values))
    sums = np.array([abs(np.dot(sign, differences)) for sign in signs])
    expected = float((sums >= abs(differences.sum()) - 1e-12).mean())
    assert found.method == "sign-flips-exact"
    assert found.p_value == pytest.approx(expected, abs=1e-12)


def test_more_signs_are_flipped_at_random_and_alike_for_both_orders() -> None:
    random = np.random.default_rng(3)
    differences = random.normal(0.4, 1, 25)
    found = compare_mean(differences, None, binary=False)
    assert found.tested.method == "sign-flips"
    assert found.tested == compare_mean(-differences, None, binary=False).tested
    assert found.tested == flip_test(random.permutation(differences))
    reference = stats.permutation_test(
        (differences,),
        lambda x, axis: x.sum(axis=axis),
        permutation_type="samples",
        n_resamples=20_000,
        rng=np.random.default_rng(1),
    )
    assert found.tested.p_value == pytest.approx(float(reference.pvalue), abs=0.015)


@pytest.mark.slow
def test_graded_scores_are_told_apart_as_often_as_by_the_paired_t_test() -> None:
    random = np.random.default_rng(4)
    found = reference = 0
    for _ in range(400):
        differences = np.clip(random.normal(0.04, 0.1, 50), -1, 1)
        tested = compare_mean(differences, None, binary=False).tested
        found += tested.p_value < 0.05
        reference += stats.ttest_1samp(differences, 0).pvalue < 0.05
    assert abs(found - reference) / 400 <= 0.02
    assert found / 400 > 0.6
