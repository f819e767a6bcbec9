"""Metrics that are linear functions of another one's score."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import evalkit
from evalkit import MetricContext, MetricError, PluginContractError
from evalkit.catalog import Registry, Resolver


class Share(evalkit.Metric):
    bounds = (0.0, 1.0)
    interval = "wilson"
    per_example = "right"

    def statistics(self, batch: pl.DataFrame) -> pl.DataFrame:
        right = (pl.col("prediction") == pl.col("target")).cast(pl.Float64)
        return batch.select(right=right, n=pl.lit(1.0)).with_row_index("row")

    def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
        return sums.select("group", value=pl.col("right") / pl.col("n"))


SHARE = Resolver(Registry()).metric(Share)


class Half(evalkit.Metric):
    """Twice the share beyond a half, with a column of its own."""

    bounds = (0.0, 1.0)
    interval = "bootstrap"

    def rescales(self) -> Any:
        return SHARE

    def statistics(self, batch: pl.DataFrame, context: MetricContext) -> pl.DataFrame:
        found: pl.DataFrame = SHARE.statistics(batch, context)
        return found.with_columns(scaling_half=pl.lit(0.5))

    def scaling(self, sums: pl.DataFrame) -> pl.DataFrame:
        zero = pl.col("scaling_half") / pl.col("n")
        return sums.select("group", zero=zero, one=pl.lit(1.0))

    def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
        value = 2 * (pl.col("right") / pl.col("n") - 0.5)
        return sums.select("group", value=value.clip(0.0, 1.0))


def score(metric: Any, right: int, n: int) -> evalkit.Score:
    said = ["a"] * right + ["b"] * (n - right)
    return evalkit.score(metric, said, ["a"] * n).scores[0]


@pytest.mark.parametrize(("right", "n"), [(40, 50), (50, 50), (26, 50), (2, 3)])
def test_the_ends_are_those_of_the_other_metric(right: int, n: int) -> None:
    share, half = score(Share, right, n), score(Half, right, n)
    assert share.ci is not None
    assert half.ci is not None
    assert list(half.ci) == pytest.approx([max(0.0, 2 * e - 1) for e in share.ci])
    assert share.se is not None
    assert half.se == pytest.approx(2 * share.se)
    assert half.ci_method == "rescaled"


def test_a_score_beyond_its_bound_has_an_interval_that_holds_it() -> None:
    half = score(Half, 24, 50)
    assert half.value == 0.0
    assert half.ci is not None
    assert half.ci[0] == 0.0 < half.ci[1]
    assert half.flag == "its interval is cut off at 0"
    assert score(Half, 45, 50).flag is None


def test_one_example_has_the_reason_of_the_other_metric() -> None:
    assert score(Half, 1, 1).reason == score(Share, 1, 1).reason


def test_another_score_and_an_undefined_scale_have_no_interval() -> None:
    class Twice(Half):
        def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
            main = super().finalize(sums)
            named = main.with_columns(score=pl.lit("again"))
            return pl.concat([main.with_columns(score=pl.lit("")), named])

    class Nowhere(Half):
        def scaling(self, sums: pl.DataFrame) -> pl.DataFrame:
            nothing = pl.lit(None, pl.Float64)
            return sums.select("group", zero=nothing, one=nothing)

    result = evalkit.score(Twice, ["a", "b", "a"], ["a"] * 3)
    assert result["twice"].ci is not None
    for found in (result["twice#again"], score(Nowhere, 2, 3)):
        assert (found.ci, found.reason) == (None, "there is no interval to rescale")


def test_the_hooks_stand_together() -> None:
    class Alone(Share):
        def rescales(self) -> Any:
            return SHARE

    class WithoutStatistics(evalkit.Metric):
        def score_example(self, prediction: Any, target: Any) -> float:
            return 1.0

        def rescales(self) -> Any:
            return SHARE

        def scaling(self, sums: pl.DataFrame) -> pl.DataFrame:
            return sums

    for metric in (Alone, WithoutStatistics):
        with pytest.raises(PluginContractError, match="rescales and scaling stand"):
            score(metric, 1, 2)


def test_what_they_return_is_checked() -> None:
    class OfAName(Half):
        def rescales(self) -> Any:
            return "share"

    class WithoutOne(Half):
        def scaling(self, sums: pl.DataFrame) -> pl.DataFrame:
            return sums.select("group", zero=pl.lit(0.0))

    with pytest.raises(MetricError, match="rescales must give a metric"):
        score(OfAName, 1, 2)
    with pytest.raises(MetricError, match="scaling must return a polars DataFrame"):
        score(WithoutOne, 1, 2)
