import numpy as np
import pytest
from scipy import stats

from evalkit.statistics.intervals import without_interval
from evalkit.statistics.resampling import corrected_bounds, percentile_interval


def test_percentile_interval_is_made_of_quantiles_and_standard_deviation() -> None:
    replicates = np.random.default_rng(0).normal(size=500)
    ordered = sorted(replicates)
    found = percentile_interval(replicates, 0.9, "bootstrap")
    # position 0.05 * 499 = 24.95, interpolated
    assert found.low == pytest.approx(0.05 * ordered[24] + 0.95 * ordered[25])
    assert found.high == pytest.approx(0.95 * ordered[474] + 0.05 * ordered[475])
    assert found.standard_error == pytest.approx(stats.tstd(replicates))
    assert found.method == "bootstrap"


def test_half_of_the_replicates_are_enough() -> None:
    """Most are undefined only where more than half are."""
    undefined = [np.nan] * 50
    found = percentile_interval(np.r_[np.arange(50.0), undefined], 0.9, "x")
    assert (found.low, found.high) == pytest.approx((2.45, 46.55))
    fewer = percentile_interval(np.r_[np.arange(49.0), undefined, np.nan], 0.9, "x")
    assert fewer == without_interval(
        "the score is undefined in most bootstrap replicates"
    )


def test_bounds_are_corrected_by_twice_the_median_bias() -> None:
    """The bias-corrected percentiles of Efron (1981), by scipy."""
    random = np.random.default_rng(4)
    replicates = np.round(random.normal(size=4_000), 2)
    for centre in (-0.5, 0.0, 0.7):
        below = (replicates < centre).mean() + (replicates == centre).mean() / 2
        shift = 2 * stats.norm.ppf(below)
        levels = stats.norm.cdf([shift - 1.959964, shift + 1.959964])
        found = corrected_bounds(replicates, centre, 0.95)
        # bounds stand between replicates that are .01 apart, or more in the tails
        assert found == pytest.approx(np.quantile(replicates, levels), abs=0.05)
        assert (found[1] > 2.1) == (centre > 0.1)


@pytest.mark.parametrize("centre", [-2.0, 2.0])
def test_corrected_bounds_are_finite_where_no_replicate_is_beyond_the_centre(
    centre: float,
) -> None:
    replicates = np.linspace(-1, 1, 1_000)
    low, high = corrected_bounds(replicates, centre, 0.95)
    assert -1 <= low <= high <= 1
    assert (low > 0) == (centre > 0)
