"""Mean average precision."""

from __future__ import annotations

import polars as pl

from evalkit_metrics_statistics.rankings import RelevanceMetric, by_kind_of_block


class MAP(RelevanceMetric):
    """Mean average precision of rankings.

    Per example the precision at the rank of each relevant item, added up and divided by
    the number of relevant references, also of those that are not ranked, and then the
    mean. `map:k=10` looks at the first ten ranks alone, and divides by the same number.
    The ranking is the prediction, where the task's answers are ranked lists, or else
    the alternatives in `responses`. Items are relevant that equal an answer; where
    there are `references` with a grade, those whose grade is above `grade_above`. Items
    with equal `scores` count as the mean over their orders. An example without anything
    relevant is left out, and a notice counts it; a missing prediction is 0. Range 0 to
    1, higher is better; Student's interval.

    Source: Buckley and Voorhees, Evaluating Evaluation Measure Stability, 2000;
    trec_eval's `map` and `map_cut`.

    Example:
        >>> import evalkit
        >>> ranked = {"responses": [["a", "c", "b"]]}
        >>> found = evalkit.score("map", ["a"], [["a", "b"]], fields=ranked)
        >>> found["map"].value
        0.8333333333333333
    """

    def block_scores(self, blocks: pl.DataFrame) -> pl.Series:
        """Return the precisions at the relevant items, as a mean over orders."""
        return by_kind_of_block(blocks, self._expected)

    def _expected(self, start: int, size: int, relevant: int, before: int) -> float:
        # of the items before a relevant one in the block so many are relevant, too
        share = (relevant - 1) / (size - 1) if size > 1 else 0.0
        places = range(1, min(size, self.depth - start) + 1)
        precisions = (
            (before + 1 + (place - 1) * share) / (start + place) for place in places
        )
        return relevant / size * sum(precisions)
