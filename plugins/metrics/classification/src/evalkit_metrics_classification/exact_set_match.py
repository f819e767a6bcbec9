"""Exact match of sets of labels."""

from __future__ import annotations

import polars as pl

from evalkit_metrics_classification.label_sets import LabelSetMetric, set_counts


class ExactSetMatch(LabelSetMetric):
    """Share of examples whose predicted labels are exactly those of the answer.

    Neither order nor repetition counts. Nothing predicted where the answer is empty is
    right. A missing prediction that counts is wrong, also there. Range 0 to 1, in %,
    higher is better; Wilson's interval.

    Source: scikit-learn's `accuracy_score` of label sets (subset accuracy).

    Example:
        >>> import evalkit
        >>> said, gold = [["a", "b"], ["a"]], [["b", "a"], ["a", "b"]]
        >>> found = evalkit.score("exact-set-match", said, gold, answer_kind="all-of")
        >>> found["exact-set-match"].value
        0.5
    """

    interval = "wilson"
    per_example = "correct"
    worst_value = 0.0

    def statistics(self, batch: pl.DataFrame) -> pl.DataFrame:
        """Return 1 for equal sets and 0 for others."""
        hits = pl.col("hits")
        is_equal = (hits == pl.col("gold")) & (hits == pl.col("predicted"))
        correct = (is_equal & ~pl.col("is_silent")).cast(pl.Float64)
        counts = set_counts(batch)
        return counts.select(correct=correct, examples=pl.lit(1.0)).with_row_index(
            "row"
        )

    def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
        """Divide the right ones by all."""
        return sums.select("group", value=pl.col("correct") / pl.col("examples"))
