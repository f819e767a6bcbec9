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


class MAE(NumberMetric):
    """Mean absolute error: the mean of |prediction - answer|.

    It is in the unit of the answers. An answer or prediction that is NaN or infinite is
    not scored; where a missing prediction counts, the score is null, as no error is the
    worst. Range 0 to infinity, lower is better; Student's interval.

    Source: Willmott and Matsuura, Advantages of the Mean Absolute Error over the Root
    Mean Square Error, 2005; scikit-learn's `mean_absolute_error`.

    Example:
        >>> import evalkit
        >>> evalkit.score("mae", [2.0, 5.0], [1.0, 3.0])["mae"].value
        1.5
    """

    bounds = (0.0, None)
    higher_is_better = False
    interval = "t"
    per_example = "error"

    def numbers(self) -> list[pl.Expr]:
        """Return the error, and 1 to count by."""
        error = (pl.col("prediction") - pl.col("target")).abs()
        return [error.alias("error"), pl.lit(1.0).alias("examples")]

    def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
        """Divide the sum by the examples."""
        return sums.select("group", value=pl.col("error") / pl.col("examples"))


class RMSE(NumberMetric):
    """Root mean squared error: the root of the mean of (prediction - answer)^2.

    It is in the unit of the answers, and never below `mae`: few large errors count for
    more than many small ones. An answer or prediction that is NaN or infinite is not
    scored; where a missing prediction counts, the score is null, as no error is the
    worst. Range 0 to infinity, lower is better; the delta method's interval.

    Source: Hyndman and Koehler, Another Look at Measures of Forecast Accuracy, 2006;
    scikit-learn's `root_mean_squared_error`.

    Example:
        >>> import evalkit
        >>> evalkit.score("rmse", [2.0, 5.0], [1.0, 12.0])["rmse"].value
        5.0
    """

    bounds = (0.0, None)
    higher_is_better = False
    interval = "delta"

    def numbers(self) -> list[pl.Expr]:
        """Return the squared error, and 1 to count by."""
        square = (pl.col("prediction") - pl.col("target")) ** 2
        return [square.alias("square"), pl.lit(1.0).alias("examples")]

    def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
        """Take the root of the mean."""
        mean = pl.col("square") / pl.col("examples")
        return sums.select("group", value=pl.when(mean >= 0).then(mean.sqrt()))


class R2(NumberMetric):
    """Coefficient of determination: how much of the answers' spread is predicted.

    1 - sum (prediction - answer)^2 / sum (answer - mean answer)^2. Always predicting
    the mean answer of the group is 0, and worse predictions are below 0, without a
    bound; it is no square of a correlation, which `pearson` is of predictions that may
    be off by a factor. A tag's own mean is what its examples are compared with, so that
    tags may all be lower than the whole set. Where all answers are equal, as one is, it
    is null: scikit-learn gives 1 or 0 there. An answer or prediction that is NaN or
    infinite is not scored, and the score is null where a missing prediction counts.
    Range -infinity to 1, higher is better; the delta method's interval.

    Source: Wright, Correlation and Causation, 1921; scikit-learn's `r2_score`.

    Example:
        >>> import evalkit
        >>> evalkit.score("r2", [1.0, 2.0, 4.0], [1.0, 2.0, 3.0])["r2"].value
        0.5
    """

    bounds = (None, 1.0)
    higher_is_better = True
    interval = "delta"
    merges = {"target": "moments"}
    has_possible_range = False

    def numbers(self) -> list[pl.Expr]:
        """Return the squared error, and the answer."""
        square = (pl.col("prediction") - pl.col("target")) ** 2
        return [square.alias("square"), pl.col("target")]

    def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
        """Compare the squared errors with the spread of the answers."""
        undefined = all_equal("target")
        value = 1 - pl.col("square") / pl.col("target_m2")
        return sums.select(
            "group",
            value=pl.when(~undefined).then(value),
            reason=pl.when(undefined).then(pl.lit("all answers are equal")),
        )


_ROUNDING = 1e-12


class Pearson(PairsMetric):
    """Correlation of predictions and answers: how far they lie on a rising line.

    With p and t their distances from the means of the group: sum p t / sqrt(sum p^2 sum
    t^2). Predictions that are all twice the answer, or all off by 3, are 1. Where all
    predictions, or all answers, are equal it is 0 / 0, and null. An answer or
    prediction that is NaN or infinite is not scored, and the score is null where a
    missing prediction counts. Range -1 to 1, 0 is chance, higher is better; the delta
    method's interval on Fisher's z.

    Source: Pearson, Note on Regression and Inheritance in the Case of Two Parents,
    1895; `scipy.stats.pearsonr`.

    Example:
        >>> import evalkit
        >>> found = evalkit.score("pearson", [1, 2, 3], [10, 30, 20])
        >>> round(found["pearson"].value, 12)
        0.5
    """

    interval = "correlation"
    merges = {"prediction": "moments", "target": "moments"}

    def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
        """Divide the co-moment by the roots of both second moments."""
        no_answers, no_predictions = all_equal("target"), all_equal("prediction")
        roots = pl.col("prediction_m2").sqrt() * pl.col("target_m2").sqrt()
        value = pl.col("prediction_target_comoment") / roots
        is_rounded = (value.abs() > 1) & (value.abs() < 1 + _ROUNDING)
        reason = pl.when(no_answers).then(pl.lit("all answers are equal"))
        return sums.select(
            "group",
            value=pl.when(~(no_answers | no_predictions)).then(
                pl.when(is_rounded).then(value.sign()).otherwise(value)
            ),
            reason=reason.when(no_predictions).then(
                pl.lit("all predictions are equal")
            ),
        )
