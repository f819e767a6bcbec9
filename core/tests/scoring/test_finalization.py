from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

from evalkit import Metric, MetricContext, MetricError, PluginContractError
from evalkit.scoring import finalize_counts
from evalkit.scoring.finalization import Finalizer

from ..engine_tables import bound

CONTEXT = MetricContext(None, "one")


# counts as arrays ----------------------------------------------------------------


class Share(Metric):
    """The share of each label among counts, by either hook."""

    keys = ("label", "other")
    interval = "multinomial"

    def statistics(self, batch: pl.DataFrame) -> pl.DataFrame:
        return batch.select(
            label="target", other="prediction", n=pl.lit(1.0)
        ).with_row_index("row")

    def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
        whole = pl.col("n").sum().over("group")
        value = (pl.col("n").sum().over("group", "label")) / whole
        return sums.select("group", score="label", value=value).unique()

    def finalize_counts(self, counts: Any, cells: pl.DataFrame) -> Any:
        return {
            str(label): np.where(found > 0, found / counts.sum(axis=1), np.nan)
            for label in cells["label"].unique().sort()
            for found in [counts[:, (cells["label"] == label).to_numpy()].sum(axis=1)]
        }


def test_a_finalize_of_its_own_is_not_passed_over() -> None:
    class Halved(Share):
        def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
            return super().finalize(sums).with_columns(pl.col("value") / 2)

    metric = bound(Halved)
    assert not metric.finalizes_counts
    own = Share()
    own.finalize = lambda sums: sums  # type: ignore[method-assign, assignment]
    assert not replace(metric, plugin=own).finalizes_counts
    assert bound(Share).finalizes_counts
    assert not Finalizer(bound(Share), CONTEXT, 2).takes_counts


@pytest.mark.parametrize(
    ("returned", "wrong"),
    [
        (None, "must return a mapping from score to array, returned NoneType"),
        ({"": [1.0, 2.0]}, "the value of '' must be a numpy array of floats"),
        ({"a": np.ones(3)}, r"the value of 'a' must .* of shape \(2,\)"),
        ({"a": np.ones(2, dtype=int)}, "the value of 'a' must be"),
        ({1: np.ones(2)}, "the value of 1 must be"),
    ],
)
def test_what_is_no_array_of_values_names_the_metric(returned: Any, wrong: str) -> None:
    class Wrong(Share):
        def finalize_counts(self, counts: Any) -> Any:
            return returned

    cells = pl.DataFrame({"label": ["a"], "other": ["b"]})
    with pytest.raises(MetricError, match=f"metrics/wrong .*finalize_counts.*{wrong}"):
        finalize_counts(bound(Wrong), np.ones((2, 1)), cells, CONTEXT)


def test_counts_are_for_statistics() -> None:
    class Odd(Metric):
        def score_example(self, prediction: float) -> float:
            return prediction

        def finalize_counts(self, counts: Any) -> Any:
            return {}

    with pytest.raises(PluginContractError, match="finalize_counts is for a metric"):
        bound(Odd)
