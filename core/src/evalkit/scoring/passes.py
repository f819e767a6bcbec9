"""Calls a metric for all examples of a table, whichever way it was written."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from evalkit.errors import MetricError
from evalkit.parallel.workers import Workers
from evalkit.plugins.bound import BoundMetric
from evalkit.scoring.calls import compute_statistics
from evalkit.scoring.finalization import EXAMPLES
from evalkit.scoring.outcomes import Outcomes, split_outcomes
from evalkit.scoring.rows import score_batches, score_examples
from evalkit.scoring.table import ScoringTable, joined_replications


def metric_statistics(metric: BoundMetric, table: ScoringTable) -> pl.DataFrame:
    """Get a metric's statistics, also of one that scores single examples.

    Args:
        metric: A metric that is not a function of lists.
        table: What is scored.

    Returns:
        `position`, the metric's keys, and number columns; of one that scores single
        examples `score` and `EXAMPLES`, which is 1.

    Raises:
        MetricError: The metric failed.
    """
    return metric_outcomes(metric, table).statistics


def metric_outcomes(
    metric: BoundMetric,
    table: ScoringTable,
    workers: Workers | None = None,
    advance: Callable[[int], None] | None = None,
) -> Outcomes:
    """Get a metric's statistics, and the examples that it did not score.

    Of several scores that a metric gives in one pass, the first that is asked for makes
    the pass.

    Args:
        metric: As for `metric_statistics`, like the other arguments.
        table: What is scored.
        workers: Processes that may share the work.
        advance: Told after every batch how many examples it had.

    Returns:
        Both.

    Raises:
        MetricError: The metric failed.
    """
    if metric.has("statistics"):
        if metric.joins_replications:
            table = joined_replications(table, metric.columns)
        return compute_statistics(metric, table, workers, advance)
    found = _pass(metric, table, workers, advance)
    if metric.example_hook is None:
        return found
    counted = found.statistics.with_columns(pl.lit(1.0).alias(EXAMPLES))
    return found._replace(statistics=counted)


_KEPT_PASSES = 4
"""Tables of which a metric that gives several scores keeps what it made of them."""


def _pass(
    metric: BoundMetric,
    table: ScoringTable,
    workers: Workers | None,
    advance: Callable[[int], None] | None,
) -> Outcomes:
    """Call the metric for all examples, once for all scores that it gives."""
    whole = metric.whole
    if whole is None:
        return score_examples(metric, table, workers, advance)
    # the table is kept beside what was made of it, so that its id stays its own
    kept = metric.computed.setdefault("passes", {})
    if id(table.frame) not in kept:
        if len(kept) == _KEPT_PASSES:
            kept.pop(next(iter(kept)))
        joined = score_batches(whole, table, workers, advance)
        kept[id(table.frame)] = (table.frame, joined)
    found = split_outcomes(kept[id(table.frame)][1], metric.part)
    failed = found.unscored.filter("failed")
    if failed.height and found.statistics.is_empty() and not table.is_part:
        raise MetricError(str(failed["reason"][0]))
    return found
