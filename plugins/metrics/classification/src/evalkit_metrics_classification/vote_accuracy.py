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

    The majority vote, also maj@n. Of several that are equally frequent the one that
    comes first in the list is taken. Alternatives from which no answer could be
    extracted do not vote; where none votes the example is wrong, and so is a missing
    response that counts. Range 0 to 1, in %, higher is better; Wilson's interval.

    Source: Wang et al., Self-Consistency Improves Chain of Thought Reasoning in
    Language Models, 2023.

    Example:
        >>> import evalkit
        >>> given = {"responses": [["5", "4", "4"]]}
        >>> found = evalkit.score("vote-accuracy", ["5"], ["4"], fields=given)
        >>> found["vote-accuracy"].value
        1.0
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
