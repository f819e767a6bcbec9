from collections.abc import Sequence
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalkit import Metric, MetricContext
from evalkit.plugins.registry import Registry
from evalkit.plugins.resolver import Resolver
from evalkit.scoring.baselines import Baselines, compute_baselines
from evalkit.scoring.table import ScoringTable

LABELS = ("a", "b", "c", "d")


class Hit(Metric):
    def score_example(self, prediction: str, target: Any) -> float:
        return float(prediction in target)


class HitSums(Metric):
    def statistics(self, batch: pl.DataFrame) -> pl.DataFrame:
        hit = pl.col("prediction") == pl.col("target")
        return batch.select(hit=hit, n=1).with_row_index("row")

    def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
        return sums.select("group", value=pl.col("hit") / pl.col("n"))


class HitCells(HitSums):
    """The same with keys, one cell for each pair of labels."""

    keys = ("gold", "predicted")

    def statistics(self, batch: pl.DataFrame) -> pl.DataFrame:
        pairs = batch.select(gold="target", predicted="prediction", n=1)
        return pairs.with_row_index("row")

    def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
        hits = pl.col("n").filter(pl.col("gold") == pl.col("predicted")).sum()
        return sums.group_by("group").agg(value=hits / pl.col("n").sum())


def get_hits(predictions: list[str], targets: list[str]) -> float:
    pairs = zip(predictions, targets, strict=True)
    return sum(p == t for p, t in pairs) / len(targets)


def baselines_of(
    metric: Any,
    targets: Sequence[Any],
    labels: Sequence[str] | None = LABELS,
    kind: Any = "one",
) -> Baselines | None:
    frame = pl.DataFrame(
        {
            "position": pl.Series(range(len(targets)), dtype=pl.UInt32),
            "prediction": ["a"] * len(targets),
            "target": targets,
        }
    )
    context = MetricContext(None if labels is None else tuple(labels), kind)
    ids = [str(i) for i in range(len(targets))]
    clusters = pl.Series([0] * len(targets))
    table = ScoringTable(frame, ids, clusters, context)
    return compute_baselines(Resolver(Registry()).bind("metrics", metric), table)


@pytest.mark.parametrize("metric", [Hit, HitSums, HitCells])
@settings(max_examples=20, deadline=None)
@given(targets=st.lists(st.sampled_from(LABELS), min_size=1, max_size=30))
def test_share_of_hits_of_the_majority_and_of_chance(
    metric: Any, targets: list[str]
) -> None:
    found = baselines_of(metric, targets)
    assert found is not None
    counts = [targets.count(label) for label in LABELS]
    assert found.majority_label == LABELS[counts.index(max(counts))]
    assert found.majority == pytest.approx(max(counts) / len(targets))
    assert found.chance == pytest.approx(1 / len(LABELS))


def test_a_function_of_lists_has_a_majority_but_no_chance() -> None:
    found = baselines_of(get_hits, ["b", "b", "a"])
    assert found == Baselines("b", 2 / 3, None)


def test_the_first_of_several_most_common_labels_is_taken() -> None:
    found = baselines_of(Hit, ["d", "c", "d", "c"])
    assert found is not None
    assert found.majority_label == "c"


def test_the_majority_of_acceptable_answers_is_accepted_most_often() -> None:
    targets = [["a", "b"], ["b", "c"], ["c"], ["b", "d"]]
    found = baselines_of(Hit, targets, kind="any-of")
    assert found is not None
    assert (found.majority_label, found.majority) == ("b", 0.75)
    # 2, 2, 1 and 2 of the four labels are right
    assert found.chance == pytest.approx((2 + 2 + 1 + 2) / 4 / 4)


def test_examples_that_are_left_out_do_not_count() -> None:
    class Picky(Metric):
        def score_example(self, prediction: str, target: str) -> float | None:
            return None if target == "c" else float(prediction == target)

    found = baselines_of(Picky, ["a", "c", "a", "b"])
    assert found is not None
    assert found.majority == pytest.approx(2 / 3)
    assert found.chance == pytest.approx(1 / 4)


def test_there_is_no_value_where_every_example_is_left_out() -> None:
    class Empty(Metric):
        def score_example(self) -> None:
            return None

    assert baselines_of(Empty, ["a"]) == Baselines("a", None, None)


def test_statistics_that_cannot_be_weighted_have_no_baseline() -> None:
    class Extremes(HitSums):
        merges = {"hit": "min"}

    assert baselines_of(Extremes, ["a", "b"]) == Baselines("a", None, None)


def test_without_labels_there_are_none() -> None:
    assert baselines_of(Hit, ["a"], labels=None) is None
    assert baselines_of(Hit, ["a"], labels=()) is None


def test_answers_that_repeat_as_labels_do_are_labels() -> None:
    targets = ["common"] * 8 + ["rare"] * 2
    found = baselines_of(Hit, targets, labels=None)
    assert found == Baselines("common", pytest.approx(0.8), pytest.approx(0.5))
    assert baselines_of(get_hits, targets, None) == Baselines("common", 0.8, None)
    # nine answers to two labels are too few, and so are lists and numbers
    assert baselines_of(Hit, targets[1:], labels=None) is None
    lists = [[target] for target in targets]
    assert baselines_of(Hit, lists, labels=None, kind="any-of") is None
    assert baselines_of(Hit, [1.0] * 10, labels=None, kind="number") is None


@pytest.mark.parametrize("metric", [Hit, HitCells, get_hits])
def test_an_example_counts_once_however_many_answers_it_has(metric: Any) -> None:
    # of two answers to each of four examples, the second to the last two is left out
    targets = ["b", "a", "a", "a"]
    positions = [0, 1, 2, 3, 4, 6]
    frame = pl.DataFrame(
        {
            "position": pl.Series(positions, dtype=pl.UInt32),
            "prediction": ["a"] * 6,
            "target": [targets[position // 2] for position in positions],
        }
    )
    ids = [str(i // 2) for i in range(8)]
    context = MetricContext(LABELS, "one")
    table = ScoringTable(frame, ids, None, context, ("1", "2"))
    found = compute_baselines(Resolver(Registry()).bind("metrics", metric), table)
    assert found is not None
    assert (found.majority_label, found.majority) == ("a", pytest.approx(3 / 4))
