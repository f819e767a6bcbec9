"""Counts of gold and predicted labels, which the macro metrics are made of."""

from __future__ import annotations

from typing import Literal

import polars as pl

from evalkit import Metric, MetricContext, Parameters

LabelChoice = Literal["gold", "seen", "declared"]


class LabelParameters(Parameters):
    """Which classes a macro average is taken over."""

    labels: LabelChoice = "gold"
    """`gold`: those with gold examples in the group; `seen`: those with gold examples
    or predictions in it; `declared`: all of the data set's."""


class ConfusionMetric(Metric):
    """A mean over classes of something computed from confusion counts.

    A prediction that is missing, or of a class that the average leaves out, is only a
    miss of its gold class.
    """

    Parameters = LabelParameters
    unit = "%"
    bounds = (0.0, 1.0)
    higher_is_better = True
    scale = 100.0
    answer_kinds = ("one",)
    interval = "bootstrap"
    keys = ("gold", "predicted")
    accepts_no_prediction = True

    @property
    def labels(self) -> LabelChoice:
        """The parameter `labels`."""
        parameters = self.parameters
        assert isinstance(parameters, LabelParameters)
        return parameters.labels

    def statistics(self, batch: pl.DataFrame) -> pl.DataFrame:
        """Give one count for every example, in the cell of its two labels."""
        labels = pl.col("target", "prediction")
        types = {batch["target"].dtype, batch["prediction"].dtype}
        if len(types) > 1 and all(found.is_numeric() for found in types):
            # 1 and 1.0 are one label
            labels = labels.cast(pl.Float64)
        texts = batch.select(labels.cast(pl.String))
        return texts.select(
            gold="target", predicted="prediction", count=pl.lit(1.0)
        ).with_row_index("row")

    def finalize(self, sums: pl.DataFrame, context: MetricContext) -> pl.DataFrame:
        """Take the mean over the classes of every group."""
        if self.labels == "declared" and context.labels is None:
            reason = "labels=declared, but the data set declares no labels"
            return (
                sums.select("group")
                .unique()
                .with_columns(
                    value=pl.lit(None, dtype=pl.Float64), reason=pl.lit(reason)
                )
            )
        classes = class_counts(sums, self.labels, context.labels)
        gold_classes = (pl.col("gold_count") > 0).sum()
        one_class = (
            pl.lit("one class: ")
            + pl.col("label").filter(pl.col("gold_count") > 0).first()
        )
        return (
            classes.sort("group", "label")
            .group_by("group", maintain_order=True)
            .agg(
                value=self.class_score().mean(),
                flag=pl.when(gold_classes == 1).then(one_class.first()),
            )
        )

    def class_score(self) -> pl.Expr:
        """Give the score of one class.

        Returns:
            An expression over `hits`, `gold_count` and `predicted_count`.
        """
        raise TypeError(f"{type(self).__name__} does not define class_score")


def class_counts(
    sums: pl.DataFrame, choice: LabelChoice, declared: tuple[str, ...] | None
) -> pl.DataFrame:
    """Count hits, gold examples and predictions of every class of every group.

    Args:
        sums: `group`, `gold`, `predicted` and `count`.
        choice: Which classes are wanted.
        declared: The data set's labels.

    Returns:
        `group`, `label`, `hits`, `gold_count` and `predicted_count`.
    """
    keys = ["group", "label"]
    hits = pl.col("count").filter(pl.col("gold") == pl.col("predicted")).sum()
    gold = sums.group_by("group", label="gold").agg(
        gold_count=pl.col("count").sum(), hits=hits
    )
    predicted = (
        sums.drop_nulls("predicted")
        .group_by("group", label="predicted")
        .agg(predicted_count=pl.col("count").sum())
    )
    if choice == "declared":
        labels = pl.DataFrame({"label": pl.Series(declared or (), dtype=pl.String)})
        classes = sums.select("group").unique().join(labels, how="cross")
    elif choice == "seen":
        classes = pl.concat([gold.select(keys), predicted.select(keys)]).unique()
    else:
        classes = gold.filter(pl.col("gold_count") > 0).select(keys)
    return (
        classes.join(gold, on=keys, how="left")
        .join(predicted, on=keys, how="left")
        .with_columns(pl.col("hits", "gold_count", "predicted_count").fill_null(0.0))
    )
