"""Tango's interval, against the likelihood that it is derived from."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, stats

from evalkit_analysis_compare.paired_shares import tango_interval, tango_score


def score_of_likelihood(b: int, c: int, n: int, difference: float) -> float:
    """Divide the likelihood's slope by its root information, q being most likely.

    b, c and the rest are multinomial with probabilities q + d, q and 1 - 2 q - d. The
    information about d is the (d, d) cell less what q takes away.
    """
    rest = n - b - c

    def against(q: float) -> float:
        chances = (q + difference, q, 1 - 2 * q - difference)
        counts = zip((b, c, rest), chances, strict=True)
        return -sum(k * math.log(p) for k, p in counts if k)

    ends = (max(0.0, -difference) + 1e-13, (1 - difference) / 2 - 1e-13)
    found = optimize.minimize_scalar(
        against, bounds=ends, method="bounded", options={"xatol": 1e-13}
    )
    q = float(found.x)
    p, r = q + difference, 1 - 2 * q - difference
    slope = b / p - rest / r
    by_d = n * (1 / p + 1 / r)
    by_both = n * (1 / p + 2 / r)
    by_q = n * (1 / p + 1 / q + 4 / r)
    return slope / math.sqrt(by_d - by_both**2 / by_q)


CASES = [(8, 7, 135), (3, 1, 50), (1, 4, 30), (20, 35, 100), (9, 2, 12), (60, 1, 400)]


@pytest.mark.parametrize(("b", "c", "n"), CASES)
@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.999])
def test_bounds_are_where_the_score_statistic_is_a_quantile(
    b: int, c: int, n: int, confidence: float
) -> None:
    found = tango_interval(b, c, n, confidence)
    quantile = stats.norm.ppf((1 + confidence) / 2)
    observed = (b - c) / n
    assert found.low is not None
    assert found.high is not None
    for bound, sign in ((found.low, 1), (found.high, -1)):
        assert score_of_likelihood(b, c, n, bound) == pytest.approx(
            sign * quantile, rel=1e-4
        )
        # the same bound by another search, in the statistic of the likelihood
        other = optimize.brentq(
            lambda d, sign=sign: score_of_likelihood(b, c, n, d) - sign * quantile,
            *sorted((observed, observed + 1.4 * (bound - observed)))
            if abs(observed + 1.4 * (bound - observed)) < 1
            else sorted((observed, -sign * (1 - 1e-6))),
        )
        assert bound == pytest.approx(other, abs=1e-5)


def test_a_difference_without_spread() -> None:
    assert tango_score(5, 0, 5, 1.0) == 0.0
    assert tango_score(0, 0, 5, 1.0) == -math.inf


@given(st.integers(0, 60), st.integers(0, 60), st.integers(0, 500))
def test_laws(b: int, c: int, agree: int) -> None:
    n = b + c + agree
    if n < 2:
        return
    found, turned = tango_interval(b, c, n, 0.95), tango_interval(c, b, n, 0.95)
    wider = tango_interval(b, c, n, 0.99)
    values = found.low, found.high, wider.low, wider.high
    low, high, lower, higher = (float(value or 0.0) for value in values)
    assert -1 <= lower <= low <= (b - c) / n <= high <= higher <= 1
    assert (turned.low, turned.high) == (-high, -low)
    assert high > low
    differences = np.repeat([1.0, -1.0, 0.0], [b, c, agree])
    error = np.std(differences, ddof=1) / math.sqrt(n)
    assert found.standard_error == pytest.approx(error, abs=1e-12)


def test_a_difference_is_covered() -> None:
    # exact: all outcomes of 60 pairs that rarely disagree, with their probabilities
    n, p, q = 60, 0.03, 0.001
    covered = 0.0
    normal = 0.0
    for b in range(20):
        for c in range(20):
            chance = stats.multinomial.pmf([b, c, n - b - c], n, [p, q, 1 - p - q])
            found = tango_interval(b, c, n, 0.95)
            assert found.low is not None
            assert found.high is not None
            covered += chance * (found.low <= p - q <= found.high)
            half = 1.96 * (found.standard_error or 0.0)
            normal += chance * (abs((b - c) / n - (p - q)) <= half)
    assert covered > 0.94
    assert normal < 0.85


def test_models_at_the_margin_are_seldom_called_equivalent() -> None:
    # exact: one model is right wherever the other is, and on 1 % more
    n, margin = 300, 0.01
    found = normal = 0.0
    for b in range(30):
        chance = stats.binom.pmf(b, n, margin)
        high = tango_interval(b, 0, n, 0.9).high or 1.0
        found += chance * (high < margin)
        error = tango_interval(b, 0, n, 0.9).standard_error or 0.0
        normal += chance * (0 < b / n + 1.645 * error < margin)
    assert found < 0.05
    # the interval before, which did not exist for b = 0 either
    assert normal > 0.14


@pytest.mark.parametrize("n", [50, 100, 200, 500, 2000])
def test_a_model_that_alone_errs_is_covered(n: int) -> None:
    # exact: only one of the two models is ever right where the other is not
    most = min(n, 60 + n // 8)
    counts = np.arange(most + 1)
    found = [tango_interval(int(count), 0, n, 0.95)[:2] for count in counts]
    low, high = np.array(found, dtype=np.float64).T
    edges = np.concatenate([low - 1e-9, low + 1e-9, high - 1e-9, high + 1e-9])
    shares = np.concatenate([np.geomspace(0.002, 0.1, 100), edges])
    shares = shares[(shares >= 0.002) & (shares <= 0.1)]
    chances = stats.binom.pmf(counts[:, None], n, shares)
    holds = (low[:, None] <= shares) & (shares <= high[:, None])
    # .927 at worst
    assert (chances * holds).sum(axis=0).min() > 0.926
