"""What metrics of the job have in common that made the predictions."""

from __future__ import annotations

from typing import Any, NamedTuple

import polars as pl

from evalkit import Metric, MetricContext

NO_FILE = "the predictions are not of one file, beside which a job file could stand"


class Outcome(NamedTuple):
    """A value, or why there is none."""

    value: float | None
    reason: str | None = None


class Figures:
    """What a job took, and why a figure of it is not known.

    Args:
        context: What the metric knows beside its examples.
    """

    def __init__(self, context: MetricContext) -> None:
        self._job = context.job

    def get(self, name: str) -> Any:
        """Return a figure; None where it is not known."""
        return None if self._job is None else getattr(self._job.figures, name, None)

    def why_not(self, *names: str) -> str | None:
        """Say why one of several figures is not known; None where all are."""
        if self._job is None:
            return NO_FILE
        if self._job.figures is None:
            return f"there is no {self._job.file} beside the predictions"
        absent = [name for name in names if self.get(name) is None]
        return f"{self._job.file} has no `{absent[0]}`" if absent else None

    def ratio(self, above: str, below: str) -> Outcome:
        """Divide a figure by another one."""
        if reason := self.why_not(above, below):
            return Outcome(None, reason)
        if not self.get(below):
            return Outcome(None, f"division by 0, as `{below}` is 0")
        return Outcome(self.get(above) / self.get(below))


class JobMetric(Metric):
    """A number of the job that made the predictions, which no example has a part in.

    It is of the whole set: there are no scores of tags and under perturbation, and no
    interval, as one job says nothing of how much another one would take.
    """

    answer_kinds = ("none", "one", "any-of", "all-of", "spans", "ranked", "number")
    bounds = (0.0, None)
    higher_is_better = False
    interval = "none"
    whole_only = True
    # neither a response nor its absence makes a difference
    accepts_no_prediction = True
    joins_replications = True
    has_possible_range = False

    def outcomes(self, figures: Figures) -> dict[str, Outcome]:
        """Return each score by its name, "" for the main one."""
        raise TypeError(f"{type(self).__name__} does not define outcomes")

    def statistics(self, batch: pl.DataFrame) -> pl.DataFrame:
        """Count the examples."""
        return batch.select(
            row=pl.int_range(pl.len(), dtype=pl.UInt32), examples=pl.lit(1.0)
        )

    def finalize(self, sums: pl.DataFrame, context: MetricContext) -> pl.DataFrame:
        """Return the scores of the job, whatever the examples are."""
        found = self.outcomes(Figures(context))
        scores = pl.DataFrame(
            {
                "score": list(found),
                "value": [each.value for each in found.values()],
                "reason": [each.reason for each in found.values()],
            },
            schema={"score": pl.String, "value": pl.Float64, "reason": pl.String},
        )
        return sums.select("group").join(scores, how="cross")
