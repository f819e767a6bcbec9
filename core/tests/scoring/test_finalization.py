from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

from evalkit import Metric, MetricContext, MetricError, PluginContractError
from evalkit.scoring import finalization, finalize_counts
from evalkit.scoring.drawn_counts import DrawnCounts, as_replicate
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
    nan = float("nan")
    expected = {
        7: [1.0, 2.0, 1.5],
        2: [1.0, nan, nan],  # the second is null, the third is not a number
        0: [4.0, nan, nan],
    }
    for group, values in expected.items():
        np.testing.assert_array_equal(found[group].values_of(""), values)
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


def drawn_shares() -> list[tuple[int, int, DrawnCounts]]:
    random = np.random.default_rng(0)
    names = ("label", "other", "n")
    few = {("a", "a"): 1.0, ("a", "b"): 1.0, ("b", "b"): 2.0}
    more = {**few, ("c", None): 0.5}
    return [
        (number, 7, DrawnCounts(names, list(cells), draw_pairs(cells, 7, random)))
        for number, cells in enumerate((few, more, few, {("c", "a"): 3.0}))
    ]


@pytest.mark.parametrize("most", [1, 40, 1_000])
def test_arrays_of_counts_give_what_tables_give(
    most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(finalization, "MOST_ROWS", most)
    by_array = Finalizer(bound(Share), CONTEXT)

    class ByTable(Finalizer):
        takes_counts = False

    assert by_array.takes_counts
    found = finalize_replicates(by_array, drawn_shares())
    expected = finalize_replicates(ByTable(bound(Share), CONTEXT), drawn_shares())
    assert found.keys() == expected.keys()
    for part, one in found.items():
        other = expected[part]
        assert one.values.keys() == other.values.keys()
        for score, values in one.values.items():
            assert values == pytest.approx(other.values[score], nan_ok=True)


def test_counts_of_equal_cells_are_finalized_in_one_call() -> None:
    shapes: list[tuple[int, ...]] = []

    class Watched(Share):
        def finalize_counts(self, counts: Any, cells: pl.DataFrame) -> Any:
            assert not counts.flags.writeable
            shapes.append(counts.shape)
            return super().finalize_counts(counts, cells)

    finalize_replicates(Finalizer(bound(Watched), CONTEXT), drawn_shares())
    assert shapes == [(14, 3), (7, 4), (7, 1)]


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


def test_a_group_whose_counts_fail_does_not_touch_the_others() -> None:
    class Fragile(Share):
        def finalize_counts(self, counts: Any, cells: pl.DataFrame) -> Any:
            if (counts == 99).any():
                raise ValueError("too many")
            return super().finalize_counts(counts, cells)

    names = ("label", "other", "n")
    parts = [
        (number, 1, as_replicate({("a", "a"): count}, names))
        for number, count in enumerate((1.0, 99.0, 2.0))
    ]
    found = finalize_replicates(Finalizer(bound(Fragile), CONTEXT), parts)
    assert [one.values.get("a", np.empty(0)).tolist() for one in found.values()] == [
        [1.0],
        [],
        [1.0],
    ]
    assert str(found[1].reason).startswith("the bootstrap failed: metrics/fragile (")


def test_counts_are_for_statistics() -> None:
    class Odd(Metric):
        def score_example(self, prediction: float) -> float:
            return prediction

        def finalize_counts(self, counts: Any) -> Any:
            return {}

    with pytest.raises(PluginContractError, match="finalize_counts is for a metric"):
        bound(Odd)
