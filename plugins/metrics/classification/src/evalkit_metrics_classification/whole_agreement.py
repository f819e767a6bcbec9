"""Agreement of two labellings, from the counts of all classes together."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, NamedTuple

import numpy as np
import polars as pl

from evalkit import MetricContext
from evalkit_metrics_classification.averages import Numbers, ratio
from evalkit_metrics_classification.confusion import (
    COUNTS,
    ConfusionMetric,
    class_counts,
    count_arrays,
    first_rows,
)

_ROUNDING = 1e-12
"""What rounding may leave of 0 where counts are fractions, by examples squared."""


class Totals(NamedTuple):
    """Sums over classes; arrays of shape (groups,)."""

    examples: Numbers
    hits: Numbers
    products: Numbers
    """Sum over classes of gold * predicted."""
    gold_squares: Numbers
    """Sum over classes of gold squared."""
    predicted_squares: Numbers
    """The same of predicted; examples without a prediction are one class more."""

    @property
    def above_chance(self) -> Numbers:
        """Hits beyond those of two independent labellings, times the examples."""
        return self.examples * self.hits - self.products


class WholeAgreement(ConfusionMetric):
    """A score of the whole confusion matrix, in which chance is 0."""

    unit = ""
    bounds = (-1.0, 1.0)
    scale = 1.0
    # a wrong prediction may lower it more than none does
    has_possible_range = False
    lacking: ClassVar[str]
    """What a group lacks in which the score is undefined."""

    def agreement(self, totals: Totals) -> tuple[Numbers, Numbers]:
        """Return what is divided and by what; where that is 0 it is undefined."""
        raise TypeError(f"{type(self).__name__} does not define agreement")

    def finalize(self, sums: pl.DataFrame, context: MetricContext) -> pl.DataFrame:
        """Score every group."""
        counts = class_counts(sums)
        starts = first_rows(counts, ["group"])
        hits, gold, predicted = (counts[name].to_numpy() for name in COUNTS)

        def add_up(numbers: Numbers) -> Numbers:
            return np.add.reduceat(numbers, starts) if len(starts) else numbers

        values = self._values(_totals(hits, gold, predicted, add_up))
        value = pl.Series("value", values, nan_to_null=True)
        return (
            counts[starts]
            .select("group")
            .with_columns(
                value, reason=pl.when(value.is_null()).then(pl.lit(self.lacking))
            )
        )

    def finalize_counts(
        self, counts: Numbers, cells: pl.DataFrame, context: MetricContext
    ) -> dict[str, Numbers]:
        """Score every sample."""
        seen = count_arrays(counts, cells)
        totals = _totals(*seen[1:], lambda numbers: numbers.sum(axis=1))
        return {"": self._values(totals)}

    def _values(self, totals: Totals) -> Numbers:
        above, below = self.agreement(totals)
        return ratio(above, below, _ROUNDING * totals.examples**2)


def _totals(
    hits: Numbers,
    gold: Numbers,
    predicted: Numbers,
    add_up: Callable[[Numbers], Numbers],
) -> Totals:
    """Add up the counts of the classes of each group or sample."""
    examples = add_up(gold)
    without = np.maximum(examples - add_up(predicted), 0)
    return Totals(
        examples,
        add_up(hits),
        add_up(gold * predicted),
        add_up(gold**2),
        add_up(predicted**2) + without**2,
    )
