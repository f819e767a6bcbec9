from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import pytest

from evalkit import Metric, MetricContext, MetricError
from evalkit.scoring import finalization
from evalkit.scoring.finalization import (
    EXAMPLES,
    REPLICATION,
    Finalizer,
    finalize,
    finalize_replicates,
)

from ..engine_tables import Mean, bound

CONTEXT = MetricContext(None, "one")


class OwnScore(Metric):
    def score_example(self, prediction: float) -> float:
        return prediction


class Inverse(Mean):
    """Fails where a group's total is zero."""

    def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
        if (sums["total"] == 0).any():
            raise ZeroDivisionError("nothing to divide by")
        return sums.select("group", value=pl.col("n") / pl.col("total"))


class Described(Mean):
    """Gives two scores, with reasons and flags."""

    def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
        mean = pl.col("total") / pl.col("n")
        one = sums.select(
            "group",
            score=pl.lit(""),
            value=pl.when(mean >= 0).then(mean),
            reason=pl.when(mean < 0).then(pl.lit("it is negative")),
            flag=pl.when(mean > 1).then(pl.lit("large")),
        )
        other = one.with_columns(score=pl.lit("b"), value=2 * pl.col("value"))
        return pl.concat([one, other])


def sums_of(totals: list[float], counts: list[float], **extra: Any) -> pl.DataFrame:
    columns = {"group": range(len(totals)), "total": totals, "n": counts}
    return pl.DataFrame({**columns, **extra})


def test_scores_of_examples_are_divided_by_their_number() -> None:
    totals = {"score": [3.0, math.inf], EXAMPLES: [4.0, 2.0]}
    sums = pl.DataFrame({"group": [0, 4], **totals})
    found = finalize(bound(OwnScore), sums, CONTEXT)
    assert found.schema == {
        "group": pl.Int64(),
        "score": pl.String(),
        "value": pl.Float64(),
        "reason": pl.String(),
        "flag": pl.String(),
    }
    assert found.rows() == [(0, "", 0.75, None, None), (4, "", math.inf, None, None)]


def test_one_replication_has_no_deviation() -> None:
    found = Finalizer(bound(Mean), CONTEXT)(sums_of([3.0], [4.0]))
    names = ["group", "score", "value", "reason", "flag", "stddev_replications"]
    assert found.columns == names
    assert found.rows() == [(0, "", 0.75, None, None, None)]
    assert Finalizer(bound(Mean), CONTEXT).keys == []
    assert Finalizer(bound(Mean), CONTEXT, 2).keys == [REPLICATION]
    several = Finalizer(bound("macro-f1"), CONTEXT, 2)
    assert several.keys == ["gold", "predicted", REPLICATION]


def test_the_score_of_replications_is_the_mean_of_theirs() -> None:
    sums = pl.DataFrame(
        {
            "group": [0, 0, 0, 1, 1, 1, 2, 2, 3, 3, 3],
            REPLICATION: [0, 1, 2, 0, 1, 2, 0, 2, 0, 1, 2],
            "total": [1.0, 2.0, 6.0, 0.5, 0.5, 0.5, 1.0, 1.0, 1.0, -1.0, 1.0],
            "n": [1.0, 2.0, 2.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0],
        }
    )
    found = Finalizer(bound(Described), CONTEXT, 3)(sums)
    main = found.filter(pl.col("score") == "").sort("group").rows()
    undefined = "the metric is not defined for every replication"
    deviation = float(np.std([1.0, 1.0, 3.0], ddof=1))
    assert main == [
        (0, "", pytest.approx(5 / 3), None, "large", pytest.approx(deviation)),
        (1, "", 0.5, None, None, 0.0),
        (2, "", None, undefined, None, None),
        (3, "", None, "it is negative", None, None),
    ]
    other = found.filter(pl.col("score") == "b").sort("group")
    assert other["value"].to_list() == [pytest.approx(10 / 3), 1.0, None, None]


def replicate_frame(totals: list[float], counts: list[float]) -> pl.DataFrame:
    return pl.DataFrame({"replicate": range(len(totals)), "total": totals, "n": counts})


@pytest.mark.parametrize("most", [1, 5, 1_000])
def test_replicates_of_many_groups_are_finalized_together(
    most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(finalization, "MOST_ROWS", most)
    parts = [
        (7, 3, replicate_frame([1.0, 2.0, 3.0], [1.0, 1.0, 2.0])),
        (2, 3, replicate_frame([1.0, -1.0, 0.0], [1.0, 1.0, 0.0])),
        (0, 3, replicate_frame([4.0], [1.0])),
    ]
    found = finalize_replicates(Finalizer(bound(Described), CONTEXT), parts)
    assert {group: one.values[""].tolist() for group, one in found.items()} == {
        7: [1.0, 2.0, 1.5],
        2: [1.0],  # the second is null, the third is not a number
        0: [4.0],
    }
    assert found[7].values["b"].tolist() == [2.0, 4.0, 3.0]
    assert all(one.reason is None for one in found.values())
    assert finalize_replicates(Finalizer(bound(Mean), CONTEXT), []) == {}


def test_a_group_without_any_defined_replicate_has_no_values() -> None:
    parts = [(3, 1, replicate_frame([-1.0], [1.0]))]
    found = finalize_replicates(Finalizer(bound(Described), CONTEXT), parts)
    assert (dict(found[3].values), found[3].reason) == ({}, None)


def test_a_group_whose_replicates_fail_does_not_touch_the_others() -> None:
    parts = [
        (0, 2, replicate_frame([1.0, 2.0], [1.0, 1.0])),
        (1, 2, replicate_frame([1.0, 0.0], [1.0, 1.0])),
        (2, 2, replicate_frame([4.0, 2.0], [1.0, 1.0])),
    ]
    found = finalize_replicates(Finalizer(bound(Inverse), CONTEXT), parts)
    assert found[0].values[""].tolist() == [1.0, 0.5]
    assert found[2].values[""].tolist() == [0.25, 0.5]
    assert found[1].values == {}
    assert str(found[1].reason).startswith("the bootstrap failed: metrics/inverse (")
    assert str(found[1].reason).endswith("ZeroDivisionError: nothing to divide by")


def test_a_metric_that_fails_is_named() -> None:
    with pytest.raises(MetricError, match=r"metrics/inverse .*nothing to divide by"):
        finalize(bound(Inverse), sums_of([0.0], [1.0]), CONTEXT)


def test_replicates_of_many_rows_are_finalized_in_pieces(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    count = 10
    parts = [(5, count, replicate_frame([*map(float, range(count))], [2.0] * count))]
    whole = finalize_replicates(Finalizer(bound(Mean), CONTEXT), parts)
    heights: list[int] = []

    class Watched(Finalizer):
        def __call__(self, sums: pl.DataFrame) -> pl.DataFrame:
            heights.append(sums.height)
            return super().__call__(sums)

    monkeypatch.setattr(finalization, "MOST_ROWS", 3)
    found = finalize_replicates(Watched(bound(Mean), CONTEXT), parts)

    assert heights == [3, 3, 3, 1]
    assert found[5].values[""].tolist() == whole[5].values[""].tolist()


def test_a_piece_that_fails_leaves_no_replicates(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(finalization, "MOST_ROWS", 1)
    parts = [(0, 3, replicate_frame([1.0, 2.0, 0.0], [1.0, 1.0, 1.0]))]

    found = finalize_replicates(Finalizer(bound(Inverse), CONTEXT), parts)

    assert found[0].values == {}
    assert str(found[0].reason).startswith("the bootstrap failed: metrics/inverse (")
