"""Scores of how well the probability of a class ranks its examples above the others.

Statistics are how many examples of a class, and how many others, have each probability.
They add up, and every sample of examples is one of counts of the same probabilities,
which are sorted once.
"""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
import polars as pl

from evalkit import Metric, MetricContext, MetricError
from evalkit_metrics_classification.averages import Numbers, ratio
from evalkit_metrics_classification.confusion import check_labels
from evalkit_metrics_classification.per_class import ClassParameters
from evalkit_metrics_classification.probabilities import (
    NO_PROBABILITIES,
    Probabilities,
    probabilities_of,
)
from evalkit_metrics_classification.rankings import (
    Rankings,
    rankings_of_groups,
    rankings_of_samples,
)

NOT_AMONG_THEM = "the answer has no probability among those of the response (`prob`)"


class RankedParameters(ClassParameters):
    """Which class is ranked."""

    label: str | None = None
    """The class whose probability ranks the examples; without it, the score is the
    mean over the classes."""


class RankingMetric(Metric):
    """The mean over classes of a score of the probabilities of one class."""

    Parameters = RankedParameters
    unit = "%"
    bounds = (0.0, 1.0)
    higher_is_better = True
    scale = 100.0
    answer_kinds = ("one",)
    interval: ClassVar[Literal["bootstrap", "auroc"]] = "bootstrap"
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
        keys = ("group", "label")
        names, rankings = rankings_of_groups(sums, keys, "probability", "is_gold")
        scores = pl.Series("value", self.class_scores(rankings), nan_to_null=True)
        found = names.with_columns(scores)
        value = pl.col("value")
        without: pl.Expr = pl.col("label").filter(value.is_null()).sort().str.join(", ")
        # of lists, so that rounding does not depend on threads
        means = found.group_by("group", maintain_order=True).agg(
            value=value.implode().list.mean(), without=without
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
            [self._of_samples(counts, cells, label) for label in labels]
        )
        is_known = np.isfinite(scores)
        size = is_known.sum(axis=1)
        values = np.full(len(counts), np.nan)
        total = np.where(is_known, scores, 0.0).sum(axis=1)
        values[size > 0] = total[size > 0] / size[size > 0]
        return {"": values}

    def _of_samples(self, counts: Numbers, cells: pl.DataFrame, label: str) -> Numbers:
        """Return the score of a class in every sample."""
        chosen = (cells["label"] == label).to_numpy()
        part = cells.filter(chosen)
        numbers, is_gold = part["probability"].to_numpy(), part["is_gold"].to_numpy()
        return self.class_scores(
            rankings_of_samples(counts[:, chosen], numbers, is_gold)
        )


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


class AUROC(RankingMetric):
    """Chance that an example of a class is given a higher probability than another.

    Of all pairs of an example of the class and one of the others, the share in which
    the former has the higher probability of the class; a tie counts half. It is the
    area under the curve of the true by the false positive rate. The score is the mean
    over classes, each against the rest; of two classes, which rank examples alike, the
    one number; `auroc:label=irony` is that of one class. A class without examples, or
    without others, in a group has none and the score is flagged with its name; where
    all answers of a group are of one class it is null. Reads `prob`; a response without
    it is not scored, and a missing prediction that counts is ranked as badly as can be.
    Range 0 to 1, in %, higher is better, .5 is chance; Newcombe's interval (2006), of
    several classes or in clusters a bootstrap.

    Source: Hanley and McNeil, The Meaning and Use of the Area under a Receiver
    Operating Characteristic Curve, 1982; scikit-learn's `roc_auc_score` with
    `multi_class="ovr"`.

    Example:
        >>> import evalkit
        >>> prob = [{"a": p, "b": 1 - p} for p in (0.9, 0.4, 0.6, 0.2)]
        >>> said, gold = ["a", "b", "a", "b"], ["a", "a", "b", "b"]
        >>> evalkit.score("auroc", said, gold, fields={"prob": prob})["auroc"].value
        0.75
    """

    interval = "auroc"
    both_classes = False
    lacking = "all answers are of one class, or none is of the class"

    def class_scores(self, rankings: Rankings) -> Numbers:
        """Return the share of pairs that are ranked rightly."""
        positives, negatives = rankings.positives, rankings.negatives
        above = rankings.running(positives) - positives / 2
        pairs = rankings.totals(positives) * rankings.totals(negatives)
        return ratio(rankings.totals(negatives * above), pairs)


class AveragePrecision(RankingMetric):
    """Mean precision at the examples of a class, ranked by its probability.

    The sum over thresholds of (R_n - R_n-1) P_n, with P and R precision and recall of
    the examples whose probability of the class is at least the threshold; examples of
    the same probability make one step, and nothing is interpolated. The score is the
    mean over the classes that have gold examples in the group, each against the rest,
    and is flagged with the names of the others; `average-precision:label=irony` is that
    of one class, and null without an example of it. Chance is the share of the class.
    Reads `prob`; a response without it is not scored, and a missing prediction that
    counts is ranked as badly as can be. Range 0 to 1, in %, higher is better; a
    bootstrap interval, in large groups the infinitesimal jackknife's if there are few
    different probabilities, else none.

    Source: Zhu, Recall, Precision and Average Precision, 2004; scikit-learn's
    `average_precision_score` with `average="macro"`.

    Example:
        >>> import evalkit
        >>> prob = [{"a": p, "b": 1 - p} for p in (0.9, 0.6, 0.4, 0.2)]
        >>> said, gold = ["a", "a", "b", "b"], ["a", "b", "a", "b"]
        >>> name = "average-precision:label=a"
        >>> round(evalkit.score(name, said, gold, fields={"prob": prob})[name].value, 4)
        0.8333
    """

    lacking = "no example of the class"

    def class_scores(self, rankings: Rankings) -> Numbers:
        """Return the mean over the examples of the class of precision there."""
        positives = rankings.positives
        hits = rankings.running(positives)
        taken = hits + rankings.running(rankings.negatives)
        precision = np.divide(hits, taken, out=np.zeros_like(hits), where=taken > 0)
        count = rankings.totals(positives)
        return ratio(rankings.totals(positives * precision), count)
