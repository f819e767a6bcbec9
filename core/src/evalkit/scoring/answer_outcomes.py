"""Outcomes of answers: a score, or why there is none."""

from __future__ import annotations

import polars as pl

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

OUTCOMES = pl.Enum(
    [SCORED, MISSING, INVALID, UNANSWERED, NOT_SCORED, FAILED, LOST, SILENT]
)
"""Type of the column of outcomes."""

LEFT_OUT = (MISSING, INVALID)
"""Outcomes of answers that no metric was given."""

UNSCORED = (NOT_SCORED, FAILED, LOST)
"""Outcomes of answers that a metric was given and says why it did not score."""


def outcome_rows(position: pl.Series, outcome: pl.Series | str) -> pl.DataFrame:
    """Return `position`, `OUTCOME` and `REASON` of answers.

    Args:
        position: The positions.
        outcome: One outcome for each, or that of all.
    """
    frame = pl.DataFrame({"position": position.cast(pl.UInt32)})
    return frame.with_columns(
        pl.lit(outcome).cast(OUTCOMES).alias(OUTCOME),
        pl.lit(None, pl.String).alias(REASON),
    )
