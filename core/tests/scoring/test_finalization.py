from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

from evalkit import Metric, MetricContext, MetricError, PluginContractError
from evalkit.scoring import finalization, finalize_counts
from evalkit.scoring.bootstrap import DrawnCounts
from evalkit.scoring.finalization import (
    EXAMPLES,
    REPLICATION,
    Finalizer,
    finalize,
    finalize_replicates,
)
from evalkit.statistics.label_pairs import draw_pairs

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


@pytest.mark.parametrize(
    ("totals", "counts", "expected"),
    [
        ([1.0, 2.0, 3.0], [1.0, 1.0, 2.0], [1.0, 2.0, 1.5]),
        # the second is null, the third is not a number
        ([1.0, -1.0, 0.0], [1.0, 1.0, 0.0], [1.0, math.nan, math.nan]),
        ([4.0], [1.0], [4.0, math.nan, math.nan]),
    ],
)
@pytest.mark.parametrize("most", [1, 5, 1_000])
def test_replicates_of_a_group_are_finalized(
    totals: list[float],
    counts: list[float],
    expected: list[float],
    most: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(finalization, "MOST_ROWS", most)
    finalizer = Finalizer(bound(Described), CONTEXT)
    found = finalize_replicates(finalizer, 3, replicate_frame(totals, counts))
    assert found.reason is None
    np.testing.assert_array_equal(found.values_of(""), expected)
    np.testing.assert_array_equal(found.values_of("b"), 2 * np.array(expected))


def test_a_group_without_any_defined_replicate_has_no_values() -> None:
    finalizer = Finalizer(bound(Described), CONTEXT)
    found = finalize_replicates(finalizer, 1, replicate_frame([-1.0], [1.0]))
    assert (dict(found.values), found.reason) == ({}, None)


@pytest.mark.parametrize("most", [1, 1_000])
def test_replicates_that_fail_have_a_reason(
    most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(finalization, "MOST_ROWS", most)
    sums = replicate_frame([1.0, 2.0, 0.0], [1.0, 1.0, 1.0])
    found = finalize_replicates(Finalizer(bound(Inverse), CONTEXT), 3, sums)
    assert found.values == {}
    assert str(found.reason).startswith("the bootstrap failed: metrics/inverse (")
    assert str(found.reason).endswith("ZeroDivisionError: nothing to divide by")


def test_a_metric_that_fails_is_named() -> None:
    with pytest.raises(MetricError, match=r"metrics/inverse .*nothing to divide by"):
        finalize(bound(Inverse), sums_of([0.0], [1.0]), CONTEXT)


def test_replicates_of_many_rows_are_finalized_in_pieces(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sums = replicate_frame([*map(float, range(10))], [2.0] * 10)
    whole = finalize_replicates(Finalizer(bound(Mean), CONTEXT), 10, sums)
    heights: list[int] = []

    class Watched(Finalizer):
        def __call__(self, sums: pl.DataFrame) -> pl.DataFrame:
            heights.append(sums.height)
            return super().__call__(sums)

    monkeypatch.setattr(finalization, "MOST_ROWS", 3)
    found = finalize_replicates(Watched(bound(Mean), CONTEXT), 10, sums)

    assert heights == [3, 3, 3, 1]
    assert found.values[""].tolist() == whole.values[""].tolist()


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


def counts_of(cells: dict[Any, float], random: np.random.Generator) -> DrawnCounts:
    frame = pl.DataFrame([*cells], dict.fromkeys(Share.keys, pl.String), orient="row")
    return DrawnCounts(frame, "n", draw_pairs(cells, 7, random))


@pytest.mark.parametrize("most", [1, 40, 1_000])
@pytest.mark.parametrize(
    "cells",
    [
        {("a", "a"): 1.0, ("a", "b"): 1.0, ("b", "b"): 2.0},
        {("a", "a"): 1.0, ("a", "b"): 1.0, ("b", "b"): 2.0, ("c", None): 0.5},
        {("c", "a"): 3.0},
    ],
)
def test_arrays_of_counts_give_what_tables_give(
    cells: dict[Any, float], most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(finalization, "MOST_ROWS", most)
    by_array = Finalizer(bound(Share), CONTEXT)

    class ByTable(Finalizer):
        takes_counts = False

    assert by_array.takes_counts
    sums = counts_of(cells, np.random.default_rng(0))
    found = finalize_replicates(by_array, 7, sums)
    expected = finalize_replicates(ByTable(bound(Share), CONTEXT), 7, sums)
    assert found.values.keys() == expected.values.keys()
    for score, values in found.values.items():
        assert values == pytest.approx(expected.values[score], nan_ok=True)


def test_counts_cannot_be_changed() -> None:
    class Watched(Share):
        def finalize_counts(self, counts: Any, cells: pl.DataFrame) -> Any:
            assert not counts.flags.writeable
            return super().finalize_counts(counts, cells)

    sums = counts_of({("c", "a"): 3.0}, np.random.default_rng(0))
    found = finalize_replicates(Finalizer(bound(Watched), CONTEXT), 7, sums)
    assert found.reason is None


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
