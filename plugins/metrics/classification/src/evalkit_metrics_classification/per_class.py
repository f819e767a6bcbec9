"""Scores of single classes."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray
from pydantic import field_validator

from evalkit import MetricContext, Parameters
from evalkit_metrics_classification import confusion
from evalkit_metrics_classification.confusion import (
    ConfusionMetric,
    check_labels,
    class_counts,
    count_arrays,
    counts_of,
)


class ClassParameters(Parameters):
    """Which class is scored."""

    label: str | None = None
    """The class whose score is the main one; without it, every class has a score of
    its own, `f1#positive`."""

    @field_validator("label", mode="before")
    @classmethod
    def _join(cls, given: Any) -> Any:
        # a label with a slash, which the command line takes for a list
        is_list = isinstance(given, list) and all(isinstance(v, str) for v in given)
        return "/".join(given) if is_list else given


class ClassMetric(ConfusionMetric):
    """A score of one class, or of every class."""

    Parameters = ClassParameters
    # a wrong prediction may be one of the class, and then lowers precision and F1 more
    # than none does
    has_possible_range = False
    lacking: ClassVar[str]
    """What a class lacks for which the score is undefined."""

    @property
    def label(self) -> str | None:
        """The parameter `label`."""
        parameters = self.parameters
        assert isinstance(parameters, ClassParameters)
        return parameters.label

    def finalize(self, sums: pl.DataFrame, context: MetricContext) -> pl.DataFrame:
        """Score the class, or the declared classes and those seen in the group."""
        seen = class_counts(sums)
        if self.label is not None:
            check_labels("label", [self.label], context.labels)
            counts = counts_of(seen, [self.label])
            score = pl.lit("")
        else:
            declared = context.labels or ()
            others = seen.filter(~pl.col("label").is_in(declared))
            counts = pl.concat([counts_of(seen, declared), others])
            score = _score_name(pl.col("label"))
        reason = pl.format(f"{self.lacking} of the class '{{}}'", "label")
        return counts.with_columns(value=self.class_score()).select(
            "group", "value", score=score, reason=reason
        )

    def finalize_counts(
        self, counts: NDArray[np.float64], cells: pl.DataFrame, context: MetricContext
    ) -> dict[str, NDArray[np.float64]]:
        """Score the class, or the declared classes and those seen, in every sample."""
        seen = count_arrays(counts, cells)
        if self.label is not None:
            check_labels("label", [self.label], context.labels)
            return {"": seen.of([self.label]).scores(self.class_score())[:, 0]}
        labels = pl.DataFrame({"label": pl.Series(seen.labels, dtype=pl.String)})
        names = labels.select(_score_name(pl.col("label"))).to_series()
        scores = np.ascontiguousarray(seen.scores(self.class_score()).T)
        return dict(zip(names.fill_null("").to_list(), scores, strict=True))


def _score_name(label: pl.Expr) -> pl.Expr:
    """Name the score of a class; that of the empty label is `""`, not the main one.

    Quotation marks are put around labels of only such marks too, so that no two classes
    get one name.
    """
    is_bare = label.str.contains('^"*$')
    return pl.when(is_bare).then(pl.format('"{}"', label)).otherwise(label)


class Precision(ClassMetric):
    """Precision of a class, hits / predicted: `precision:label=irony`.

    The share of its predictions that are right. Without `label`, every class has a
    score of its own: `precision#irony`. Where a class is never predicted it is
    undefined, and null. A missing prediction is of no class. Range 0 to 1, in %, higher
    is better; a multinomial interval, with clusters a bootstrap.

    Source: van Rijsbergen, Information Retrieval, 1979, chapter 7; scikit-learn's
    `precision_score` with `zero_division=np.nan`.

    Example:
        >>> import evalkit
        >>> said, gold = ["a", "a", "b", "b"], ["a", "b", "b", "b"]
        >>> evalkit.score("precision:label=a", said, gold)["precision:label=a"].value
        0.5
    """

    lacking = "no prediction"

    def class_score(self) -> pl.Expr:
        """Return the precision of a class; null where it is never predicted."""
        return confusion.precision()


class Recall(ClassMetric):
    """Recall of a class, hits / gold: `recall:label=irony`.

    The share of its examples that are predicted as such. Without `label`, every class
    has a score of its own: `recall#irony`. Where a class has no examples it is
    undefined, and null. A missing prediction is a miss. Range 0 to 1, in %, higher is
    better; a multinomial interval, with clusters a bootstrap.

    Source: van Rijsbergen, Information Retrieval, 1979, chapter 7; scikit-learn's
    `recall_score` with `zero_division=np.nan`.

    Example:
        >>> import evalkit
        >>> said, gold = ["a", "a", "b", "b"], ["a", "b", "b", "b"]
        >>> evalkit.score("recall:label=a", said, gold)["recall:label=a"].value
        1.0
    """

    lacking = "no example"

    def class_score(self) -> pl.Expr:
        """Return the recall of a class; null where it has no examples."""
        return confusion.recall()


class F1(ClassMetric):
    """F1 of a class, 2 hits / (gold + predicted): `f1:label=irony`.

    The harmonic mean of precision and recall. Without `label`, every class has a score
    of its own: `f1#irony`. Where a class has neither examples nor predictions it is
    undefined, and null. A missing prediction is a miss. Range 0 to 1, in %, higher is
    better; a multinomial interval, with clusters a bootstrap.

    Source: van Rijsbergen, Information Retrieval, 1979, chapter 7, with equal weights;
    scikit-learn's `f1_score` with `zero_division=np.nan`.

    Example:
        >>> import evalkit
        >>> said, gold = ["a", "a", "b", "b"], ["a", "b", "b", "b"]
        >>> evalkit.score("f1:label=b", said, gold)["f1:label=b"].value
        0.8
    """

    lacking = "no example and no prediction"

    def class_score(self) -> pl.Expr:
        """Return F1 of a class; null where it has neither examples nor predictions."""
        return confusion.f1()
