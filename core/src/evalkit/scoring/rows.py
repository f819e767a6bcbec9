"""Scores examples one by one with a metric's `score_example`, at the speed of a loop.

The function is called with nothing but the arguments that it names, on lists that are
made once a batch; what it returns is checked as one array.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from evalkit.base.columns import all_named
from evalkit.errors import MetricError
from evalkit.parallel.workers import Workers
from evalkit.plugins.bound import BoundMetric
from evalkit.scoring.batches import AdvanceRows, TimedSizes, compute_batches
from evalkit.scoring.calls import BOUNDS_SLACK, checked_value
from evalkit.scoring.table import Batch, ScoringTable

Floats = npt.NDArray[np.float64]

_SCHEMA = {"position": pl.UInt32, "score": pl.Float64}

_PLAIN = (float, int, bool)
_PLAIN_NUMPY = (np.integer, np.floating, np.bool_)


def score_examples(
    metric: BoundMetric,
    table: ScoringTable,
    workers: Workers | None = None,
    advance: AdvanceRows | None = None,
) -> pl.DataFrame:
    """Score every example of a table by itself.

    Args:
        metric: A metric that implements `score_example`.
        table: What is scored. An example whose prediction is null gets the metric's
            `worst_value`, unless the metric takes such examples itself.
        workers: Processes that help where that pays; the result is the same.
        advance: Told after every batch how many rows it had.

    Returns:
        Columns `position` and `score`, in the order of the table, without the examples
        whose score is None.

    Raises:
        MetricError: The function raised, or returned something that is no finite
            number within the metric's bounds; it names the first such example.
    """
    parts = compute_batches(metric, table, batch_scores, TimedSizes(), workers, advance)
    return pl.concat(parts) if parts else pl.DataFrame(schema=_SCHEMA)


def batch_scores(metric: BoundMetric, batch: Batch) -> pl.DataFrame:
    """Score the examples of one batch.

    Args:
        metric: A metric that implements `score_example`.
        batch: The batch.

    Returns:
        Columns `position` and `score`, without the examples whose score is None.

    Raises:
        MetricError: See `score_examples`.
    """
    has_prediction = batch.frame["prediction"].is_not_null()
    if metric.accepts_no_prediction or has_prediction.all():
        return _scores(metric, batch, _called(metric, batch))
    answered = batch._replace(frame=batch.frame.filter(has_prediction))
    silent = batch._replace(frame=batch.frame.filter(~has_prediction))
    worst = [metric.worst_value] * silent.rows
    scored = [
        _scores(metric, answered, _called(metric, answered)),
        _scores(metric, silent, worst),
    ]
    order = batch.frame.select("position")
    return order.join(pl.concat(scored), on="position", maintain_order="left")


def _called(metric: BoundMetric, batch: Batch) -> list[Any]:
    """Call the function for every row; what it returned before it raises is checked.

    Raises:
        MetricError: It raised.
    """
    columns: dict[str, Callable[[], Sequence[Any]]] = {
        "prediction": batch.frame["prediction"].to_list,
        "target": batch.frame["target"].to_list,
        "fields": lambda: _fields(metric, batch),
        "context": lambda: [batch.context] * batch.rows,
    }
    values, error = metric.score_examples(columns, batch.rows)
    if error is not None:
        row = len(values)
        _scores(metric, batch.part(0, row), values)
        guard = metric.guard("score_example", "example", batch.id_of(row))
        raise guard.failure(error) from error
    return values


def _fields(metric: BoundMetric, batch: Batch) -> list[dict[str, Any]]:
    columns = list(metric.columns)
    if not columns:
        return [{} for _ in range(batch.rows)]
    return batch.frame.select(all_named(columns)).to_dicts()


def _scores(metric: BoundMetric, batch: Batch, values: Sequence[Any]) -> pl.DataFrame:
    """Check what the function returned, and leave out the rows without a score."""
    types = set(map(type, values))
    if type(None) in types:
        types.remove(type(None))
        is_given = pl.Series([value is not None for value in values], dtype=pl.Boolean)
        batch = batch._replace(frame=batch.frame.filter(is_given))
        values = [value for value in values if value is not None]
    scores = _as_array(values) if all(map(_is_plain, types)) else None
    if scores is None or not _within(metric, scores).all():
        scores = np.array(_checked_one_by_one(metric, batch, values), np.float64)
    return pl.DataFrame({"position": batch.frame["position"], "score": scores})


def _is_plain(kind: type) -> bool:
    return kind in _PLAIN or issubclass(kind, _PLAIN_NUMPY)


def _as_array(values: Sequence[Any]) -> Floats | None:
    try:
        return np.fromiter(values, np.float64, len(values))
    except OverflowError:  # a huge integer
        return None


def _within(metric: BoundMetric, scores: Floats) -> npt.NDArray[np.bool_]:
    """Tell which scores are finite and within the metric's bounds."""
    within = np.isfinite(scores)
    low, high = metric.bounds or (None, None)
    if low is not None:
        within &= scores >= low - BOUNDS_SLACK
    if high is not None:
        within &= scores <= high + BOUNDS_SLACK
    return within


def _checked_one_by_one(
    metric: BoundMetric, batch: Batch, values: Sequence[Any]
) -> list[float]:
    """Check unusual values, and say what is wrong with the first that is refused."""
    scores = []
    for row, value in enumerate(values):
        step = f"score_example for the example {batch.id_of(row)!r}"
        number, reason = checked_value(metric, value, step)
        if number is None:
            raise MetricError(str(reason))
        scores.append(number)
    return scores
