"""Pairs of numbers: what a model predicted, and what is right."""

from __future__ import annotations

import sys

import polars as pl
import polars.selectors as cs

from evalkit import Metric, MetricError

_LEAST_SPREAD = 2 * sys.float_info.epsilon
"""Standard deviation, as a share of the mean, up to which numbers count as equal: the
mean of equal numbers may be rounded so far away from them."""


class NumberMetric(Metric):
    """A metric of numbers.

    An example whose answer or prediction is NaN or infinite is not scored. A missing
    prediction has no worst value, so that the score is null where one counts.
    """

    answer_kinds = ("number", "one")

    def statistics(self, batch: pl.DataFrame) -> pl.DataFrame:
        """Return the statistics of every example, or why it has none."""
        pairs = number_pairs(batch)
        is_known = pl.col("not_scored").is_null()
        finite = pairs.with_columns(
            pl.when(is_known).then(pl.col("prediction", "target")).otherwise(0.0)
        )
        return finite.select("row", "not_scored", *self.numbers())

    def numbers(self) -> list[pl.Expr]:
        """Return the statistics, as expressions of `prediction` and `target`."""
        return [pl.col("prediction"), pl.col("target")]


class PairsMetric(NumberMetric):
    """A metric of how two lists of numbers go together, from -1 to 1."""

    bounds = (-1.0, 1.0)
    higher_is_better = True
    # the worst are not those without a prediction, and all right ones are not all equal
    has_possible_range = False


def number_pairs(batch: pl.DataFrame) -> pl.DataFrame:
    """Return the numbers of a batch.

    Args:
        batch: Columns `prediction` and `target`.

    Returns:
        `row`, both as floats, and `not_scored`, why an example has no pair of numbers.

    Raises:
        MetricError: They are no numbers.
    """
    for name, word in (("target", "answers"), ("prediction", "predictions")):
        dtype = batch.schema[name]
        if not (dtype.is_numeric() or dtype == pl.Null):
            raise MetricError(
                f"it needs numbers, and the {word} are of the type {dtype}; "
                "a task whose Output says float will do, such as regression"
            )
    numbers = batch.select(pl.col("prediction", "target").cast(pl.Float64))
    reason = (
        pl.when(~pl.col("target").is_finite())
        .then(pl.lit("the answer is NaN or infinite"))
        .when(~pl.col("prediction").is_finite())
        .then(pl.lit("the prediction is NaN or infinite"))
    )
    return numbers.with_row_index("row").with_columns(not_scored=reason)


def all_equal(name: str) -> pl.Expr:
    """Tell whether the numbers of a group are equal, but for rounding.

    Args:
        name: A column that merges by moments.

    Returns:
        A polars expression of the merged columns.
    """
    count, mean, m2 = (
        cs.by_name(f"{name}_{part}").as_expr() for part in ("count", "mean", "m2")
    )
    # a moment below zero is a step of a gradient, not a spread
    root = m2.clip(lower_bound=0).sqrt()
    # roots, as squares of large numbers are infinite
    return root <= count.sqrt() * _LEAST_SPREAD * mean.abs()
