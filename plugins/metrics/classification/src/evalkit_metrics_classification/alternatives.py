"""Ranked alternatives: the several answers that a response gives to one example."""

from __future__ import annotations

from typing import Annotated

import polars as pl
from pydantic import Field

from evalkit import Metric, MetricContext
from evalkit_metrics_classification.accuracy import is_right

RESPONSES = "responses"
"""Column with the list of each example's alternatives, the best one first."""

AlternativeCount = Annotated[int, Field(ge=1, le=2**31 - 1)]
"""A number of alternatives, from 1 to the most that a list can hold."""


class AlternativesMetric(Metric):
    """A proportion computed from the alternatives of each example.

    Alternatives are compared with the answer as accuracy compares predictions. One that
    is null, from which no answer could be extracted, is wrong. An example without any,
    because its list is empty or it has no usable response, scores 0. Where an example
    has a prediction but no list, the prediction is its only alternative.
    """

    unit = "%"
    bounds = (0.0, 1.0)
    higher_is_better = True
    scale = 100.0
    columns = (RESPONSES,)
    worst_value = 0.0
    accepts_no_prediction = True


class ShareMetric(AlternativesMetric):
    """Share of examples that one rule calls right."""

    interval = "wilson"
    per_example = "correct"

    def right_rows(self, batch: pl.DataFrame, context: MetricContext) -> pl.Series:
        """Find the right examples.

        Args:
            batch: Columns `prediction`, `target` and `responses`.
            context: Says whether answers are single or lists.

        Returns:
            Their positions in the batch, some perhaps several times.
        """
        raise TypeError(f"{type(self).__name__} does not define right_rows")

    def statistics(self, batch: pl.DataFrame, context: MetricContext) -> pl.DataFrame:
        """Return 1 for each right and 0 for each wrong example."""
        right = self.right_rows(batch, context).unique().implode()
        row = pl.int_range(batch.height, dtype=pl.UInt32, eager=True).alias("row")
        return row.to_frame().select(
            "row",
            correct=pl.col("row").is_in(right).cast(pl.Float64),
            examples=pl.lit(1.0),
        )

    def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
        """Divide the right ones by all."""
        return sums.select("group", value=pl.col("correct") / pl.col("examples"))


def alternatives_of(batch: pl.DataFrame) -> pl.Series:
    """Return the alternatives of every example.

    Args:
        batch: Columns `prediction` and `responses`.

    Returns:
        Lists, none of them null.

    Raises:
        TypeError: The column `responses` holds something else.
    """
    given, prediction = batch[RESPONSES], batch["prediction"]
    if given.null_count() == len(given):
        # without values it has no type of its own
        given = pl.Series(RESPONSES, [None] * len(given), pl.List(prediction.dtype))
    if not isinstance(given.dtype, pl.List):
        raise TypeError(f"the field 'responses' must hold lists, holds {given.dtype}")
    is_alone = given.is_null() & prediction.is_not_null()
    if is_alone.any():
        alone = prediction.reshape((len(prediction), 1)).arr.to_list()
        given = given.zip_with(~is_alone, alone.cast(given.dtype))
    nothing = pl.lit([], dtype=given.dtype)
    return given.to_frame().select(pl.col(RESPONSES).fill_null(nothing)).to_series()


def ranked(alternatives: pl.Series) -> pl.DataFrame:
    """Return a row for each alternative that is not null.

    Args:
        alternatives: Lists, one for each example.

    Returns:
        `row` (the example's position in the batch), `rank` (from 0) and `prediction`,
        in the order of the examples and of their alternatives.
    """
    frame = alternatives.alias("prediction").to_frame().with_row_index("row")
    ranks = pl.int_ranges(pl.col("prediction").list.len()).alias("rank")
    exploded = frame.with_columns(ranks).explode("rank", "prediction")
    return exploded.drop_nulls("prediction").select("row", "rank", "prediction")


def only_right(
    predictions: pl.DataFrame, batch: pl.DataFrame, context: MetricContext
) -> pl.DataFrame:
    """Keep what equals an answer of its example.

    Args:
        predictions: `row` (a position in the batch) and `prediction`.
        batch: Column `target`.
        context: Says whether answers are single or lists.

    Returns:
        The rows of `predictions` that are right.
    """
    if predictions.is_empty():
        # a column without values may not be of the answers' type
        return predictions
    answers = batch["target"].gather(predictions["row"]).alias("target")
    return predictions.with_columns(answers).filter(is_right(context)).drop("target")
