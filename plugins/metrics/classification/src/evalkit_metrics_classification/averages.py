"""Averages over classes, each of those that a parameter chooses."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray
from pydantic import field_validator

import evalkit
from evalkit import MetricContext
from evalkit_metrics_classification import confusion
from evalkit_metrics_classification.confusion import (
    ConfusionMetric,
    check_labels,
    class_counts,
    count_arrays,
    counts_of,
    first_rows,
)

Numbers = NDArray[np.float64]
Places = NDArray[np.int64]
LabelChoice = Literal["gold", "seen", "declared"]


class LabelParameters(evalkit.Parameters):
    """Which classes an average is taken over."""

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


class LabelAverage(ConfusionMetric):
    """One score of the counts of several classes."""

    Parameters: ClassVar[type[evalkit.Parameters]] = LabelParameters
    lacking: ClassVar[str] = "no example of any of the classes"
    """What a group lacks in which the score is undefined."""

    @property
    def labels(self) -> LabelChoice | tuple[str, ...]:
        """The parameter `labels`."""
        parameters = self.parameters
        assert isinstance(parameters, LabelParameters)
        return parameters.labels

    def averages(self, classes: pl.DataFrame, starts: Places) -> Numbers:
        """Return the score of each group of classes.

        Args:
            classes: `COUNTS` of the classes, those of a group together.
            starts: The place of the first class of each group; every group has one.

        Returns:
            A value for each group, nan where it is undefined.
        """
        raise TypeError(f"{type(self).__name__} does not define averages")

    def finalize(self, sums: pl.DataFrame, context: MetricContext) -> pl.DataFrame:
        """Score the classes of every group."""
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
            .with_columns(self._values(classes))
        )
        flags = (pl.col("one_class"), pl.col("absent"))
        joined = pl.concat_str(flags, separator="; ", ignore_nulls=True)
        one_class = _one_class(seen)
        return scores.join(one_class, on="group", maintain_order="left").select(
            "group",
            "value",
            reason=pl.when(pl.col("value").is_null()).then(pl.lit(self.lacking)),
            flag=pl.when(joined != "").then(joined),
        )

    def finalize_counts(
        self, counts: NDArray[np.float64], cells: pl.DataFrame, context: MetricContext
    ) -> dict[str, NDArray[np.float64]]:
        """Score the classes of every sample."""
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
        sizes = is_taken.sum(axis=1)
        filled = np.flatnonzero(sizes)
        values = np.full(len(sizes), np.nan)
        if len(filled):
            starts = np.cumsum(sizes) - sizes
            values[filled] = self.averages(seen.table(is_taken), starts[filled])
        return {"": values}

    def _values(self, classes: pl.DataFrame) -> pl.Series:
        """Return `value` of each group of classes, which are sorted by it.

        The gradient of a score divides what rounding leaves by a small step, so that
        the rounding must not depend on how threads add up.
        """
        starts = first_rows(classes, ["group"])
        if not len(starts):
            return pl.Series("value", [], pl.Float64)
        values = self.averages(classes, starts)
        return pl.Series("value", values, nan_to_null=True)

    def _classes(self, seen: pl.DataFrame, context: MetricContext) -> pl.DataFrame:
        if self.labels == "seen":
            return seen
        if self.labels == "gold":
            return seen.filter(pl.col("gold_count") > 0)
        if self.labels == "declared":
            return counts_of(seen, context.labels or ())
        check_labels("labels", self.labels, context.labels)
        return counts_of(seen, self.labels)


def totals(numbers: Numbers, starts: Places) -> Numbers:
    """Add up the numbers of each group, in their order."""
    return np.add.reduceat(numbers, starts)


def ratio(above: Numbers, below: Numbers, least: Numbers | float = 0.0) -> Numbers:
    """Divide, nan where it is divided by no more than the least."""
    result = np.full(len(below), np.nan)
    is_defined = below > least
    result[is_defined] = above[is_defined] / below[is_defined]
    return result


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


class WeightedF1(LabelAverage):
    """Mean over classes of F1, each weighted by the number of its gold examples.

    A class without gold examples has no weight, so that `labels=gold` (the default),
    `seen` and `declared` give the same; a list `labels=a/b` takes these classes alone,
    and is undefined, and null, where none of them has a gold example. Frequent classes
    decide it: `macro-f1` weights all alike. A missing prediction is a miss. Range 0 to
    1, in %, higher is better; a multinomial interval, with clusters a bootstrap.

    Source: scikit-learn's `f1_score` with `average="weighted"`.

    Example:
        >>> import evalkit
        >>> said, gold = ["a", "a", "b", "b"], ["a", "b", "b", "b"]
        >>> found = evalkit.score("weighted-f1", said, gold)
        >>> round(found["weighted-f1"].value, 4)
        0.7667
    """

    def class_score(self) -> pl.Expr:
        """Return F1 of a class; null where it has neither examples nor predictions."""
        return confusion.f1()

    def averages(self, classes: pl.DataFrame, starts: Places) -> Numbers:
        """Divide the weighted sum by the examples of the classes."""
        scores = classes.select(self.class_score().fill_null(0.0)).to_series()
        gold = classes["gold_count"].to_numpy()
        return ratio(totals(scores.to_numpy() * gold, starts), totals(gold, starts))


class MicroParameters(LabelParameters):
    """Which classes are added up."""

    labels: LabelChoice | tuple[str, ...] = "seen"
    """`seen` (the default), `gold`, `declared`, or a list of labels."""


class MicroF1(LabelAverage):
    """F1 of several classes together, 2 hits / (gold + predicted), each added up first.

    Over all classes seen (`labels=seen`, the default) it is accuracy where every
    example has a prediction: it says more where `labels=a/b` leaves out a class, such
    as "none of these". A missing prediction adds to gold alone. Undefined, and null,
    where none of the classes occurs. Range 0 to 1, in %, higher is better; a
    multinomial interval, with clusters a bootstrap.

    Source: Manning, Raghavan and Schuetze, Introduction to Information Retrieval, 2008,
    section 13.6; scikit-learn's `f1_score` with `average="micro"`.

    Example:
        >>> import evalkit
        >>> name = "micro-f1:labels=per/loc"
        >>> said, gold = ["no", "per", "per", "no"], ["no", "no", "per", "loc"]
        >>> evalkit.score(name, said, gold)[name].value
        0.5
    """

    Parameters = MicroParameters
    # a wrong prediction of a listed class lowers it more than none does
    has_possible_range = False
    lacking = "no example and no prediction of any of the classes"

    def averages(self, classes: pl.DataFrame, starts: Places) -> Numbers:
        """Divide the added hits by the added gold and predicted ones."""
        hits, gold, predicted = (
            totals(column.to_numpy(), starts)
            for column in classes.select("hits", "gold_count", "predicted_count")
        )
        return ratio(2 * hits, gold + predicted)
