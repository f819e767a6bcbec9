"""The answers that metrics did not score, as a run counts and lists them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import polars as pl

from evalkit.predictions.problems import FAILED, NOT_SCORED, Problem
from evalkit.scoring.records import MetricScores


def unscored_counts(scored: Sequence[MetricScores]) -> dict[str, int]:
    """Count the answers that each metric did not score, of those that left some out."""
    return {
        found.name: found.unscored.height
        for found in scored
        if found.unscored is not None and found.unscored.height
    }


def unscored_problems(
    examples: pl.DataFrame, scored: Sequence[MetricScores]
) -> Iterator[Problem]:
    """Yield a problem for each answer that a metric did not score."""
    for found in scored:
        if found.unscored is None or found.unscored.is_empty():
            continue
        of_answers = examples.select("id", "replication")[found.unscored["position"]]
        rows = found.unscored.select("reason", "failed").hstack(of_answers)
        for reason, failed, uid, replication in rows.iter_rows():
            status = FAILED if failed else NOT_SCORED
            yield Problem(
                *(status, None, uid, (), replication),
                metric=found.name,
                reason=reason,
            )


def unscored_answers(
    examples: pl.DataFrame, problems: Iterable[Problem]
) -> dict[str, pl.DataFrame]:
    """Return what `unscored_problems` was made of, by name of the metric."""
    rows = [
        (found.metric, found.id, found.replication, found.reason, found.status)
        for found in problems
        if found.metric is not None
    ]
    names = ("metric", "id", "replication", "reason", "status")
    listed = pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), orient="row")
    places = examples.select("id", "replication").with_row_index("position")
    keys = ["id", "replication"]
    joined = listed.join(places, on=keys, nulls_equal=True).sort("position")
    by_metric = joined.partition_by("metric", as_dict=True)
    return {
        str(name): rows.select("position", "reason", failed=pl.col("status") == FAILED)
        for (name,), rows in by_metric.items()
    }
