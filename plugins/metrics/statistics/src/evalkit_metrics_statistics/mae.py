"""Mean absolute error."""

from __future__ import annotations

import polars as pl

from evalkit_metrics_statistics.number_pairs import NumberMetric


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
