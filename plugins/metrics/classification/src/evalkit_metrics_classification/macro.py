"""Means over classes, which the macro metrics are."""

from __future__ import annotations

import numpy as np
import polars as pl

from evalkit_metrics_classification.averages import (
    LabelAverage,
    Numbers,
    Places,
    totals,
)


class MacroMetric(LabelAverage):
    """A mean over classes, in which an undefined score of a class counts 0."""

    def averages(self, classes: pl.DataFrame, starts: Places) -> Numbers:
        """Take the mean over the classes of every group."""
        score = self.class_score().fill_null(0.0).cast(pl.Float64)
        scores = classes.select(score).to_series().to_numpy()
        return totals(scores, starts) / np.diff(starts, append=len(classes))
