"""Outcomes of answers: a score, or why there is none."""

from __future__ import annotations

import math

import polars as pl

from evalkit.errors import MetricError
from evalkit.plugins.bound import BoundMetric

OUTCOME = "__outcome"
"""Column that is empty for a row of statistics, and else says why there is none."""

REASON = "__reason"
"""Column of the reason that a metric gives."""

SCORED = ""
MISSING = "missing"
INVALID = "invalid"
UNANSWERED = "no prediction"
"""Outcome of an answer without a prediction that the metric cannot take."""
NOT_SCORED = "not scored"
FAILED = "failed"
LOST = "no column"
"""Outcome of an answer for which a column that the metric reads was not computed."""
SILENT = "no row"
"""Outcome of an answer for which the metric gave neither a row nor a reason."""

LEFT_OUT = (MISSING, INVALID)
"""Outcomes of answers that no metric was given."""

UNSCORED = (NOT_SCORED, FAILED, LOST)
"""Outcomes of answers that a metric was given and says why it did not score."""


def outcome_rows(
    position: pl.Series,
    outcome: pl.Series | str,
    reason: pl.Series | str | None = None,
) -> pl.DataFrame:
    """Return `position`, `OUTCOME` and `REASON` of answers.

    Args:
        position: The positions.
        outcome: One outcome for each, or that of all.
        reason: One reason for each, or that of all.
    """
    columns = [
        pl.lit(value).cast(pl.String).alias(name)
        for name, value in ((OUTCOME, outcome), (REASON, reason))
    ]
    frame = pl.DataFrame({"position": position.cast(pl.UInt32)})
    return frame.with_columns(columns)


def most_unscored(metric: BoundMetric, answers: int) -> float:
    """Return of how many answers a metric may score none: its share, at least 1."""
    return max(1.0, metric.most_not_scored * answers)


class FailureLimit:
    """Ends the scoring of a metric that fails for too many answers.

    Args:
        metric: The metric.
        answers: How many answers the whole set has; None to never end it.
    """

    def __init__(self, metric: BoundMetric, answers: int | None) -> None:
        self._metric = metric
        self._most = math.inf if answers is None else most_unscored(metric, answers)
        self._failed = 0
        self._first: str | None = None

    def add(self, rows: pl.DataFrame) -> None:
        """Count the failures among the rows of some answers.

        Args:
            rows: What `outcome_rows` returns, and others.

        Raises:
            MetricError: They are too many. It is the first of them.
        """
        failed = rows.filter(pl.col(OUTCOME) == FAILED)
        if failed.is_empty():
            return
        self._first = self._first or str(failed.sort("position")[REASON][0])
        self._failed += failed["position"].n_unique()
        if self._failed > self._most:
            cause = self._metric.computed.pop("cause", None)
            raise MetricError(self._first) from cause
