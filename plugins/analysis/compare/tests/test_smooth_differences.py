"""Differences of ratios and of AUROC, against derivations one by one."""

import math

import numpy as np
import polars as pl
import pytest
from scipy import stats

from evalkit import Metric
from evalkit_analysis_compare import compare
from evalkit_analysis_compare.smooth_differences import SmoothDifference, delong

from .comparison_runs import make_run


def test_delong_equals_its_sums_over_pairs() -> None:
    """DeLong, DeLong and Clarke-Pearson (1988), equations 3 to 8, by loops."""
    random = np.random.default_rng(1)
    positives = np.round(random.normal(1, 1, (2, 23)), 1)
    negatives = np.round(random.normal(0, 1, (2, 31)), 1)

    def kernel(x: float, y: float) -> float:
        return 1.0 if x > y else 0.5 if x == y else 0.0

    pairs = np.array(
        [
            [[kernel(x, y) for y in others] for x in own]
            for own, others in zip(positives, negatives, strict=True)
        ]
    )
    areas = pairs.mean(axis=(1, 2))
    covariance = np.cov(pairs.mean(axis=2)) / 23 + np.cov(pairs.mean(axis=1)) / 31
    error = math.sqrt(covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1])
    found = delong((positives[0], positives[1]), (negatives[0], negatives[1]))
    assert isinstance(found, SmoothDifference)
    assert found.error == pytest.approx(error, rel=1e-12)
    interval, value = found.intervals(0.95), areas[0] - areas[1]
    half = stats.norm.isf(0.025) * error
    assert (interval.low, interval.high) == pytest.approx((value - half, value + half))
    assert not isinstance(found.tested, str)
    p_value = 2 * stats.norm.sf(abs(value) / error)
    assert found.tested.p_value == pytest.approx(p_value)
    same = delong((positives[0], positives[0]), (negatives[0], negatives[0]))
    assert same == "no example is ranked in another place"


class Rate(Metric):
    """Errors over lengths: a ratio of sums."""

    unit = "%"
    scale = 100.0
    interval = "ratio"
    higher_is_better = False

    def statistics(self, batch: pl.DataFrame) -> pl.DataFrame:
        texts = batch.select(
            errors=pl.col("prediction").str.count_matches("x").cast(pl.Float64),
            length=pl.col("target").str.len_chars().cast(pl.Float64),
        )
        return texts.with_row_index("row")

    def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
        return sums.select("group", value=pl.col("errors") / pl.col("length"))


@pytest.mark.parametrize("is_clustered", [False, True])
def test_ratios_are_compared_by_their_logarithms(is_clustered: bool) -> None:
    random = np.random.default_rng(2)
    lengths = random.integers(4, 30, 60)
    errors = [random.binomial(lengths, rate) for rate in (0.4, 0.3)]
    clusters = np.arange(60) // 2 if is_clustered else None
    runs = [
        make_run(
            name,
            answers=["y" * n for n in lengths],
            preds=["x" * n for n in wrong],
            whole={"rate": float(wrong.sum() / lengths.sum())},
            clusters=None if clusters is None else clusters.tolist(),
            higher_is_better=False,
        )
        for name, wrong in zip("ab", errors, strict=True)
    ]
    (row,) = compare(*runs, metrics=[Rate]).whole
    values = [wrong.sum() / lengths.sum() for wrong in errors]
    one, other = (
        (wrong - value * lengths) / lengths.sum() / value
        for wrong, value in zip(errors, values, strict=True)
    )
    influences = one - other
    if clusters is not None:
        influences = np.bincount(clusters, influences)
    n = len(influences)
    error = math.sqrt(n / (n - 1) * (influences**2).sum())
    ratio = math.log(values[0] / values[1])
    half = stats.t.isf(0.025, n - 1) * error
    middle = math.sqrt(values[0] * values[1])
    bounds = [2 * middle * math.sinh((ratio + end) / 2) for end in (-half, half)]
    assert (row.ci_low, row.ci_high) == pytest.approx(tuple(bounds), rel=1e-6)
    p_value = 2 * stats.t.sf(abs(ratio) / error, n - 1)
    assert row.p_value == pytest.approx(p_value, rel=1e-5)
    suffix = "-clustered" if is_clustered else ""
    assert (row.ci_method, row.p_method) == (f"delta-log{suffix}",) * 2
    (turned,) = compare(*runs[::-1], metrics=[Rate]).whole
    assert turned.p_value == pytest.approx(row.p_value, rel=1e-9)
    assert (turned.ci_low, turned.ci_high) == pytest.approx(
        (-(row.ci_high or 0), -(row.ci_low or 0)), rel=1e-9
    )
