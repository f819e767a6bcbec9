import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from evalkit.statistics.student_t import normal_quantile, t_quantile

CONFIDENCES = (0.001, 0.05, 0.5, 0.68, 0.8, 0.9, 0.95, 0.99, 0.999, 0.9999, 0.999999)


def reference(confidence: float, degrees: int) -> float:
    return float(stats.t.isf((1 - confidence) / 2, degrees))


@pytest.mark.parametrize("confidence", CONFIDENCES)
def test_t_quantile_equals_scipy(confidence: float) -> None:
    large = (50, 99, 100, 291, 500, 998, 999, 1000, 1001, 5000, 10**5, 10**9)
    for degrees in (*range(1, 31), *large):
        found = t_quantile(confidence, degrees)
        assert found == pytest.approx(reference(confidence, degrees), rel=1e-9)


@given(st.floats(0.01, 0.99999), st.integers(1, 10**7))
def test_t_quantile_equals_scipy_anywhere(confidence: float, degrees: int) -> None:
    found = t_quantile(confidence, degrees)
    assert found == pytest.approx(reference(confidence, degrees), rel=1e-9)


@given(st.floats(0.01, 0.99999), st.floats(1, 2_000))
def test_t_quantile_equals_scipy_for_degrees_that_are_not_whole(
    confidence: float, degrees: float
) -> None:
    expected = float(stats.t.isf((1 - confidence) / 2, degrees))
    assert t_quantile(confidence, degrees) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("confidence", CONFIDENCES)
def test_normal_quantile_equals_scipy(confidence: float) -> None:
    expected = float(stats.norm.isf((1 - confidence) / 2))
    assert normal_quantile(confidence) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("degrees", [1, 999, 1000])
@pytest.mark.parametrize("confidence", [1e-20, 1e-12, 1 - 1e-12])
def test_extreme_confidences_are_finite_and_in_order(
    confidence: float, degrees: int
) -> None:
    found = t_quantile(confidence, degrees)
    less, more = t_quantile(0.01, degrees), t_quantile(0.999, degrees)
    assert 0 <= found < less if confidence < 0.5 else more < found < 1e13
