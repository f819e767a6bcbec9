"""Mean reciprocal rank."""

from __future__ import annotations

from math import comb

import polars as pl

from evalkit_metrics_statistics.rankings import RelevanceMetric, by_kind_of_block


class MRR(RelevanceMetric):
    """Mean reciprocal rank: the mean of 1 / rank of the first relevant item.

    It is 0 where none is ranked, and `mrr:k=10` looks at the first ten ranks alone. The
    ranking is the prediction, where the task's answers are ranked lists, or else the
    alternatives in `responses`, and a prediction alone is a ranking of one. Items are
    relevant that equal an answer; where there are `references` with a grade, those
    whose grade is above `grade_above`. Items with equal `scores` count as the mean over
    their orders. An example without anything relevant is left out, and a notice counts
    it; a missing prediction is 0. Range 0 to 1, higher is better; Student's interval.

    Source: Voorhees, The TREC-8 Question Answering Track Report, 1999; trec_eval's
    `recip_rank`.

    Example:
        >>> import evalkit
        >>> ranked = {"responses": [["b", "a"], ["c", "d"]]}
        >>> evalkit.score("mrr", ["b", "c"], ["a", "c"], fields=ranked)["mrr"].value
        0.75
    """

    def best_score(self, relevant: pl.DataFrame) -> pl.DataFrame:
        """Return 1 for each example with something relevant."""
        return relevant.select("row").unique().with_columns(best=pl.lit(1.0))

    def block_scores(self, blocks: pl.DataFrame) -> pl.Series:
        """Return the mean reciprocal rank of the first relevant item of the first."""
        return by_kind_of_block(blocks, self._expected)

    def _expected(self, start: int, size: int, relevant: int, before: int) -> float:
        if before:
            return 0.0
        orders = comb(size, relevant)
        return sum(
            comb(size - place, relevant - 1) / orders / (start + place)
            for place in range(1, size - relevant + 2)
            if start + place <= self.depth
        )
