from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from evalkit_analysis_compare.binomial_tests import mcnemar


def reference(b: int, c: int) -> tuple[float, float]:
    fewer, trials = min(b, c), b + c
    if not trials:
        return 1.0, 1.0
    exact = stats.binomtest(fewer, trials).pvalue
    at, below = stats.binom.pmf(fewer, trials, 0.5), stats.binom.cdf(fewer, trials, 0.5)
    return exact, min(1.0, 2 * below - at)


@pytest.mark.parametrize(
    ("b", "c"),
    [
        *((0, 0), (1, 0), (0, 1), (5, 5), (12, 4), (306, 79), (209, 152), (76, 31)),
        *((500, 500), (500, 501), (450, 551), (1000, 0), (0, 1001), (3, 1010)),
        *((1040, 15), (1040, 16), (900, 600), (50_000, 49_000), (499_000, 501_000)),
    ],
)
def test_p_values_are_scipys(b: int, c: int) -> None:
    found = mcnemar(b, c)
    assert found == pytest.approx(reference(b, c), rel=1e-10, abs=0)
    assert mcnemar(c, b) == found


@given(st.integers(0, 3_000), st.integers(0, 3_000))
def test_any_counts(b: int, c: int) -> None:
    exact, mid = mcnemar(b, c)
    assert (exact, mid) == pytest.approx(reference(b, c), rel=1e-10, abs=1e-290)
    assert 0 <= mid <= exact <= 1


def test_known_values() -> None:
    assert f"{mcnemar(306, 79).exact:.2e}" == "1.24e-32"
    assert mcnemar(12, 4) == pytest.approx((0.0768127, 0.0490417), abs=1e-6)
    assert mcnemar(0, 2_000).exact == 0.0  # below what a float can hold


def test_more_disagreement_of_one_kind_is_more_evidence() -> None:
    for trials in (20, 1_000, 1_001, 20_000):
        p_values = [mcnemar(k, trials - k).exact for k in range(trials // 2 + 1)]
        assert p_values == sorted(p_values)
