"""Means over classes, which the macro metrics are."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray
from pydantic import field_validator

from evalkit import MetricContext, Parameters
from evalkit_metrics_classification.confusion import (
    ConfusionMetric,
    check_labels,
    class_counts,
    count_arrays,
    counts_of,
    first_rows,
)

LabelChoice = Literal["gold", "seen", "declared"]


class MacroParameters(Parameters):
    """Which classes a macro average is taken over."""

    labels: LabelChoice | tuple[str, ...] = "gold"
    """`gold`: those with gold examples in the group; `seen`: those with gold examples
    or predictions in it; `declared`: all of the data set's; or a list of labels. A
    text that is none of the three words is a list of one."""

    @field_validator("labels", mode="before")
    @classmethod
    def _read_labels(cls, given: Any) -> Any:
        words = get_args(LabelChoice)
        if given in words:
            return given
        listed = (given,) if isinstance(given, str) else given
        if not isinstance(listed, list | tuple) or not all(
            isinstance(label, str) for label in listed
        ):
            raise ValueError(f"must be {', '.join(words)} or a list of labels")
        if not listed or "" in listed:
            raise ValueError("must not be empty, nor hold an empty label")
        if len(set(listed)) < len(listed):
            raise ValueError("must not name a label twice")
        if len(listed) == 1 and listed[0] in words:
            raise ValueError(
                f"must not be a list of the one label {listed[0]!r}, which could not "
                f"be told from the word; the parameter `label` of f1, precision and "
                "recall takes it"
            )
        return tuple(listed)


class MacroMetric(ConfusionMetric):
    """A mean over classes, in which an undefined score of a class counts 0."""

    Parameters = MacroParameters

    @property
    def labels(self) -> LabelChoice | tuple[str, ...]:
        """The parameter `labels`."""
        parameters = self.parameters
        assert isinstance(parameters, MacroParameters)
        return parameters.labels

    def finalize(self, sums: pl.DataFrame, context: MetricContext) -> pl.DataFrame:
        """Take the mean over the classes of every group."""
        seen = class_counts(sums)
        if self.labels == "declared" and context.labels is None:
            reason = "labels=declared, but the data set declares no labels"
            return (
                seen.select("group")
                .unique()
                .with_columns(
                    value=pl.lit(None, dtype=pl.Float64), reason=pl.lit(reason)
                )
            )
        is_chosen = isinstance(self.labels, tuple)
        nothing = pl.lit(None, dtype=pl.String)
        classes = self._classes(seen, context)
        absent = _absent() if is_chosen else nothing.first()
        scores = (
            classes.group_by("group", maintain_order=True)
            .agg(absent=absent)
            .with_columns(_means(classes, self.class_score().fill_null(0.0)))
        )
        flags = (pl.col("one_class"), pl.col("absent"))
        joined = pl.concat_str(flags, separator="; ", ignore_nulls=True)
        one_class = _one_class(seen)
        return scores.join(one_class, on="group", maintain_order="left").select(
            "group", "value", flag=pl.when(joined != "").then(joined)
        )

    def finalize_counts(
        self, counts: NDArray[np.float64], cells: pl.DataFrame, context: MetricContext
    ) -> dict[str, NDArray[np.float64]]:
        """Take the mean over the classes of every sample."""
        seen = count_arrays(counts, cells)
        if isinstance(self.labels, tuple):
            check_labels("labels", self.labels, context.labels)
            seen = seen.of(sorted(self.labels))
        elif self.labels == "declared":
            seen = seen.of(sorted(context.labels or ()))
        is_taken = np.ones(seen.hits.shape, dtype=bool)
        if self.labels in ("gold", "seen"):
            is_taken = seen.gold_count > 0
        if self.labels == "seen":
            is_taken |= seen.predicted_count > 0
        scores = seen.scores(self.class_score().fill_null(0.0))
        return {"": _means_of_rows(scores, is_taken)}

    def _classes(self, seen: pl.DataFrame, context: MetricContext) -> pl.DataFrame:
        if self.labels == "seen":
            return seen
        if self.labels == "gold":
            return seen.filter(pl.col("gold_count") > 0)
        if self.labels == "declared":
            return counts_of(seen, context.labels or ())
        check_labels("labels", self.labels, context.labels)
        return counts_of(seen, self.labels)


def _means(classes: pl.DataFrame, score: pl.Expr) -> pl.Series:
    """Return `value`, the mean score of each group of classes, which are sorted by it.

    The gradient of a score divides what rounding leaves by a small step, so that the
    rounding must not depend on how threads add up.
    """
    starts = first_rows(classes, ["group"])
    sizes = np.diff(starts, append=len(classes))
    scores = classes.select(score.cast(pl.Float64)).to_series().to_numpy()
    totals = np.add.reduceat(scores, starts) if len(starts) else scores
    return pl.Series("value", totals / sizes)


def _means_of_rows(
    scores: NDArray[np.float64], is_taken: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Return the mean of those scores of each row that are taken, nan without any.

    They are added up as `_means` adds them, so that both round alike.
    """
    sizes = is_taken.sum(axis=1)
    filled = np.flatnonzero(sizes)
    means = np.full(len(scores), np.nan)
    if len(filled):
        starts = np.cumsum(sizes) - sizes
        totals = np.add.reduceat(scores[is_taken], starts[filled])
        means[filled] = totals / sizes[filled]
    return means


def _one_class(seen: pl.DataFrame) -> pl.DataFrame:
    """Return `one_class`, the flag of every group whose answers all are the same."""
    gold = pl.col("label").filter(pl.col("gold_count") > 0)
    flag = pl.lit("one class: ") + gold.first()
    return seen.group_by("group").agg(one_class=pl.when(gold.len() == 1).then(flag))


def _absent() -> pl.Expr:
    """Return the flag of a group in which a class that was asked for does not occur."""
    absent = pl.col("label").filter(
        (pl.col("gold_count") == 0) & (pl.col("predicted_count") == 0)
    )
    flag = pl.lit("neither in answers nor in predictions: ") + absent.str.join(", ")
    return pl.when(absent.len() > 0).then(flag)
