"""Scores of labels as SEA-HELM makes them, in which what is no label is null."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from evalkit import Metric, MetricContext
from evalkit_metrics_compat.seahelm_text import label_of


class SeahelmLabels(Metric):
    """A score of the counts of gold labels and of the labels that predictions name.

    A prediction names the declared label that it is, or else the one that is the same
    after `label_of`, where that is one; otherwise it names none. Without declared
    labels what `label_of` makes of a text is a label.
    """

    unit = "%"
    bounds = (0.0, 1.0)
    higher_is_better = True
    scale = 100.0
    answer_kinds = ("one",)
    interval = "multinomial"
    keys = ("gold", "predicted")
    accepts_no_prediction = True

    def statistics(self, batch: pl.DataFrame, context: MetricContext) -> pl.DataFrame:
        """Return one count for every example, in the cell of its two labels."""
        texts = batch.select(pl.col("target", "prediction").cast(pl.String))
        distinct = pl.concat([texts["target"], texts["prediction"]]).unique()
        known = {text: _named(text, context.labels) for text in distinct.drop_nulls()}
        names = {"gold": "target", "predicted": "prediction"}
        columns = {
            name: [None if text is None else known[text] for text in texts[column]]
            for name, column in names.items()
        }
        return pl.DataFrame(columns, schema=dict.fromkeys(names, pl.String)).select(
            pl.int_range(pl.len()).alias("row"), pl.all(), count=pl.lit(1.0)
        )


def _named(text: str, labels: Sequence[str] | None) -> str | None:
    """Return the label that a text names."""
    if labels is None:
        return label_of(text)
    if text in labels:
        return text
    form = label_of(text)
    alike = [label for label in labels if label_of(label) == form]
    return alike[0] if len(alike) == 1 else None


def class_scores(sums: pl.DataFrame) -> pl.DataFrame:
    """Return F1 of every class of every group.

    Args:
        sums: `group`, `gold`, `predicted` and `count`.

    Returns:
        `group`, `label` (null for predictions that name none), `gold` and `predicted`
        (how many) and `f1`, sorted by the first two.
    """
    count, nothing = pl.col("count"), pl.lit(0.0)
    is_hit = (pl.col("gold") == pl.col("predicted")).fill_null(False)
    gold = sums.select(
        "group",
        label="gold",
        hits=pl.when(is_hit).then(count).otherwise(nothing),
        gold=count,
        predicted=nothing,
    )
    said = sums.select(
        "group", label="predicted", hits=nothing, gold=nothing, predicted=count
    )
    # sorted, so that rounding does not depend on the order of rows
    cells = pl.concat([gold, said]).sort("group", "label", "hits", "gold", "predicted")
    counted = cells.group_by("group", "label", maintain_order=True).agg(
        pl.col("hits", "gold", "predicted").sum()
    )
    both = pl.col("gold") + pl.col("predicted")
    f1 = pl.when(both > 0).then(2 * pl.col("hits") / both).otherwise(0.0)
    return counted.filter(both > 0).with_columns(f1=f1)
