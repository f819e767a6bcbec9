"""Metrics that score few examples, and keep all laws."""

from collections.abc import Mapping
from typing import Any

import polars as pl
import pytest

import evalkit
from evalkit import Metric, NotScored
from evalkit_testing import MetricLawError, check_metric

TRIED = {"max_examples": 5, "answer_kind": "one"}


class Long(Metric):
    """Scores only the examples whose answer is long, which are fewer than a half."""

    bounds = (0.0, 1.0)
    higher_is_better = True
    answer_kinds = ("one",)
    worst_value = 0.0

    def score_example(self, prediction: str, target: str) -> Any:
        return float(prediction == target) if len(target) > 3 else NotScored("short")


class LongByColumn(Metric):
    bounds = (0.0, 1.0)
    higher_is_better = True
    answer_kinds = ("one",)
    accepts_no_prediction = True
    most_not_scored = 0.3

    def statistics(self, batch: pl.DataFrame) -> pl.DataFrame:
        is_right = (batch["prediction"] == batch["target"]).fill_null(False)
        is_long = batch["target"].str.len_chars() > 3
        return pl.DataFrame(
            {
                "hits": is_right.cast(pl.Float64),
                "examples": pl.repeat(1.0, batch.height, eager=True),
                "not_scored": pl.Series(
                    [None if each else "short" for each in is_long], dtype=pl.String
                ),
            }
        ).with_row_index("row")

    def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
        return sums.select("group", value=pl.col("hits") / pl.col("examples"))


class LongByNumbers(Metric):
    """Of a part in which it scores nothing, nobody knows the names of its numbers."""

    bounds = (0.0, 1.0)
    higher_is_better = True
    answer_kinds = ("one",)
    accepts_no_prediction = True

    def example_statistics(self, prediction: str | None, target: str) -> Any:
        if len(target) <= 3:
            return NotScored("short")
        return {"hits": float(prediction == target), "examples": 1.0}

    def finalize(self, sums: Mapping[str, float]) -> Any:
        if sums["examples"] < 2:
            return NotScored("one example")
        return sums["hits"] / sums["examples"]


@evalkit.metric(bounds=(0, 1), higher_is_better=True, answer_kinds=["one"])
def get_share_of_five(predictions: list[str], targets: list[str]) -> Any:
    """Give the share that is right, of no fewer than five."""
    if len(targets) < 5:
        return NotScored("fewer than five")
    return sum(map(str.__eq__, predictions, targets)) / len(targets)


@pytest.mark.parametrize(
    "metric", [Long, LongByColumn, LongByNumbers, get_share_of_five]
)
@pytest.mark.slow
def test_what_scores_few_examples_keeps_the_laws(metric: Any) -> None:
    check_metric(metric, **TRIED)


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_whatever_share_it_may_leave_out(share: float) -> None:
    metric = type("Long", (Long,), {"most_not_scored": share})
    check_metric(metric, laws=["split", "batches", "tags", "order"], **TRIED)


class Forgetful(Long):
    """Leaves out what follows an example that it left out."""

    left = False

    def score_example(self, prediction: str, target: str) -> Any:
        score = NotScored("as before") if self.left else float(prediction == target)
        self.left = self.left or len(target) > 3
        return score


@pytest.mark.slow
def test_examples_left_out_that_depend_on_others_break_a_law() -> None:
    with pytest.raises(MetricLawError) as caught:
        check_metric(Forgetful, laws=["split"], **TRIED)
    assert caught.value.law == "split"
    assert "computed apart" in str(caught.value)
