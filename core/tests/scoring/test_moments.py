"""Means, second moments and co-moments: merged, and how each example moves them."""

import numpy as np
import polars as pl
import pytest

import evalkit
from evalkit import Metric
from evalkit.scoring.evidence import Evidence

from ..engine_tables import make_evidence, make_groups, make_table


class Slope(Metric):
    """How steep the line is that fits answers by predictions."""

    interval = "delta"
    merges = {"one": "moments", "other": "moments"}

    def statistics(self, batch: pl.DataFrame) -> pl.DataFrame:
        return batch.select(
            other=pl.col("target").cast(pl.Float64),
            one=pl.col("prediction").cast(pl.Float64),
        ).with_row_index("row")

    def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
        return sums.select(
            "group", value=pl.col("one_other_comoment") / pl.col("one_m2")
        )


def data_of(n: int) -> tuple[list[float], list[float]]:
    random = np.random.default_rng(4)
    one = 1e6 + random.normal(size=n)
    return one.tolist(), (one * 1e-3 + random.normal(size=n) * 1e-3).tolist()


def evidence_of(n: int) -> Evidence:
    tags = [["t"] if i % 3 else [] for i in range(n)]
    return make_evidence(Slope, make_table(*data_of(n)), make_groups(tags))


def test_co_moments_are_those_of_centred_numbers() -> None:
    evidence, (one, other) = evidence_of(60), data_of(60)
    for group, members in ((0, range(60)), (1, [i for i in range(60) if i % 3])):
        [sums] = evidence.sums.filter(pl.col("group") == group).to_dicts()
        x, y = (np.array(part)[list(members)] for part in (one, other))
        wanted = ((x - x.mean()) * (y - y.mean())).sum()
        assert sums["one_other_comoment"] == pytest.approx(wanted, rel=1e-9)


def test_influences_are_those_of_the_jackknife() -> None:
    n = 400
    evidence, (one, other) = evidence_of(n), (np.array(part) for part in data_of(n))
    found = evidence.influences(0)
    assert found is not None
    x, y = one - one.mean(), other - other.mean()
    slope = (x @ y) / (x @ x)
    wanted = x * (y - slope * x) / (x @ x)
    assert np.sort(found.totals) == pytest.approx(np.sort(wanted), rel=1e-5, abs=1e-9)


def test_the_interval_is_that_of_robust_regression() -> None:
    one, other = (np.array(part) for part in data_of(200))
    found = evalkit.score(Slope, one.tolist(), other.tolist())["slope"]
    x, y = one - one.mean(), other - other.mean()
    residuals = y - (x @ y) / (x @ x) * x
    error = np.sqrt(((x * residuals) ** 2).sum()) / (x @ x)
    assert found.ci_method == "delta"
    assert found.ci is not None
    assert (found.ci.high - found.ci.low) / 2 == pytest.approx(1.972 * error, rel=0.01)


def test_bootstrap_and_gradients_agree() -> None:
    class Drawn(Slope):
        interval = "bootstrap"

    smooth = evalkit.score(Slope, *data_of(200))["slope"].ci
    drawn = evalkit.score(Drawn, *data_of(200))["drawn"].ci
    assert smooth is not None
    assert drawn is not None
    assert drawn.low == pytest.approx(smooth.low, rel=0.05)
    assert drawn.high == pytest.approx(smooth.high, rel=0.05)


def test_keys_and_sums_beside_moments_have_gradients() -> None:
    class ByKey(Slope):
        """The mean slope of two halves, and a sum beside it."""

        keys = ("half",)

        def statistics(self, batch: pl.DataFrame) -> pl.DataFrame:
            half = (pl.col("target") > 1000).cast(pl.String)
            return (
                super()
                .statistics(batch)
                .with_columns(half=batch.select(half).to_series(), examples=pl.lit(1.0))
            )

        def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
            slope = pl.col("one_other_comoment") / pl.col("one_m2")
            weight = pl.col("examples")
            return sums.group_by("group").agg(
                value=(slope * weight).sum() / weight.sum()
            )

    found = evalkit.score(ByKey, *data_of(300))["by-key"]
    assert found.ci_method == "delta"
    assert found.ci is not None
    assert found.ci.low < found.value < found.ci.high
