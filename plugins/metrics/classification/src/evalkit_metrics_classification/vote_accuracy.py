"""Accuracy of what most of several answers say."""

from __future__ import annotations

import polars as pl

from evalkit import MetricContext
from evalkit_metrics_classification.alternatives import (
    ShareMetric,
    alternatives_of,
    only_right,
    ranked,
)


class VoteAccuracy(ShareMetric):
    """Share of examples whose most frequent alternative equals an answer.

    The majority vote of Wang et al., Self-Consistency Improves Chain of Thought
    Reasoning in Language Models, 2023 (maj@n). Of several that are equally frequent the
    one that comes first in the list is taken. Alternatives from which no answer could
    be extracted do not vote; where none votes the example is wrong. Range 0 to 1, in %,
    higher is better; Wilson's interval.
    """

    def right_rows(self, batch: pl.DataFrame, context: MetricContext) -> pl.Series:
        """Find the examples whose vote is right."""
        votes = elected(ranked(alternatives_of(batch)))
        return only_right(votes, batch, context)["row"]


def elected(votes: pl.DataFrame) -> pl.DataFrame:
    """Find the most frequent prediction of every example.

    Args:
        votes: `row`, `rank` and `prediction`.

    Returns:
        `row` and `prediction`; of equally frequent ones that of the lowest rank.
    """
    counted = votes.group_by("row", "prediction").agg(
        votes=pl.len(), rank=pl.col("rank").min()
    )
    ordered = counted.sort("row", "votes", "rank", descending=[False, True, False])
    return ordered.unique("row", keep="first", maintain_order=True).select(
        "row", "prediction"
    )
