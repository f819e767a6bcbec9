"""Normalised discounted cumulative gain."""

from __future__ import annotations

from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from evalkit_metrics_statistics.rankings import Depth, RankingMetric, RankingParameters


class NDCGParameters(RankingParameters):
    """What counts, and for how much."""

    k: Depth | None = 10
    """The first so many ranks count; null for all."""
    gain: Literal["linear", "exponential"] = "linear"
    """What a grade g is worth: g, or 2^g - 1."""


class NDCG(RankingMetric):
    """Discounted gain of the first k ranks, by that of the best ranking: `ndcg:k=10`.

    Per example the sum of gain / log2(rank + 1) over the first k ranks, by the sum for
    all references in the order of their grades, and then the mean. The gain is the
    grade, with `gain=exponential` 2^grade - 1. Grades come from the field `grade` of
    `references`, or from their tags (`relevance=2`, `correct`); an answer without such
    a reference has the grade 1. The ranking is the prediction, where the task's answers
    are ranked lists, or else the alternatives in `responses`. Items with equal `scores`
    count as the mean over their orders. An example without a grade above 0 is left out,
    and a notice counts it; a missing prediction is 0. Range 0 to 1, higher is better;
    Student's interval.

    Source: Järvelin and Kekäläinen, Cumulated Gain-Based Evaluation of IR Techniques,
    2002; Burges et al., Learning to Rank using Gradient Descent, 2005, for
    `gain=exponential`; scikit-learn's `ndcg_score`, trec_eval's `ndcg_cut`.

    Example:
        >>> import evalkit
        >>> ranked = {"responses": [["b", "a"]]}
        >>> found = evalkit.score("ndcg", ["b"], ["a"], fields=ranked)
        >>> round(found["ndcg"].value, 6)
        0.63093
    """

    Parameters = NDCGParameters

    def gain(self, grade: pl.Expr) -> pl.Expr:
        """Return what an item of a grade is worth."""
        parameters = self.parameters
        assert isinstance(parameters, NDCGParameters)
        if parameters.gain == "linear":
            return grade
        return pl.lit(2.0).pow(grade) - 1

    def block_scores(self, blocks: pl.DataFrame) -> pl.Series:
        """Return the discounted gains, as if each item had the block's mean."""
        start, size = blocks["start"].to_numpy(), blocks["size"].to_numpy()
        first, last = (np.minimum(end, self.depth) for end in (start, start + size))
        discounts = summed_discounts(int(last.max(initial=0)))
        gains = blocks["gain"].to_numpy() / size
        return pl.Series("score", gains * (discounts[last] - discounts[first]))

    def best_score(self, relevant: pl.DataFrame) -> pl.DataFrame:
        """Return the discounted gain of the best ranking."""
        rank = pl.int_range(pl.len()).over("row")
        ranked = relevant.sort(["row", "gain"], descending=[False, True])
        first = ranked.with_columns(rank=rank).filter(pl.col("rank") < self.depth)
        discounted = pl.col("gain") / (pl.col("rank") + 2).log(2)
        return first.group_by("row").agg(best=discounted.sum())


def summed_discounts(ranks: int) -> NDArray[np.float64]:
    """Return the sum of 1 / log2(rank + 1) over the first 0, 1, ... ranks.

    Args:
        ranks: How many ranks there are.
    """
    discounts = 1 / np.log2(np.arange(ranks) + 2)
    return np.concatenate([[0.0], np.cumsum(discounts)])
