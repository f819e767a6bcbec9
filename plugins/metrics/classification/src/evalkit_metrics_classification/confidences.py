"""How sure a model was of its prediction: the probability that it gave its label."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from evalkit import Metric, MetricContext
from evalkit_metrics_classification.accuracy import is_right
from evalkit_metrics_classification.probabilities import (
    NO_PROBABILITIES,
    Probabilities,
    probabilities_of,
)

NO_CONFIDENCE = "the response gives its label no probability (`prob`)"


class ConfidenceMetric(Metric):
    """A score of confidences and of which predictions are right.

    An example without a usable prediction counts as sure and wrong.
    """

    unit = "%"
    bounds = (0.0, 1.0)
    scale = 100.0
    answer_kinds = ("one", "any-of")
    columns = ("prob",)
    accepts_no_prediction = True
    # an example that was left out is not known to have probabilities, were it right
    has_possible_range = False


def confidences_of(batch: pl.DataFrame, context: MetricContext) -> pl.DataFrame:
    """Return the confidence of every prediction.

    Args:
        batch: Columns `prediction`, `target` and `prob`.
        context: Says whether answers are single or lists.

    Returns:
        `row`, `confidence` (0 to 1), `is_right`, `count` (1) and `not_scored`.
    """
    given = probabilities_of(batch)
    found = np.clip(_of_labels(batch, given), 0.0, 1.0) + 0.0
    has_confidence = np.isfinite(found)
    found = np.where(given.is_silent, 1.0, np.where(has_confidence, found, 0.0))
    reasons = [
        None if known or silent else NO_CONFIDENCE if some else NO_PROBABILITIES
        for known, silent, some in zip(
            has_confidence, given.is_silent, given.is_given, strict=True
        )
    ]
    return pl.DataFrame(
        {
            "row": np.arange(len(batch), dtype=np.int64),
            "confidence": found,
            "is_right": batch.select(is_right(context)).to_series().rename("is_right"),
            "count": np.ones(len(batch)),
            "not_scored": pl.Series(reasons, dtype=pl.String),
        }
    )


def _of_labels(batch: pl.DataFrame, given: Probabilities) -> NDArray[np.float64]:
    """Return the probability of each predicted label, nan where there is none."""
    said = batch["prediction"].cast(pl.String)
    found = np.full(len(batch), np.nan)
    for place, label in enumerate(given.labels):
        chosen = (said == label).fill_null(False).to_numpy() & given.is_given
        found[chosen] = given.values[chosen, place]
    return found
