"""Dynabench's score of DataPerf, which is called F1 there."""

from __future__ import annotations

import polars as pl
import polars.selectors as cs

from evalkit import Metric


class DataperfF1(Metric):
    """Mean over labels of the share of examples that rightly have, or lack, the label.

    For each label that an answer of the group has: (both have it + neither has it) /
    examples; then the mean over these labels. It is the accuracy of presence, no F1: a
    label of one example in ten that is never predicted gives 0.9 (the macro F1 of sets
    of labels: 0). Labels that are only predicted do not count. `#LABEL` is the share of
    one label. Answers are sets (`all-of`); a label that is repeated counts once. A
    missing prediction that counts is the empty set. Several seeds are replications,
    whose mean is taken. Without a label in any answer it is null. Range 0 to 1, in %,
    higher is better; a bootstrap interval.

    Source: `dataperf_f1` of Dynabench (commit 0a80494d): scikit-learn's
    `f1_score(average="micro")` of two columns of zeros and ones, label by label.

    Example:
        >>> import evalkit
        >>> from pydantic import BaseModel
        >>> class Photo(BaseModel):
        ...     uid: str
        >>> class Labels(BaseModel):
        ...     id: str
        ...     labels: list[str]
        >>> class Labelling(evalkit.TaskIO):
        ...     Input, Output, example = Photo, Labels, {"uid": "1"}
        ...     answer_field, answer_kind = "labels", "all-of"
        ...     perf_metric = "dataperf-f1"
        >>> rows = [{"uid": "1", "labels": ["cat"]}, {"uid": "2", "labels": []}]
        >>> said = [{"id": "1", "labels": []}, {"id": "2", "labels": []}]
        >>> found = evalkit.evaluate(data=rows, predictions=said, task=Labelling)
        >>> found["dataperf-f1"].value
        0.5
    """

    unit = "%"
    bounds = (0.0, 1.0)
    higher_is_better = True
    scale = 100.0
    answer_kinds = ("all-of",)
    interval = "bootstrap"
    keys = ("label",)
    accepts_no_prediction = True

    def statistics(self, batch: pl.DataFrame) -> pl.DataFrame:
        """Return where each label is an answer, and where it is so alone or not at all.

        A row without a label counts the example.
        """
        rows = batch.select("prediction", "target").with_row_index("row")
        said = _labels(rows, "prediction").with_columns(said=pl.lit(1.0))
        gold = _labels(rows, "target").with_columns(gold=pl.lit(1.0))
        labels = (
            gold.join(said, on=["row", "label"], how="full", coalesce=True)
            .with_columns(pl.col("gold", "said").fill_null(0.0))
            .select(
                "row",
                "label",
                "gold",
                wrong=(pl.col("gold") - pl.col("said")).abs(),
                examples=pl.lit(0.0),
            )
        )
        every = rows.select(
            "row",
            label=pl.lit(None, dtype=pl.String),
            gold=pl.lit(0.0),
            wrong=pl.lit(0.0),
            examples=pl.lit(1.0),
        )
        return pl.concat([labels, every]).sort("row", "label", nulls_last=True)

    def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
        """Take the share of each label that is an answer, and the mean of these."""
        examples = sums.group_by("group").agg(pl.col("examples").sum())
        labels = sums.filter(pl.col("label").is_not_null() & (pl.col("gold") > 0))
        shares = (
            labels.drop("examples")
            .join(examples, on="group", maintain_order="left")
            .sort("group", "label")
            .select(
                "group", score="label", value=1 - pl.col("wrong") / pl.col("examples")
            )
        )
        means = shares.group_by("group").agg(pl.col("value").mean())
        value = pl.col("value")
        main = examples.join(means, on="group", how="left").select(
            "group",
            value,
            score=pl.lit(""),
            reason=pl.when(value.is_null()).then(pl.lit("no answer has a label")),
        )
        named = shares.with_columns(
            pl.when(pl.col("score") == "")
            .then(pl.lit('""'))
            .otherwise("score")
            .alias("score")
        )
        return pl.concat([main, named], how="diagonal").sort("group", "score")


def _labels(rows: pl.DataFrame, column: str) -> pl.DataFrame:
    """Return `row` and `label`, each label of a row once."""
    items = cs.by_name(column).as_expr().cast(pl.List(pl.String))
    return (
        rows.select("row", label=items)
        .explode("label")
        .drop_nulls("label")
        .unique(maintain_order=True)
    )
