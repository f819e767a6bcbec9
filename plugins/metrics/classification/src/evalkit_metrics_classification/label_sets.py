"""Sets of labels, of which an example may have several or none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import polars as pl

from evalkit import Metric, MetricContext, MetricError
from evalkit_metrics_classification.averages import LabelParameters
from evalkit_metrics_classification.confusion import check_labels, f1


class LabelSetMetric(Metric):
    """A score of sets of labels; a label that is given twice counts once."""

    unit = "%"
    bounds = (0.0, 1.0)
    higher_is_better = True
    scale = 100.0
    answer_kinds = ("all-of",)
    accepts_no_prediction = True


def set_counts(batch: pl.DataFrame) -> pl.DataFrame:
    """Count the labels of every example.

    Args:
        batch: Lists `prediction`, null where there is none, and `target`.

    Returns:
        `hits` (labels that both have), `gold`, `predicted` (0 where there is no
        prediction) and `is_silent`.
    """
    sets = as_sets(batch)
    prediction, target = pl.col("prediction"), pl.col("target")
    return sets.select(
        hits=prediction.list.set_intersection(target).list.len().cast(pl.Float64),
        gold=target.list.len().cast(pl.Float64),
        predicted=prediction.list.len().cast(pl.Float64),
        is_silent="is_silent",
    )


def as_sets(batch: pl.DataFrame) -> pl.DataFrame:
    """Return both lists as texts without repetitions, and `is_silent`.

    Args:
        batch: Lists `prediction`, null where there is none, and `target`.

    Returns:
        `prediction`, empty where there is none, `target` and `is_silent`.
    """
    kind = pl.List(pl.String)
    given = pl.col("prediction").cast(kind)
    return batch.select(
        is_silent=pl.col("prediction").is_null(),
        prediction=given.fill_null(pl.lit([], dtype=kind)).list.unique(),
        target=pl.col("target").cast(kind).list.unique(),
    )


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
