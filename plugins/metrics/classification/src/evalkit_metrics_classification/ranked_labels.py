"""Scores of how well the probability of a class ranks its examples above the others.

Statistics are how many examples of a class, and how many others, have each probability.
They add up, and every sample of examples is one of counts of the same probabilities,
which are sorted once.
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import numpy as np
import polars as pl

from evalkit import Metric, MetricContext, MetricError
from evalkit_metrics_classification.averages import Numbers, Places, totals
from evalkit_metrics_classification.confusion import check_labels, first_rows
from evalkit_metrics_classification.per_class import ClassParameters
from evalkit_metrics_classification.probabilities import (
    NO_PROBABILITIES,
    Probabilities,
    probabilities_of,
)

NOT_AMONG_THEM = "the answer has no probability among those of the response (`prob`)"


class RankedParameters(ClassParameters):
    """Which class is ranked."""

    label: str | None = None
    """The class whose probability ranks the examples; without it, the score is the
    mean over the classes."""


class Rankings(NamedTuple):
    """Counts of examples by probability, for one class in each of some samples.

    The samples stand one after the other; in each, probabilities go from high to low.
    """

    positives: Numbers
    """Examples of the class with a probability."""
    negatives: Numbers
    """The other examples with it."""
    starts: Places
    """Where each sample begins."""

    def totals(self, numbers: Numbers) -> Numbers:
        """Add up the numbers of each sample."""
        return totals(numbers, self.starts) if len(self.starts) else numbers

    def running(self, counts: Numbers) -> Numbers:
        """Return the counts of the probabilities up to each in its sample, added up."""
        # exact, as counts are whole numbers
        sums = np.cumsum(counts)
        before = np.where(self.starts > 0, sums[self.starts - 1], 0.0)
        lengths = np.diff(self.starts, append=len(counts))
        return sums - np.repeat(before, lengths)


class RankingMetric(Metric):
    """The mean over classes of a score of the probabilities of one class."""

    Parameters = RankedParameters
    unit = "%"
    bounds = (0.0, 1.0)
    higher_is_better = True
    scale = 100.0
    answer_kinds = ("one",)
    interval = "bootstrap"
    columns = ("prob",)
    keys = ("label", "is_gold", "probability")
    accepts_no_prediction = True
    # an example that was left out is not known to have probabilities, were it right
    has_possible_range = False
    both_classes: ClassVar[bool] = True
    """Whether each of two classes has a score of its own."""
    lacking: ClassVar[str]
    """What a group lacks in which no class has a score."""

    def class_scores(self, rankings: Rankings) -> Numbers:
        """Return the score of the class in each sample, nan where it is undefined.

        Args:
            rankings: The counts.
        """
        raise TypeError(f"{type(self).__name__} does not define class_scores")

    @property
    def label(self) -> str | None:
        """The parameter `label`."""
        parameters = self.parameters
        assert isinstance(parameters, RankedParameters)
        return parameters.label

    def statistics(self, batch: pl.DataFrame, context: MetricContext) -> pl.DataFrame:
        """Return a row for each class of every example."""
        given = probabilities_of(batch, context.labels)
        classes = self._classes(given, context)
        parts = [self._rows(batch, given, label) for label in classes]
        lacks = [_why_not(*row) for row in zip(*_signs(batch, given), strict=True)]
        lacking = pl.Series("not_scored", lacks, dtype=pl.String)
        is_scored = lacking.is_null()
        rows = pl.concat([part.filter(is_scored) for part in parts] or [_NO_ROWS])
        left = pl.DataFrame({"row": range(len(batch)), "not_scored": lacking})
        left = left.filter(~is_scored).cast({"row": pl.Int64})
        return pl.concat([rows, left.with_columns(count=0.0)], how="diagonal")

    def _classes(self, given: Probabilities, context: MetricContext) -> list[str]:
        """Return the classes that are scored."""
        if self.label is not None:
            check_labels("label", [self.label], context.labels)
            if given.labels and self.label not in given.labels:
                raise MetricError(
                    f"label: {self.label!r} has no probabilities; those of the "
                    f"responses are of {', '.join(given.labels)}"
                )
            return [self.label]
        # of two classes, both rank the examples in the same way
        one = len(given.labels) == 2 and not self.both_classes
        return sorted(given.labels)[1:] if one else sorted(given.labels)

    def _rows(
        self, batch: pl.DataFrame, given: Probabilities, label: str
    ) -> pl.DataFrame:
        is_gold = (batch["target"].cast(pl.String) == label).fill_null(False).to_numpy()
        place = given.labels.index(label) if label in given.labels else None
        # -0 is 0, and not another probability
        values = np.zeros(len(batch)) if place is None else given.values[:, place] + 0.0
        # ranked as badly as can be
        values[given.is_silent & is_gold] = -np.inf
        values[given.is_silent & ~is_gold] = np.inf
        return pl.DataFrame(
            {
                "row": np.arange(len(batch), dtype=np.int64),
                "label": pl.Series([label], dtype=pl.String).new_from_index(
                    0, len(batch)
                ),
                "is_gold": is_gold,
                "probability": values,
                "count": np.ones(len(batch)),
            }
        )

    def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
        """Score every group."""
        names, rankings = _rankings(sums)
        scores = pl.Series("value", self.class_scores(rankings), nan_to_null=True)
        found = names.with_columns(scores)
        value = pl.col("value")
        without = pl.col("label").filter(value.is_null()).sort().str.join(", ")
        # of lists, so that rounding does not depend on threads
        means = found.group_by("group", maintain_order=True).agg(
            value.implode().list.mean().alias("value"), without=without
        )
        is_partial = value.is_not_null() & (pl.col("without") != "")
        flag = pl.format("classes without a score: {}", "without")
        return means.select(
            "group",
            "value",
            reason=pl.when(value.is_null()).then(pl.lit(self.lacking)),
            flag=pl.when(is_partial).then(flag),
        )

    def finalize_counts(
        self, counts: Numbers, cells: pl.DataFrame, context: MetricContext
    ) -> dict[str, Numbers]:
        """Score every sample."""
        labels = cells["label"].unique().sort()
        scores = np.column_stack(
            [self.class_scores(_of_samples(counts, cells, label)) for label in labels]
        )
        is_known = np.isfinite(scores)
        size = is_known.sum(axis=1)
        values = np.full(len(counts), np.nan)
        total = np.where(is_known, scores, 0.0).sum(axis=1)
        values[size > 0] = total[size > 0] / size[size > 0]
        return {"": values}


_NO_ROWS = pl.DataFrame(
    schema={
        "row": pl.Int64,
        "label": pl.String,
        "is_gold": pl.Boolean,
        "probability": pl.Float64,
        "count": pl.Float64,
    }
)


def _signs(batch: pl.DataFrame, given: Probabilities) -> tuple[list[bool], list[bool]]:
    """Tell of each example whether it can be ranked, and whether its answer can."""
    has_any = given.is_given | (given.is_silent & bool(given.labels))
    known = pl.Series(given.labels, dtype=pl.String).implode()
    answer = batch["target"].cast(pl.String)
    has_answer = answer.is_in(known).fill_null(False).to_numpy() | given.is_silent
    return has_any.tolist(), has_answer.tolist()


def _why_not(has_any: bool, has_answer: bool) -> str | None:
    if not has_any:
        return NO_PROBABILITIES
    return None if has_answer else NOT_AMONG_THEM


def _rankings(sums: pl.DataFrame) -> tuple[pl.DataFrame, Rankings]:
    """Return `group` and `label` of every class of every group, and the counts."""
    count, is_gold = pl.col("count").cast(pl.Float64), pl.col("is_gold")
    keys = ("group", "label", "probability")
    ordered = (
        sums.group_by(keys)
        .agg(
            positives=count.filter(is_gold).sum(),
            negatives=count.filter(~is_gold).sum(),
        )
        .sort(keys, descending=[False, False, True])
    )
    starts = first_rows(ordered, ["group", "label"])
    positives, negatives = (
        ordered[name].to_numpy() for name in ("positives", "negatives")
    )
    names = ordered.select("group", "label")[starts]
    return names, Rankings(positives, negatives, starts)


def _of_samples(counts: Numbers, cells: pl.DataFrame, label: str) -> Rankings:
    """Return the counts of a class in every sample."""
    chosen = np.flatnonzero((cells["label"] == label).to_numpy())
    part = cells[chosen]
    known, place = np.unique(-part["probability"].to_numpy(), return_inverse=True)
    is_gold = part["is_gold"].to_numpy()
    positives = np.zeros((len(counts), len(known)))
    negatives = np.zeros((len(counts), len(known)))
    positives[:, place[is_gold]] = counts[:, chosen[is_gold]]
    negatives[:, place[~is_gold]] = counts[:, chosen[~is_gold]]
    starts = np.arange(len(counts), dtype=np.int64) * len(known)
    return Rankings(positives.ravel(), negatives.ravel(), starts)
