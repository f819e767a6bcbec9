"""Recall of the first ranks."""

from __future__ import annotations

import polars as pl

from evalkit_metrics_statistics.rankings import (
    Depth,
    RelevanceMetric,
    RelevanceParameters,
)


class RecallParameters(RelevanceParameters):
    """What counts."""

    k: Depth | None = 10
    """The first so many ranks count, at least 1."""


class RecallAtK(RelevanceMetric):
    """Share of what is relevant that stands in the first k ranks: `recall-at-k:k=10`.

    Per example the relevant items among the first k by all relevant references, and
    then the mean; where more than k are relevant it cannot be 1. The ranking is the
    prediction, where the task's answers are ranked lists, or else the alternatives in
    `responses`. Items are relevant that equal an answer; where there are `references`
    with a grade, those whose grade is above `grade_above`. Items with equal `scores`
    count as the mean over their orders. An example without anything relevant is left
    out, and a notice counts it; a missing prediction is 0. Range 0 to 1, in %, higher
    is better; Student's interval.

    Source: Manning, Raghavan and Schütze, Introduction to Information Retrieval, 2008,
    chapter 8; trec_eval's `recall`.

    Example:
        >>> import evalkit
        >>> ranked = {"responses": [["a", "c", "b"]]}
        >>> found = evalkit.score("recall-at-k:k=2", ["a"], [["a", "b"]], fields=ranked)
        >>> found["recall-at-k:k=2"].value
        0.5
    """

    Parameters = RecallParameters
    unit = "%"
    scale = 100.0

    def block_scores(self, blocks: pl.DataFrame) -> pl.Series:
        """Return how many relevant items stand in the first ranks."""
        within = pl.min_horizontal("size", self.depth - pl.col("start")).clip(0)
        share = pl.col("relevant") / pl.col("size")
        return blocks.select((share * within).alias("score")).to_series()
