"""Scores of single classes."""

from __future__ import annotations

from typing import Any, ClassVar

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
