from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalkit import Metric, MetricContext
from evalkit.plugins.registry import Registry
from evalkit.plugins.resolver import Resolver
from evalkit.scoring.grouping import group_by_tag
from evalkit.scoring.measurement import Measured, measure
from evalkit.scoring.records import MetricScores, ScoringSettings
from evalkit.scoring.table import ScoringTable

Bounds = tuple[float | None, float | None] | None


class Hit(Metric):
    worst_value = 0.0

    def score_example(self, prediction: str, target: Any) -> float:
        return float(prediction in target)


class HitSums(Metric):
    accepts_no_prediction = True

    def statistics(self, batch: pl.DataFrame) -> pl.DataFrame:
        hit = (pl.col("prediction") == pl.col("target")).fill_null(False)
        return batch.select(hit=hit, n=1).with_row_index("row")

    def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
        return sums.select("group", value=pl.col("hit") / pl.col("n"))


def get_hits(predictions: list[str], targets: list[str]) -> float:
    pairs = zip(predictions, targets, strict=True)
    return sum(p == t for p, t in pairs) / len(targets)


def ranged(
    metric: Any,
    predictions: list[Any],
    targets: list[Any],
    tags: list[list[str]] | None = None,
    kind: Any = "one",
) -> MetricScores:
    """Score with the examples left out whose prediction is None."""
    frame = pl.DataFrame(
        {
            "position": pl.Series(range(len(targets)), dtype=pl.UInt32),
            "prediction": pl.Series(predictions, dtype=None),
            "target": targets,
        }
    )
    if frame["prediction"].dtype == pl.Null:
        frame = frame.with_columns(pl.col("prediction").cast(pl.String))
    left_out = frame["prediction"].is_null()
    ids = [str(i) for i in range(len(targets))]
    everything = ScoringTable(frame, ids, None, MetricContext(None, kind))
    groups = group_by_tag(
        pl.Series(tags or [[] for _ in targets], dtype=pl.List(pl.String))
    )
    bound = Resolver(Registry()).bind("metrics", metric)
    measured = Measured(everything, ~left_out, groups)
    [scored] = measure([bound], measured, ScoringSettings(), lambda *_: None)
    return scored


def bounds(*arguments: Any, **keywords: Any) -> Bounds:
    return ranged(*arguments, **keywords).scores[0].bounds


examples = st.tuples(
    st.sampled_from(["a", "b", None]), st.sampled_from("ab"), st.sampled_from("tu")
)


@pytest.mark.parametrize("metric", [Hit, HitSums])
@settings(max_examples=25, deadline=None)
@given(rows=st.lists(examples, min_size=1, max_size=12))
def test_bounds_are_the_scores_with_all_wrong_and_all_right(
    metric: Any, rows: list[tuple[str | None, str, str]]
) -> None:
    predictions, targets, tags = (list(column) for column in zip(*rows, strict=True))
    found = ranged(metric, predictions, targets, [[tag] for tag in tags])
    names = [None, *sorted(set(tags))]
    assert len(found.scores) == len(names)
    if all(prediction is None for prediction in predictions):
        assert {score.value for score in found.scores} == {None}
    for score, name in zip(found.scores, names, strict=True):
        part = [(p, t) for p, t, tag in rows if name in (None, tag)]
        right = sum(p == t for p, t in part)
        unknown = sum(p is None for p, _ in part)
        low, high = right / len(part), (right + unknown) / len(part)
        expected = (pytest.approx(low), pytest.approx(high))
        assert score.bounds == (expected if None in predictions else None)


def test_an_acceptable_answer_counts_as_right() -> None:
    targets = [["a", "b"], ["c"], ["d"]]
    assert bounds(Hit, ["a", None, "x"], targets, kind="any-of") == (1 / 3, 2 / 3)


def test_a_metric_without_a_worst_value_has_no_lower_bound() -> None:
    class Strict(Hit):
        worst_value = None

    assert bounds(Strict, ["a", None], ["a", "b"]) == (None, 1.0)
    assert bounds(get_hits, ["a", None, "x"], ["a", "b", "c"]) == (None, 2 / 3)


def test_a_metric_that_fails_for_filled_in_examples_has_no_bounds() -> None:
    class Failing(HitSums):
        def statistics(self, batch: pl.DataFrame) -> pl.DataFrame:
            if (batch["target"] == "b").any():
                raise ValueError("it is no answer")
            return super().statistics(batch)

    found = ranged(Failing, ["a", None], ["a", "b"])
    assert found.scores[0].value == 1.0
    assert found.scores[0].bounds == (None, None)
