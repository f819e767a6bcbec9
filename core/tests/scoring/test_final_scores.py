from collections.abc import Sequence
from random import Random
from typing import Any

import polars as pl
import pytest

from evalkit import Metric, MetricContext, NotScored
from evalkit.catalog import BoundMetric, Registry, Resolver
from evalkit.scoring.final_scores import finalize_metric
from evalkit.scoring.grouping import TAGS, Group
from evalkit.scoring.records import MetricScores
from evalkit.scoring.table import make_table
from evalkit.scoring.tally import Tallies, merge_tallies
from evalkit.scoring.tallying import tally_table

LABELS = ("a", "b")


class IsRight(Metric):
    """Share of right answers; the text `odd` cannot be scored."""

    bounds = (0.0, 1.0)
    higher_is_better = True
    worst_value = 0.0
    most_not_scored = 0.5

    def score_example(self, prediction: str, target: str) -> Any:
        """Score one example."""
        if prediction == "odd":
            return NotScored("it is odd")
        if prediction == "broken":
            raise ValueError("no such label")
        return None if prediction == "silent" else float(prediction == target)


def bound(metric: Any) -> BoundMetric:
    return BoundMetric.of(Resolver(Registry()).metric(metric))


def tallies_of(
    metric: BoundMetric,
    predictions: Sequence[Any],
    tags: Sequence[Sequence[str]] | None = None,
    left_out: Sequence[str | None] | None = None,
    clusters: Sequence[int] | None = None,
) -> Tallies:
    count = len(predictions)
    table = make_table(
        predictions,
        ["a"] * count,
        MetricContext(LABELS, "one"),
        ids=[f"id{number}" for number in range(count)],
        clusters=clusters,
    )
    lists = pl.Series("tags", tags or [[]] * count, dtype=pl.List(pl.String))
    out = pl.Series("out", left_out or [None] * count, dtype=pl.String)
    table = table._replace(is_part=True)
    return tally_table([metric], table, out, lists)


def scores_of(tallies: Tallies, metric: BoundMetric, **options: Any) -> MetricScores:
    return finalize_metric(metric, MetricContext(LABELS, "one"), tallies, **options)


def test_values_by_group_and_what_they_amount_to() -> None:
    metric = bound(IsRight)
    tags = [["topic:x"], ["topic:x", "easy"], ["topic:y"], []]
    tallies = tallies_of(metric, ["a", "b", "a", "b"], tags)
    scored = scores_of(tallies, metric)
    names = tallies.tag_sets.names
    assert {names[one.group]: (one.value, one.n) for one in scored.scores} == {
        Group(): (0.5, 4),
        Group(TAGS, "easy"): (0.0, 1),
        Group(TAGS, "topic:x"): (0.5, 2),
        Group(TAGS, "topic:y"): (1.0, 1),
        Group(TAGS): (0.0, 1),
    }
    aggregates = {one.kind: (one.value, one.tag, one.n) for one in scored.aggregates}
    assert aggregates == {
        "macro:topic": (0.75, None, 3),
        "worst:topic": (0.5, "topic:x", 3 - 1),
        "gap:topic": (0.5, None, 3),
    }


def test_a_tag_named_untagged_is_a_tag() -> None:
    metric = bound(IsRight)
    tags = [["(untagged)"], []]
    tallies = tallies_of(metric, ["a", "b"], tags)
    names = tallies.tag_sets.names
    scores = scores_of(tallies, metric).scores
    values = {names[one.group]: one.value for one in scores}
    assert values == {Group(): 0.5, Group(TAGS, "(untagged)"): 1.0, Group(TAGS): 0.0}


def test_each_answer_without_a_score_is_counted_with_its_reason() -> None:
    metric = bound(IsRight)
    predictions = ["a", "a", "a", "odd", "broken", "silent", "b", "a"]
    left_out = [None] * 6 + ["missing", "invalid"]
    tallies = tallies_of(metric, predictions, left_out=left_out)
    scored = scores_of(tallies, metric)
    [whole] = scored.scores
    assert (whole.value, whole.n, whole.coverage) == (1.0, 3, 3 / 8)
    assert scored.error is not None
    assert "1 of 6 examples left out, as it failed" in scored.error
    assert "'id4'" in scored.error
    assert "did not score 1 of 6 examples ('it is odd': 1)" in " ".join(scored.notices)
    assert "returned None for 1 of 6 examples" in " ".join(scored.notices)


def test_a_group_of_which_too_few_are_scored_has_no_value() -> None:
    metric = bound(IsRight)
    tags = [["t"], ["t"], ["t"], [], [], [], []]
    tallies = tallies_of(metric, ["a", "odd", "odd", "a", "a", "a", "a"], tags)
    names = tallies.tag_sets.names
    scores = {names[one.group]: one for one in scores_of(tallies, metric).scores}
    assert scores[Group()].value == 1.0
    assert scores[Group(TAGS, "t")].value is None
    assert "did not score 2 of 3" in str(scores[Group(TAGS, "t")].reason)


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


def test_bounds_of_answers_that_were_left_out() -> None:
    metric = bound(IsRight)
    tallies = tallies_of(metric, ["a", None], left_out=[None, "missing"])
    [whole] = scores_of(tallies, metric).scores
    assert whole.value == 1.0
    assert whole.bounds == (0.5, 1.0)


@pytest.mark.parametrize("clusters", [None, [1, 1, 2, 3]])
def test_intervals_and_flags_of_each_group(clusters: list[int] | None) -> None:
    metric = bound(IsRight)
    tags = [["topic:x"], ["topic:x"], ["topic:x"], ["topic:y"]]
    tallies = tallies_of(metric, ["a", "b", "a", "b"], tags, clusters=clusters)
    scored = scores_of(tallies, metric)
    whole = scored.scores[0]
    assert whole.interval.method == ("t-clustered" if clusters else "t")
    assert whole.n_clusters == (3 if clusters else None)
    assert whole.flag is not None
    macro, worst, gap = scored.aggregates
    assert macro.interval.reason == "a part has no interval: n is 1"
    assert worst.interval.reason == gap.interval.reason
    assert gap.p_value is not None
    assert (gap.n, gap.n_clusters) == (4, whole.n_clusters)


def test_a_tag_has_the_interval_of_a_file_of_its_examples_alone() -> None:
    random, metric = Random(0), bound("spearman")
    context = MetricContext(None, "number")
    numbers = [(random.random(), random.random()) for _ in range(60)]

    def scores(rows: list[tuple[float, float]], tags: list[list[str]]) -> MetricScores:
        predictions, targets = zip(*rows, strict=True)
        ids = [str(number) for number in range(len(rows))]
        table = make_table(predictions, targets, context, ids=ids)
        none = pl.Series("out", [None] * len(rows), dtype=pl.String)
        lists = pl.Series("tags", tags, dtype=pl.List(pl.String))
        tallies = tally_table([metric], table, none, lists)
        return finalize_metric(metric, context, tallies)

    of_tags = scores(numbers, [["t"] if n % 2 else ["u"] for n in range(60)])
    alone = scores(numbers[1::2], [[] for _ in range(30)])
    assert of_tags.scores[1].interval.method == "bootstrap"
    assert of_tags.scores[1].interval == alone.scores[0].interval
