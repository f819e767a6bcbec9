"""Hamming loss."""

from __future__ import annotations

import polars as pl

from evalkit import MetricContext, MetricError
from evalkit_metrics_classification.label_sets import LabelSetMetric, as_sets


class Hamming(LabelSetMetric):
    """Share of the labels of an example that are wrongly there or wrongly not there.

    Per example the labels that only one of prediction and answer has, by the number of
    declared labels, and then the mean. A predicted label that is not declared is wrong,
    and the score is flagged with their number; no example counts more than 1. Empty
    against empty is 0. A missing prediction that counts is 1, as if every label were
    wrong. Data that declare no labels are refused, as it is not known how many labels
    an example might have had. Range 0 to 1, in %, lower is better; Student's interval.

    Source: Schapire and Singer, BoosTexter, 2000; scikit-learn's `hamming_loss` of
    label sets.

    Example:
        >>> import evalkit
        >>> said, gold = [["a", "b"], ["a"]], [["a"], ["a"]]
        >>> declared = {"labels": ["a", "b"], "answer_kind": "all-of"}
        >>> evalkit.score("hamming", said, gold, **declared)["hamming"].value
        0.25
    """

    higher_is_better = False
    interval = "t"
    per_example = "loss"
    worst_value = 1.0

    def statistics(self, batch: pl.DataFrame, context: MetricContext) -> pl.DataFrame:
        """Return the loss of every example, and its labels that are not declared."""
        if not context.labels:
            raise MetricError(
                "the data set declares no labels, so that it is not known how many an "
                "example might have had"
            )
        declared = pl.lit(pl.Series([list(context.labels)]))
        prediction, target = pl.col("prediction"), pl.col("target")
        wrong = prediction.list.set_symmetric_difference(target).list.len()
        others = prediction.list.set_difference(declared).list.len()
        share = (wrong / len(context.labels)).clip(upper_bound=1.0)
        return (
            as_sets(batch)
            .select(
                loss=pl.when("is_silent").then(1.0).otherwise(share),
                others=others.cast(pl.Float64),
                examples=pl.lit(1.0),
            )
            .with_row_index("row")
        )

    def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
        """Take the mean."""
        others = pl.col("others")
        flag = pl.format("labels not declared: {}", others.round().cast(pl.Int64))
        return sums.select(
            "group",
            value=pl.col("loss") / pl.col("examples"),
            flag=pl.when(others > 0).then(flag),
        )
