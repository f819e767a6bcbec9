from collections.abc import Callable
from typing import Any

import polars as pl
import pytest
from engine_runs import install, predictions, scores_of

import evalkit
from evalkit import Metric, Result

# metrics that fail ---------------------------------------------------------------


@pytest.fixture
def run(fake_distribution: Callable[..., Any]) -> Callable[..., Result]:
    install(fake_distribution, version="2.5")

    def evaluate(*metrics: str, **options: Any) -> Result:
        return evalkit.evaluate(
            "posts", predictions(), metrics=list(metrics), **options
        )

    return evaluate


def test_a_failure_in_one_group_only_fails_the_metric_alone(
    run: Callable[..., Result],
) -> None:
    class NotAlone(Metric):
        def statistics(self, batch: pl.DataFrame) -> pl.DataFrame:
            return pl.DataFrame({"row": range(batch.height), "n": 1.0})

        def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
            return sums.select("group", value=1 / (pl.col("n") - 24))

    result = evalkit.evaluate("posts", predictions(), metrics=["accuracy", NotAlone])
    tags = {s.tag: s for s in scores_of(result, "not-alone") if s.aggregate is None}
    of_24 = tags["functionality:a"]
    assert (of_24.n, of_24.value, of_24.reason) == (
        *(24, None),
        "metrics/not-alone (given as an object): it returned inf",
    )
    assert tags[None].value == 1 / 96
