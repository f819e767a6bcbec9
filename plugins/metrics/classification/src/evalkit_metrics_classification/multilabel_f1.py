"""F1 of sets of labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import polars as pl

from evalkit import MetricContext
from evalkit_metrics_classification.averages import LabelParameters
from evalkit_metrics_classification.confusion import check_labels, f1
from evalkit_metrics_classification.label_sets import LabelSetMetric, as_sets

_COUNTS = ("hits", "gold_count", "predicted_count")


class MultilabelF1(LabelSetMetric):
    """F1 of sets of labels: of all labels together, by label, and by example.

    `multilabel-f1#micro` adds hits, gold and predicted labels up over all examples and
    takes 2 hits / (gold + predicted); `#macro` is the mean of that over labels, and
    `#samples` over examples, where empty against empty is 1. `labels` says of which
    labels `#macro` is the mean: `gold` (the default), those in answers of the group;
    `seen`, those in answers or predictions; `declared`, all of the data set, of which
    one that does not occur counts 0. The other two count every label, also predicted
    ones that are not declared; a list `labels=a/b` restricts all three to these labels.
    A missing prediction is a miss of each label, and 0 for `#samples`. 0 / 0 is null
    for `#micro` and `#macro`. Range 0 to 1, in %, higher is better; a bootstrap
    interval.

    Source: Tsoumakas, Katakis and Vlahavas, Mining Multi-label Data, 2010;
    scikit-learn's `f1_score` of label sets with `average="micro"`, `"macro"` and
    `"samples"`, the last with `zero_division=1`.

    Example:
        >>> import evalkit
        >>> said, gold = [["a", "b"], ["a"]], [["a"], ["a"]]
        >>> found = evalkit.score("multilabel-f1", said, gold, answer_kind="all-of")
        >>> found["multilabel-f1#micro"].value
        0.8
    """

    Parameters = LabelParameters
    interval = "bootstrap"
    keys = ("label",)
    # a wrong prediction may lower it more than none does
    has_possible_range = False
    scores: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "micro": {},
        "macro": {},
        "samples": {},
    }

    @property
    def labels(self) -> str | tuple[str, ...]:
        """The parameter `labels`."""
        parameters = self.parameters
        assert isinstance(parameters, LabelParameters)
        return parameters.labels

    def statistics(self, batch: pl.DataFrame, context: MetricContext) -> pl.DataFrame:
        """Return a row for each label of an example, and one for the example itself."""
        sets = as_sets(batch).with_row_index("row")
        lists = pl.col("prediction", "target")
        if isinstance(self.labels, tuple):
            check_labels("labels", self.labels, context.labels)
            chosen = pl.lit(pl.Series([list(self.labels)]))
            sets = sets.with_columns(lists.list.set_intersection(chosen))
        return pl.concat([_examples(sets), _labels(sets)])

    def finalize(self, sums: pl.DataFrame, context: MetricContext) -> pl.DataFrame:
        """Score every group."""
        examples = sums.filter(pl.col("label").is_null()).sort("group")
        labels = sums.filter(pl.col("label").is_not_null())
        groups = examples.select("group")
        counts = labels.group_by("group").agg(pl.col(_COUNTS).sum())
        together = groups.join(counts, on="group", how="left", maintain_order="left")
        none = pl.lit("neither an answer nor a prediction has a label")
        micro = together.select("group", score=pl.lit("micro"), value=f1(), reason=none)
        samples = pl.col("samples") / pl.col("examples")
        return pl.concat(
            [
                micro,
                self._macro(groups, labels, context),
                examples.select(
                    "group",
                    score=pl.lit("samples"),
                    value=samples,
                    reason=pl.lit(None, dtype=pl.String),
                ),
            ]
        )

    def _macro(
        self, groups: pl.DataFrame, labels: pl.DataFrame, context: MetricContext
    ) -> pl.DataFrame:
        """Return the mean over the labels that the parameter chooses."""
        reason = "no answer has a label"
        names = self.labels if isinstance(self.labels, tuple) else context.labels
        if self.labels == "gold":
            labels = labels.filter(pl.col("gold_count") > 0)
        elif self.labels == "seen":
            reason = "neither an answer nor a prediction has a label"
        elif names is None:
            labels = labels.clear()
            reason = "labels=declared, but the data set declares no labels"
        else:
            known = pl.DataFrame({"label": pl.Series(names, dtype=pl.String)})
            every = groups.join(known, how="cross")
            labels = every.join(labels, on=["group", "label"], how="left")
        # of lists sorted by label, so that rounding does not depend on threads
        means = (
            labels.sort("group", "label")
            .group_by("group", maintain_order=True)
            .agg(value=f1().fill_null(0.0).implode().list.mean())
        )
        return groups.join(means, on="group", how="left", maintain_order="left").select(
            "group", score=pl.lit("macro"), value="value", reason=pl.lit(reason)
        )


def _examples(sets: pl.DataFrame) -> pl.DataFrame:
    """Return F1 of each example, without a label."""
    hits = pl.col("prediction").list.set_intersection("target").list.len()
    both = pl.col("prediction").list.len() + pl.col("target").list.len()
    value = pl.when(both > 0).then(2 * hits / both).otherwise(1.0)
    return sets.select(
        "row",
        label=pl.lit(None, dtype=pl.String),
        **dict.fromkeys(_COUNTS, pl.lit(0.0)),
        samples=pl.when("is_silent").then(0.0).otherwise(value),
        examples=pl.lit(1.0),
    )


def _labels(sets: pl.DataFrame) -> pl.DataFrame:
    """Return a row for each label that an example has or is given."""
    label = pl.col("prediction").list.set_union("target").alias("label")
    each = sets.with_columns(label).explode("label").drop_nulls("label")
    is_gold = pl.col("target").list.contains(pl.col("label"))
    is_said = pl.col("prediction").list.contains(pl.col("label"))
    counts = ((is_gold & is_said), is_gold, is_said)
    return each.select(
        "row",
        "label",
        **{
            name: count.cast(pl.Float64)
            for name, count in zip(_COUNTS, counts, strict=True)
        },
        samples=pl.lit(0.0),
        examples=pl.lit(0.0),
    )
