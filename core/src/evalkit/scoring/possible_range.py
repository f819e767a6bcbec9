"""What scores would be if the examples that were left out were all wrong or right."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from evalkit.errors import MetricError
from evalkit.plugins.bound import BoundMetric
from evalkit.scoring.grouping import Groups
from evalkit.scoring.lists import list_values
from evalkit.scoring.metric import group_values, why_not
from evalkit.scoring.records import MetricScores
from evalkit.scoring.table import ScoringTable

Values = Mapping[tuple[int, str], float | None]


def with_possible_range(
    scored: MetricScores, everything: ScoringTable, left_out: pl.Series, groups: Groups
) -> MetricScores:
    """Add the bounds to the scores of a metric.

    Args:
        scored: What the metric computed from the examples that count.
        everything: All examples; those left out have null predictions.
        left_out: Whether each example of `everything` was left out.
        groups: The groups.

    Returns:
        The scores with `bounds`; None in them where the metric cannot say, and no
        bounds where it declares no possible range.
    """
    if scored.error or not scored.metric.has_possible_range:
        return scored
    low = _values(scored.metric, everything, groups)
    try:
        high = _values(scored.metric, _all_right(everything, left_out), groups)
    except pl.exceptions.PolarsError:
        # answers and predictions are of types that cannot stand in one column
        high = {}
    scores = [
        score._replace(
            bounds=(
                low.get((score.group, score.score)),
                high.get((score.group, score.score)),
            )
        )
        for score in scored.scores
    ]
    return scored._replace(scores=scores)


def _all_right(table: ScoringTable, left_out: pl.Series) -> ScoringTable:
    target = pl.col("target")
    if table.context.answer_kind == "any-of":
        target = target.list.first()
    given = pl.col("prediction")
    if table.without_prediction() == table.frame.height:
        # a column without values may not be of the answers' type
        given = pl.lit(None)
    filled = pl.when(left_out).then(target).otherwise(given)
    return table._replace(frame=table.frame.with_columns(prediction=filled))


def _values(metric: BoundMetric, table: ScoringTable, groups: Groups) -> Values:
    if why_not(metric, table):
        return {}
    try:
        if metric.has("compute"):
            return list_values(metric, table, groups)
        return group_values(metric, table, groups)
    except MetricError:
        # the metric cannot score the filled-in examples: then it has no bounds
        return {}
