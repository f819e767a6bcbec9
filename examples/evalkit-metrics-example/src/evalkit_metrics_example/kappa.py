"""Cohen's kappa: a metric made of counts that add up, which works at column speed."""

from __future__ import annotations

import polars as pl

import evalkit


class Kappa(evalkit.Metric):
    """Agreement of predicted and right labels beyond what chance would give.

    kappa = (p_o - p_e) / (1 - p_e), where p_o is the share of examples with equal
    labels, and p_e the share that would be equal if both were drawn independently, each
    as often as it occurs: the sum over the labels of share predicted x share right
    (J. Cohen: A coefficient of agreement for nominal scales. Educational and
    Psychological Measurement 20(1), 1960, pages 37-46). 1 is full agreement, 0 is
    chance; undefined where both are always one and the same label.
    """

    bounds = (-1.0, 1.0)
    higher_is_better = True
    answer_kinds = ("one",)
    keys = ("right", "predicted")

    def statistics(self, batch: pl.DataFrame) -> pl.DataFrame:
        """Give one count for every example, in the cell of its two labels."""
        return batch.select(
            right=pl.col("target").cast(pl.String),
            predicted=pl.col("prediction").cast(pl.String),
            count=pl.lit(1.0),
        ).with_row_index("row")

    def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
        """Compute kappa of every group from the counts of its cells."""
        equal = pl.col("count").filter(pl.col("right") == pl.col("predicted"))
        groups = sums.group_by("group").agg(n=pl.col("count").sum(), agreed=equal.sum())
        # p_o and p_e, multiplied with n squared to keep to whole numbers
        observed = pl.col("n") * pl.col("agreed")
        expected = pl.col("expected").fill_null(0.0)
        possible = pl.col("n") ** 2 - expected
        return groups.join(_expected(sums), on="group", how="left").select(
            "group",
            value=pl.when(possible > 0).then((observed - expected) / possible),
            reason=pl.when(possible <= 0).then(pl.lit("there is only one label")),
        )


def _expected(sums: pl.DataFrame) -> pl.DataFrame:
    count = pl.col("count").sum()
    right = sums.group_by("group", label="right").agg(n_right=count)
    predicted = sums.group_by("group", label="predicted").agg(n_predicted=count)
    return (
        right.join(predicted, on=["group", "label"])
        .group_by("group")
        .agg(expected=(pl.col("n_right") * pl.col("n_predicted")).sum())
    )
