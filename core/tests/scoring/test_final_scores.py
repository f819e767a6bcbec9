from collections.abc import Sequence
from typing import Any

import polars as pl

from evalkit import Metric, MetricContext
from evalkit.catalog import BoundMetric, Registry, Resolver
from evalkit.scoring.final_scores import finalize_metric
from evalkit.scoring.records import MetricScores
from evalkit.scoring.table import make_table
from evalkit.scoring.tally import Tallies, merge_tallies
from evalkit.scoring.tallying import tally_table

LABELS = ("a", "b")


class IsRight(Metric):
    """Share of right answers; the text `broken` cannot be scored."""

    bounds = (0.0, 1.0)
    higher_is_better = True
    worst_value = 0.0
    most_not_scored = 0.5

    def score_example(self, prediction: str, target: str) -> Any:
        """Score one example."""
        if prediction == "broken":
            raise ValueError("no such label")
        return float(prediction == target)


def bound(metric: Any) -> BoundMetric:
    return BoundMetric.of(Resolver(Registry()).metric(metric))


def tallies_of(metric: BoundMetric, predictions: Sequence[Any]) -> Tallies:
    count = len(predictions)
    context = MetricContext(LABELS, "one")
    ids = [f"id{number}" for number in range(count)]
    table = make_table(predictions, ["a"] * count, context, ids=ids)
    lists = pl.Series("tags", [[]] * count, dtype=pl.List(pl.String))
    out = pl.Series("out", [None] * count, dtype=pl.String)
    return tally_table([metric], table._replace(is_part=True), out, lists)


def scores_of(tallies: Tallies, metric: BoundMetric) -> MetricScores:
    return finalize_metric(metric, MetricContext(LABELS, "one"), tallies)


def test_a_metric_that_fails_for_too_many_answers_fails_in_parts_as_in_the_whole() -> (
    None
):
    metric = bound(IsRight)
    predictions = ["a", "broken", "broken", "broken", "broken"]
    whole = scores_of(tallies_of(metric, predictions), metric)
    parts = [tallies_of(metric, [prediction]) for prediction in predictions]
    assert whole.error is not None
    assert "ValueError" in whole.error
    assert whole.scores[0].value is None
    merged = scores_of(merge_tallies(parts), metric)
    assert merged.scores[0].reason is not None
    assert "ValueError" in merged.scores[0].reason
